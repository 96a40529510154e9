"""The index of runs: as other processes leave it, however often it is looked at, and whatever is damaged in it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from treadle.graph.errors import StorageFailed
from treadle.graph.status import RunStatus
from treadle.storage.run_index import RunIndex
from treadle.testkit.faults import FaultyDisk

from .run_shelf import RunShelf


@pytest.fixture
def shelf(tmp_path: Path) -> RunShelf:
    return RunShelf(tmp_path)


@pytest.fixture
def index(shelf: RunShelf) -> RunIndex:
    return RunIndex(shelf.store.root, shelf.disk)


def ids(index: RunIndex) -> list[str]:
    return [entry.id for entry in index.look().entries]


def reads(disk: FaultyDisk) -> list[str]:
    """The names of the files that were read since the last call."""
    names = [touch.path.name for touch in disk.log if touch.operation == "read"]
    disk.log.clear()
    return names


def test_a_data_root_without_runs_has_none_and_is_not_made(index: RunIndex, tmp_path: Path) -> None:
    assert index.look() == ((), ())
    assert list(tmp_path.iterdir()) == []


def test_runs_come_newest_first_by_their_creation_then_by_id(shelf: RunShelf, index: RunIndex) -> None:
    for name, minute in (("run_b", 1), ("run_a", 1), ("run_c", 0), ("run_d", 2)):
        shelf.put(name, created=minute)

    assert ids(index) == ["run_d", "run_b", "run_a", "run_c"]


def test_a_second_look_reads_nothing_that_stayed_as_it_was(shelf: RunShelf, index: RunIndex) -> None:
    for number in range(3):
        shelf.put(f"run_{number}", created=number)
    index.look()
    reads(shelf.disk)

    assert ids(index) == ["run_2", "run_1", "run_0"]
    assert reads(shelf.disk) == []


def test_what_another_process_adds_changes_or_removes_is_seen(shelf: RunShelf, index: RunIndex) -> None:
    other = RunShelf(shelf.data_root)
    gone, running = other.put("run_1", created=1), other.put("run_2", status=RunStatus.CALLING_MODEL, created=2)
    index.look()
    reads(shelf.disk)

    other.put("run_3", created=3)
    other.change(running, RunStatus.COMPLETED, 9)
    other.store.index_file(gone.id).unlink()

    assert [(entry.id, entry.status) for entry in index.look().entries] == [
        ("run_3", "completed"),
        ("run_2", "completed"),
    ]
    assert sorted(reads(shelf.disk)) == ["run_2.json", "run_3.json"]


def test_a_file_that_is_replaced_by_one_of_the_same_size_and_time_is_seen(shelf: RunShelf, index: RunIndex) -> None:
    record = shelf.put("run_1", status=RunStatus.COMPLETED)
    index.look()
    file = shelf.store.index_file(record.id)
    before = file.stat()

    replaced = file.read_bytes().replace(b'"chat-1"', b'"chat-2"')
    shelf.disk.replace(file, replaced)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert index.look().entries[0].stable_chat_id == "chat-2"


@pytest.mark.parametrize(
    ("bytes_", "reason"),
    [
        (b"{", "not a run record"),
        (b"[]", "not a run record"),
        (b"{}", "'chatHead'"),
        (None, "it is the record of run run_1"),
        (b'"createdAt": 5', "createdAt must be text"),
        (b'"workspaceId": "../../etc"', "workspaceId '../../etc'"),
        (b'"chatRef": {"kind": "tree"}', "chatRef.kind"),
    ],
)
def test_a_damaged_file_is_told_and_stops_nothing(
    shelf: RunShelf, index: RunIndex, bytes_: bytes | None, reason: str
) -> None:
    good = shelf.store.index_file(shelf.put("run_1").id)
    bad = good.with_name("run_bad.json")
    bad.write_bytes(_with(good.read_bytes(), bytes_))

    look = index.look()

    assert [entry.id for entry in look.entries] == ["run_1"]
    assert [(each.id, each.file) for each in look.damaged] == [("run_bad", "index/runs/run_bad.json")]
    assert reason in look.damaged[0].reason


def test_a_damaged_file_that_is_mended_is_a_run_again(shelf: RunShelf, index: RunIndex) -> None:
    file = shelf.store.index_file(shelf.put("run_1").id)
    good = file.read_bytes()
    file.write_bytes(b"{")
    assert index.look().entries == ()

    file.write_bytes(good)

    assert ids(index) == ["run_1"]
    assert index.look().damaged == ()


def test_a_file_that_the_disk_does_not_give_is_told(shelf: RunShelf, index: RunIndex) -> None:
    shelf.put("run_1", created=1)
    shelf.put("run_2", created=2)
    shelf.disk.fail("read", when="run_1.json", error=errno.EIO)

    look = index.look()

    assert [entry.id for entry in look.entries] == ["run_2"]
    assert "Input/output error" in look.damaged[0].reason


def test_what_a_crash_left_of_a_file_being_written_is_no_run(shelf: RunShelf, index: RunIndex) -> None:
    file = shelf.store.index_file(shelf.put("run_1").id)
    file.with_name("run_2.json.0123456789abcdef.tmp").write_bytes(b"{")

    assert index.look().damaged == ()
    assert ids(index) == ["run_1"]


def test_an_index_that_is_no_folder_is_refused(shelf: RunShelf, index: RunIndex) -> None:
    shelf.disk.replace(shelf.store.root / "index" / "runs", b"")

    with pytest.raises(StorageFailed, match="reading the index of runs"):
        index.look()


def test_a_run_under_way_is_as_its_own_record_says(shelf: RunShelf, index: RunIndex) -> None:
    """`run.json` is written first: a crash may come before the index has it."""
    record = shelf.put("run_1", status=RunStatus.CALLING_MODEL)
    stale = shelf.store.index_file(record.id).read_bytes()
    shelf.change(record, RunStatus.FINISHING, 5)
    shelf.store.index_file(record.id).write_bytes(stale)
    (entry,) = index.look().entries
    reads(shelf.disk)

    assert (entry.status, index.newest(entry).status) == ("calling_model", "finishing")
    assert reads(shelf.disk) == ["run.json"]
    assert index.newest(entry).status == "finishing"
    assert reads(shelf.disk) == []


def test_only_so_many_runs_are_remembered_and_all_are_told(shelf: RunShelf) -> None:
    index = RunIndex(shelf.store.root, shelf.disk, remembered=2)
    for number in range(4):
        shelf.put(f"run_{number}", created=number)
    index.look()
    reads(shelf.disk)

    assert ids(index) == ["run_3", "run_2", "run_1", "run_0"]
    assert sorted(reads(shelf.disk)) == ["run_0.json", "run_1.json"]


def _with(good: bytes, change: bytes | None) -> bytes:
    """The record of another run, or a whole file, or the record with one field changed."""
    if change is None or not change.startswith(b'"'):
        return good if change is None else change
    name = change.split(b":")[0]
    start = good.index(name)
    end = good.index(b"}", start) + 1 if b"chatRef" in name else good.index(b",", start)
    return good.replace(b'"id": "run_1"', b'"id": "run_bad"').replace(good[start:end], change)
