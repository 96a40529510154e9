"""Profiles on disk: one readable file each, written whole, whoever else writes and wherever it was cut off."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, InvalidInput, StorageFailed
from treadle.nodes.profile_rules import checked_profile
from treadle.storage.disk import RealDisk
from treadle.storage.profiles import FOLDER, STAGING, ProfileFiles
from treadle.testkit.faults import FaultyDisk
from treadle.testkit.ports import CountingIds

from .profiles_contract import ProfileStoreContract, made


def files_below(root: Path, disk: FaultyDisk | None = None) -> ProfileFiles:
    return ProfileFiles(root, disk or RealDisk(), CountingIds(), checked_profile)


@pytest.fixture
def files(tmp_path: Path) -> ProfileFiles:
    return files_below(tmp_path)


def left(files: ProfileFiles) -> list[str]:
    """Every file below the folder."""
    return sorted(path.relative_to(files.folder).as_posix() for path in files.folder.rglob("*") if path.is_file())


class TestProfileFiles(ProfileStoreContract):
    @pytest.fixture
    def store(self, files: ProfileFiles) -> ProfileFiles:
        return files


def test_the_file_is_named_after_the_id_and_is_plain_json_to_read(files: ProfileFiles, tmp_path: Path) -> None:
    files.put(made(description="日本"))

    text = (tmp_path / FOLDER / "mine.json").read_text("utf-8")
    assert json.loads(text)["id"] == "mine"
    assert text.startswith('{\n  "schemaVersion": 1,\n  "kind"')
    assert "日本" in text
    assert text.endswith("}\n")
    assert left(files) == ["mine.json"]


@pytest.mark.parametrize(
    ("changes", "version"),
    [
        ({"schemaVersion": 2}, 1),
        ({"delegation": {}}, 2),
        ({"run.directRunnable": False}, 2),
    ],
)
def test_it_is_written_in_the_lowest_version_that_holds_it(
    files: ProfileFiles, changes: dict[str, object], version: int
) -> None:
    files.put(made(changes=changes))

    assert json.loads((files.folder / "mine.json").read_text())["schemaVersion"] == version


@pytest.mark.parametrize("text", ["{", "", "\ufeff{}", '{"id": NaN}', "[" * 100_000])
def test_a_file_that_is_no_json_is_told_with_its_name(files: ProfileFiles, text: str) -> None:
    files.put(made())
    (files.folder / "mine.json").write_text(text, "utf-8")

    with pytest.raises(InvalidData, match=r"mine\.json is not JSON") as broken:
        files.get("mine")

    assert broken.value.error_code == "agent.invalid_profile"


def test_a_file_of_another_id_is_not_loaded(files: ProfileFiles) -> None:
    files.put(made())
    (files.folder / "mine.json").rename(files.folder / "yours.json")

    with pytest.raises(InvalidData, match=r"yours\.json has the id mine") as broken:
        files.get("yours")

    assert broken.value.details == {"path": "$.id"}
    assert files.get("mine") is None


def test_a_stored_profile_that_breaks_a_rule_is_told_with_its_code_and_path(files: ProfileFiles) -> None:
    files.put(made(changes={"tools.maxRounds": 0}))

    with pytest.raises(InvalidInput, match=r"stored profile mine\.json") as broken:
        files.get("mine")

    assert broken.value.error_code == "agent.profile_max_rounds_invalid"
    assert broken.value.details == {"path": "$.tools.maxRounds"}


def test_a_save_that_the_disk_refuses_leaves_the_old_profile(tmp_path: Path) -> None:
    disk = FaultyDisk(RealDisk())
    files = files_below(tmp_path, disk)
    files.put(made(description="old"))

    disk.fail("replace", times=1)
    with pytest.raises(StorageFailed, match="saving mine"):
        files.put(made(description="new"))
    assert files.get("mine") == made(description="old")
    disk.fail("move", times=1)
    with pytest.raises(StorageFailed, match="saving mine"):
        files.put(made(description="new"))

    assert files.get("mine") == made(description="old")
    files.put(made(description="new"))
    assert left(files) == ["mine.json"]


def test_two_that_save_at_once_both_win_or_one_wins_whole(tmp_path: Path) -> None:
    """A store for each thread, as two programs would have it."""
    texts = [letter * 50_000 for letter in "abcd"]
    stores = [files_below(tmp_path) for _ in texts]
    reader = files_below(tmp_path)
    reader.put(made(description=texts[0]))
    seen: set[str | None] = set()

    def save(files: ProfileFiles, text: str) -> None:
        for _ in range(10):
            files.put(made(description=text))
            files.put(made(text[0], description=text))

    threads = [threading.Thread(target=save, args=pair) for pair in zip(stores, texts, strict=True)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found = reader.get("mine")
        seen.add(found.description if found else None)
    for thread in threads:
        thread.join()

    assert seen <= set(texts)
    assert [one.description for one in (reader.get(letter) for letter in "abcd") if one] == texts
    assert left(reader) == ["a.json", "b.json", "c.json", "d.json", "mine.json"]


_KILLED_BEFORE_THE_MOVE = """
import os, signal, sys
from pathlib import Path
from treadle.nodes.profile_rules import checked_profile
from treadle.graph.profiles.resolved import default_writer
from treadle.storage.disk import RealDisk
from treadle.storage.profiles import ProfileFiles
from treadle.testkit.ports import CountingIds

class Mortal(RealDisk):
    def move(self, source, target):
        os.kill(os.getpid(), signal.SIGKILL)

ProfileFiles(Path(sys.argv[1]), Mortal(), CountingIds(), checked_profile).put(default_writer())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_what_a_killed_save_leaves_is_no_profile_and_is_swept_by_the_next(files: ProfileFiles, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED_BEFORE_THE_MOVE, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [name for name in left(files) if name.startswith(f"{STAGING}/default-writer.")] == left(files) != []
    assert (files.paths(), files.get("default-writer")) == ([], None)

    files.put(made())

    assert left(files) == ["mine.json"]


def test_only_files_of_profiles_are_looked_at(files: ProfileFiles) -> None:
    files.put(made())
    (files.folder / "notes.txt").write_text("x")
    (files.folder / ".hidden.json").write_text("x")
    (files.folder / "folder.json").mkdir()
    (files.folder / "dangling.json").symlink_to(files.folder / "nowhere")

    assert [path.name for path in files.paths()] == ["mine.json"]
    assert files.remove("folder") is False
    assert (files.folder / "folder.json").is_dir()
