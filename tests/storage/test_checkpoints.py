"""Checkpoints: the exact record, and making one again after a crash."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, NotFound, StorageFailed
from treadle.storage.checkpoints import Checkpoint, CheckpointStore, checkpoint_id
from treadle.storage.disk import Disk, RealDisk
from treadle.storage.workspace import FileMissing, PathEscapes
from treadle.testkit.faults import FaultyDisk

from .doubles import StillClock
from .workspace_contract import at

SHA_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


def store(run_dir: Path, disk: Disk | None = None, clock: StillClock | None = None) -> CheckpointStore:
    return CheckpointStore(run_dir, "run_1", disk or RealDisk(), clock or StillClock())


def create(checkpoints: CheckpointStore, *paths: str, event_seq: int = 20, reason: str = "write") -> Checkpoint:
    wanted = [at(path) for path in paths or ("output/main.md",)]
    return checkpoints.create(checkpoint_id="cp_000001", reason=reason, event_seq=event_seq, paths=wanted)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "output").mkdir()
    (tmp_path / "plan").mkdir()
    (tmp_path / "output" / "main.md").write_bytes(b"a")
    (tmp_path / "plan" / "p.md").write_bytes(b"plan\r\n")
    return tmp_path


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_ids_have_six_digits_and_grow_past_them() -> None:
    assert [checkpoint_id(seq) for seq in (1, 999_999, 1_000_000)] == ["cp_000001", "cp_999999", "cp_1000000"]


def test_the_record_and_the_copy_are_exact(run_dir: Path) -> None:
    create(store(run_dir))

    assert tree(run_dir / "checkpoints").keys() == {"cp_000001/checkpoint.json", f"content/{SHA_A}"}
    assert (run_dir / f"checkpoints/content/{SHA_A}").read_bytes() == b"a"
    assert json.loads((run_dir / "checkpoints/cp_000001/checkpoint.json").read_bytes()) == {
        "id": "cp_000001",
        "seq": 1,
        "runId": "run_1",
        "createdAt": "2026-01-01T00:00:00.250Z",
        "reason": "write",
        "eventSeq": 20,
        "files": [{"path": "output/main.md", "sha256": SHA_A, "bytes": 1}],
    }


def test_what_was_made_can_be_loaded_and_listed_in_order(run_dir: Path) -> None:
    checkpoints = store(run_dir)
    made = [
        checkpoints.create(checkpoint_id=checkpoint_id(seq), reason="write", event_seq=seq, paths=[at("plan/p.md")])
        for seq in (2, 10, 1, 1_000_000)
    ]

    assert checkpoints.load("cp_000010") == made[1]
    assert [each.seq for each in checkpoints.list()] == [1, 2, 10, 1_000_000]


def test_several_files_are_kept_and_each_once(run_dir: Path) -> None:
    made = create(store(run_dir), "output/main.md", "plan/p.md", "output/main.md")

    assert [stamp.path for stamp in made.files] == ["output/main.md", "plan/p.md"]
    assert store(run_dir).file("cp_000001", at("plan/p.md")) == b"plan\r\n"


def test_a_content_that_several_checkpoints_name_is_kept_once(run_dir: Path) -> None:
    (run_dir / "plan" / "p.md").write_bytes(b"a")
    for seq in range(1, 4):
        store(run_dir).create(
            checkpoint_id=checkpoint_id(seq),
            reason="write",
            event_seq=seq,
            paths=[at("output/main.md"), at("plan/p.md")],
        )

    assert [name for name in tree(run_dir / "checkpoints") if name.startswith("content")] == [f"content/{SHA_A}"]


def test_a_content_can_be_kept_without_a_checkpoint(run_dir: Path) -> None:
    checkpoints = store(run_dir)

    assert not checkpoints.keeps(SHA_A)
    assert checkpoints.keep(at("output/main.md")) == SHA_A
    assert checkpoints.keeps(SHA_A)
    assert checkpoints.content(SHA_A) == b"a"
    assert checkpoints.list() == ()


def test_a_content_that_is_gone_or_altered_is_loud(run_dir: Path) -> None:
    create(store(run_dir))
    kept = run_dir / "checkpoints" / "content" / SHA_A

    kept.write_bytes(b"A")
    with pytest.raises(InvalidData, match=SHA_A):
        store(run_dir).file("cp_000001", at("output/main.md"))
    kept.unlink()
    with pytest.raises(NotFound, match=SHA_A):
        store(run_dir).file("cp_000001", at("output/main.md"))
    with pytest.raises(NotFound, match="plan"):
        store(run_dir).file("cp_000001", at("plan/p.md"))


def test_the_same_again_gives_the_first_record_and_writes_nothing(run_dir: Path) -> None:
    first = create(store(run_dir))
    clock, disk = StillClock(), FaultyDisk(RealDisk())
    clock.seconds += 60

    assert create(store(run_dir, disk, clock)) == first
    assert {touch.operation for touch in disk.log} <= {"read", "read_plain"}


def test_a_half_made_folder_is_made_anew(run_dir: Path) -> None:
    whole = create(store(run_dir))
    before = tree(run_dir / "checkpoints")
    for left in ({}, {"checkpoint.json.0123456789abcdef.tmp": b"half"}, {"old.json": b"of another write"}):
        RealDisk().remove(run_dir / "checkpoints/cp_000001")
        (run_dir / "checkpoints/cp_000001").mkdir()
        for name, data in left.items():
            RealDisk().replace(run_dir / "checkpoints/cp_000001" / name, data)
        assert store(run_dir).list() == ()

        assert create(store(run_dir)) == whole
        assert tree(run_dir / "checkpoints") == before


def test_a_folder_that_says_otherwise_is_replaced(run_dir: Path) -> None:
    create(store(run_dir))
    (run_dir / "output" / "main.md").write_bytes(b"b")
    made = create(store(run_dir), event_seq=22)

    assert store(run_dir).load("cp_000001") == made
    assert store(run_dir).file("cp_000001", at("output/main.md")) == b"b"


@pytest.mark.parametrize("written_before", [0, 1])
def test_a_fault_at_any_write_leaves_nothing_that_looks_whole(run_dir: Path, written_before: int) -> None:
    disk = FaultyDisk(RealDisk())
    disk.fail("replace", error=errno.ENOSPC, skip=written_before, times=1)

    with pytest.raises(StorageFailed):
        create(store(run_dir, disk))
    assert store(run_dir).list() == ()
    with pytest.raises(NotFound):
        store(run_dir).load("cp_000001")
    assert create(store(run_dir, disk)).files[0].sha256 == SHA_A


def test_a_missing_source_is_fatal_and_leaves_no_folder(run_dir: Path) -> None:
    with pytest.raises(FileMissing):
        create(store(run_dir), "output/main.md", "output/none.md")
    assert not (run_dir / "checkpoints").exists()


def test_a_source_that_is_a_link_is_fatal(run_dir: Path, tmp_path: Path) -> None:
    (run_dir / "output" / "link").symlink_to(run_dir / "plan" / "p.md")

    with pytest.raises(PathEscapes):
        create(store(run_dir), "output/link")


@pytest.mark.parametrize("id", ["cp_000002", "cp_1", "../output", "", "cp_000001x"])
def test_what_is_no_checkpoint_is_not_found(run_dir: Path, id: str) -> None:
    create(store(run_dir))

    with pytest.raises(NotFound):
        store(run_dir).load(id)


@pytest.mark.parametrize("id", ["cp_1", "../output", "", "cp_000001/.."])
def test_an_id_that_is_none_is_not_created(run_dir: Path, id: str) -> None:
    with pytest.raises(InvalidData):
        store(run_dir).create(checkpoint_id=id, reason="write", event_seq=1, paths=[at("plan/p.md")])


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b'{"files":[1]}', b"\x00"])
def test_a_damaged_record_is_loud(run_dir: Path, damage: bytes) -> None:
    create(store(run_dir))
    (run_dir / "checkpoints/cp_000001/checkpoint.json").write_bytes(damage)

    with pytest.raises(InvalidData, match="cp_000001"):
        store(run_dir).load("cp_000001")


def test_one_small_file_costs_three_operations_and_two_where_its_content_is_kept(run_dir: Path) -> None:
    disk = FaultyDisk(RealDisk())
    create(store(run_dir, disk))

    store(run_dir, disk).create(checkpoint_id="cp_000002", reason="write", event_seq=21, paths=[at("output/main.md")])

    assert [touch.operation for touch in disk.log] == ["read_plain", "replace", "replace", "read_plain", "replace"]
