"""What must be put back, and what a file of the past is read from."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData
from treadle.graph.text import sha256_bytes
from treadle.storage.checkpoints import CheckpointStore
from treadle.storage.contents import Contents
from treadle.storage.disk import RealDisk
from treadle.storage.restoring import Restored, plan, restored, standing
from treadle.storage.workspace import FolderWorkspace, PathEscapes

from .doubles import StillClock
from .workspace_contract import at

A, B, C = at("output/a.md"), at("output/b.md"), at("plan/c.md")


def test_what_is_wanted_already_is_not_planned() -> None:
    assert plan({A: "1"}, {A: "1"}, {A: "1"}) == ()


def test_what_is_other_on_disk_or_by_the_journal_is_planned_by_path() -> None:
    planned = plan({A: "1", C: "9"}, {A: "2", B: "5"}, {A: "1", B: "4"})

    assert planned == (Restored(A, "1", "1"), Restored(B, None, "4"), Restored(C, "9", None))


def test_a_plan_is_read_back_from_its_event() -> None:
    planned = (Restored(A, None, "1"), Restored(B, "2", None))

    assert restored({"files": [file.to_json() for file in planned]}) == planned


def test_what_stands_in_the_five_folders_is_read_whole(tmp_path: Path) -> None:
    workspace = FolderWorkspace(tmp_path, RealDisk())
    for path in (A, C, at("input/prompt_snapshot.json")):
        workspace.write_bytes(path, path.encode())

    assert standing(workspace) == {A: b"output/a.md", C: b"plan/c.md"}
    (tmp_path / "scratch").symlink_to(tmp_path / "input")
    with pytest.raises(PathEscapes):
        standing(workspace)


class TestContents:
    @pytest.fixture
    def contents(self, tmp_path: Path) -> Contents:
        """Kept: `k`. In the run's folder: `r`, in the chat's: `c`."""
        kept = CheckpointStore(tmp_path / "run", "run_1", RealDisk(), StillClock())
        kept.keep_content(b"k")
        places = [FolderWorkspace(tmp_path / name, RealDisk()) for name in ("run", "chat")]
        for place, data in zip(places, (b"r", b"c"), strict=True):
            place.write_bytes(A, data)
        return Contents(kept, places)

    @pytest.mark.parametrize("data", [b"k", b"r", b"c"])
    def test_a_content_is_found_wherever_it_is(self, contents: Contents, data: bytes) -> None:
        assert contents.find(A, sha256_bytes(data)) == data

    def test_one_that_is_nowhere_is_not_found(self, contents: Contents) -> None:
        assert contents.find(A, sha256_bytes(b"x")) is None
        assert contents.find(B, sha256_bytes(b"r")) is None

    def test_a_kept_one_that_is_damaged_is_loud(self, contents: Contents, tmp_path: Path) -> None:
        (tmp_path / "run" / "checkpoints" / "content" / sha256_bytes(b"k")).write_bytes(b"x")
        with pytest.raises(InvalidData, match="damaged"):
            contents.find(A, sha256_bytes(b"k"))
