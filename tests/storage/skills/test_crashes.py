"""A change of the skills that is cut off or refused at any of its steps: the old skill is there, or the new one."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from treadle.graph.errors import StorageFailed
from treadle.storage.disk import RealDisk
from treadle.storage.skills.store import SkillStore

from .samples import an_import, below, store_below


class Crash(BaseException):
    """The process dies here: nothing below it may clean up."""


class DyingDisk(RealDisk):
    """Does so many changes, then dies at every one; `error` makes it refuse one instead, and go on."""

    def __init__(self, changes: int, error: OSError | None = None) -> None:
        self.left = changes
        self._error = error

    def _change(self) -> None:
        self.left -= 1
        if self.left < 0 and self._error is None:
            raise Crash
        if self.left == -1 and self._error is not None:
            raise self._error

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._change()
        super().replace(path, data, durable=durable)

    def move(self, source: Path, target: Path) -> None:
        self._change()
        super().move(source, target)

    def remove(self, path: Path) -> None:
        self._change()
        super().remove(path)


def states(store: SkillStore) -> tuple[dict[str, bytes], list[str]]:
    """The installed files, and the hashes that the index tells."""
    hashes = [entry.installed_hash for entry in store.listing().skills]
    return below(store.root / "installed"), hashes


OLD, NEW = an_import(a=b"old", b=b"old"), an_import(a=b"new", c=b"new")


@pytest.mark.parametrize("changes", range(8))
@pytest.mark.parametrize("action", ["install", "replace", "write", "delete"])
def test_a_crash_at_any_change_leaves_the_old_or_the_new(tmp_path: Path, action: str, changes: int) -> None:
    def act(store: SkillStore) -> None:
        if action == "write":
            store.write_file("demo", "a.md", "written")
        elif action == "delete":
            store.delete("demo")
        else:
            store.install(NEW, "replace")

    wanted = store_below(tmp_path / "wanted")
    if action != "install":
        store_below(tmp_path).install(OLD)
        wanted.install(OLD)
    before = states(store_below(tmp_path))
    act(wanted)
    with contextlib.suppress(Crash):
        act(store_below(tmp_path, DyingDisk(changes)))

    after = store_below(tmp_path)
    assert states(after) in (before, states(wanted))
    assert not after.root.joinpath(".staging").exists()
    act(after) if action != "delete" or after.skills() else None
    assert states(after) == states(wanted)


@pytest.mark.parametrize("changes", range(6))
@pytest.mark.parametrize("action", ["install", "replace", "delete"])
def test_a_disk_that_refuses_leaves_all_as_it_was(tmp_path: Path, action: str, changes: int) -> None:
    if action != "install":
        store_below(tmp_path).install(OLD)
    before = states(store_below(tmp_path))
    refusing = store_below(tmp_path, DyingDisk(changes, OSError(28, "No space left on device")))
    try:
        refusing.delete("demo") if action == "delete" else refusing.install(NEW, "replace")
    except StorageFailed as failed:
        assert "No space left" in failed.message
        assert states(store_below(tmp_path)) == before
    states(store_below(tmp_path))  # sweeps what could not be removed
    assert not refusing.root.joinpath(".staging").exists()
