"""A run that is being deleted: gone at once for every reader, and finished by whoever comes by."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, NotFound, StorageFailed
from treadle.storage.run_deletion import DELETING, begin_deletion, finish_deletion, unfinished_deletions
from treadle.storage.run_index import RunIndex
from treadle.storage.run_summaries import RunSummaries

from .run_shelf import RunShelf


@pytest.fixture
def shelf(tmp_path: Path) -> RunShelf:
    return RunShelf(tmp_path)


def test_a_run_whose_deletion_was_begun_is_neither_listed_nor_found(shelf: RunShelf) -> None:
    record = shelf.put("run_1")

    begin_deletion(shelf.store, shelf.disk, record.id)

    assert not shelf.store.exists("run_1")
    assert RunIndex(shelf.store.root, shelf.disk).look() == ((), ())
    assert unfinished_deletions(shelf.store) == ["run_1"]
    with pytest.raises(NotFound):
        shelf.store.load("run_1")


def test_what_was_begun_is_finished_once(shelf: RunShelf) -> None:
    record = shelf.put("run_1")
    RunSummaries(shelf.store, shelf.disk).of(record)
    begin_deletion(shelf.store, shelf.disk, record.id)

    assert finish_deletion(shelf.store, shelf.disk, record.id) is True
    assert finish_deletion(shelf.store, shelf.disk, record.id) is False
    assert shelf.files() == {}
    assert unfinished_deletions(shelf.store) == []


def test_what_a_fault_cut_off_is_finished_by_the_next(shelf: RunShelf) -> None:
    record = shelf.put("run_1")
    begin_deletion(shelf.store, shelf.disk, record.id)
    shelf.disk.fail("remove", skip=1, times=1, error=errno.EIO)

    with pytest.raises(StorageFailed, match="deleting run run_1: Input/output error"):
        finish_deletion(shelf.store, shelf.disk, record.id)

    assert unfinished_deletions(shelf.store) == ["run_1"]
    assert finish_deletion(shelf.store, shelf.disk, record.id) is True
    assert shelf.files() == {}


def test_a_damaged_mark_is_told_with_what_to_do(shelf: RunShelf) -> None:
    record = shelf.put("run_1")
    begin_deletion(shelf.store, shelf.disk, record.id)
    (shelf.store.root / DELETING / "run_1.json").write_bytes(b"{")

    with pytest.raises(InvalidData, match=r"index/deleting/run_1\.json is damaged; remove it"):
        finish_deletion(shelf.store, shelf.disk, record.id)
