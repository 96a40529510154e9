"""A disk whose changes outlast a power loss: which files and folders are waited for, and that nobody waits unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.storage.disk import RealDisk
from treadle.storage.lasting_disk import LastingDisk
from treadle.testkit.recording_disk import RecordingDisk


class Watched:
    """A lasting disk over `root`, and the names of what was waited for beside the files it writes."""

    def __init__(self, root: Path, *, lasts: bool) -> None:
        self.root = root
        self.waited: list[str] = []
        self.asked = 0
        self._lasts = lasts
        self.recording = RecordingDisk(RealDisk())
        self.disk = LastingDisk(self.recording, self._wanted, sync_folder=self._wait, sync_file=self._wait)

    def _wanted(self) -> bool:
        self.asked += 1
        return self._lasts

    def _wait(self, path: Path) -> None:
        assert path.exists()
        self.waited.append(path.relative_to(self.root).as_posix())

    def change_everything(self) -> None:
        root, disk = self.root, self.disk
        disk.replace(root / "f", b"abc")
        disk.append(root / "f", b"def")
        disk.truncate(root / "f", 3)
        disk.make_folder(root / "a/b")
        disk.copy(root / "f", root / "a/g")
        disk.move(root / "a/g", root / "c/d/h")
        disk.remove(root / "f")
        disk.remove(root / "none/there")


@pytest.fixture
def lasting(tmp_path: Path) -> Watched:
    return Watched(tmp_path, lasts=True)


def test_every_write_waits_and_so_does_every_new_gone_or_changed_name(lasting: Watched) -> None:
    lasting.change_everything()

    writes = [
        (done.operation, done.durable) for done in lasting.recording.log if done.operation in ("replace", "append")
    ]
    assert writes == [("replace", True), ("append", True), ("replace", True)]
    truncated, made, moved, removed = (
        lasting.waited[:1],
        lasting.waited[1:3],
        lasting.waited[3:-1],
        lasting.waited[-1:],
    )
    assert truncated == ["f"]
    assert made == ["a", "."]
    assert sorted(moved) == [".", "a", "c", "c/d"]
    assert removed == ["."]


def test_where_only_the_process_may_die_nothing_waits_but_what_was_asked_to(tmp_path: Path) -> None:
    watched = Watched(tmp_path, lasts=False)
    watched.change_everything()
    watched.disk.append(tmp_path / "asked", b"x", durable=True)

    assert watched.waited == []
    assert [done.path.name for done in watched.recording.log if done.durable] == ["asked"]


def test_reading_asks_for_nothing_and_writing_asks_once(lasting: Watched) -> None:
    (lasting.root / "f").write_bytes(b"abc")
    read = lasting.disk.read(lasting.root / "f"), lasting.disk.read_plain(lasting.root / "f")
    before = lasting.asked
    lasting.change_everything()

    assert read == (b"abc", b"abc")
    assert lasting.disk.read_range(lasting.root / "c/d/h", 1, 2) == b"bc"
    assert (before, lasting.asked) == (0, 1)


def test_a_durable_write_makes_its_folders_too(tmp_path: Path) -> None:
    RealDisk().replace(tmp_path / "a/b/f", b"x", durable=True)
    RealDisk().append(tmp_path / "a/b/g", b"y", durable=True)

    assert [(tmp_path / "a/b" / name).read_bytes() for name in "fg"] == [b"x", b"y"]
