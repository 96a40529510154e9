"""The end of a journal is read from its end, whatever stands in front and whatever a crash tore."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.graph.errors import JournalDamaged, StorageFailed
from treadle.graph.events import EventType
from treadle.graph.jsontext import Json
from treadle.storage.disk import RealDisk
from treadle.storage.journal import Entry, Journal
from treadle.storage.journal_tail import last_event
from treadle.testkit.faults import FaultyDisk
from treadle.testkit.ports import CountingIds, ManualClock

RESUMED = Entry(EventType.RUN_RESUMED, {})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_a_journal_that_is_missing_or_empty_has_no_last_event(path: Path) -> None:
    assert last_event(path, RealDisk()) is None
    path.touch()
    assert last_event(path, RealDisk()) is None


def test_the_last_event_is_found_and_types_that_are_not_wanted_are_passed_over(path: Path) -> None:
    _write(path, _told("a"), RESUMED, RESUMED)

    assert _last(path) == (3, "run_resumed")
    assert _last(path, EventType.RUN_RESUMED) == (1, "tool_call_started")
    assert _last(path, EventType.RUN_RESUMED, EventType.TOOL_CALL_STARTED) is None


@pytest.mark.parametrize("size", [1, 16_000, 16_384, 40_000, 300_000])
def test_lines_may_be_longer_than_what_is_read_at_once(path: Path, size: int) -> None:
    _write(path, _told("a"), _told("x" * size), RESUMED, _told("y" * size))

    assert _last(path) == (4, "tool_call_started")
    assert _last(path, EventType.TOOL_CALL_STARTED) == (3, "run_resumed")
    assert _last(path, EventType.RUN_RESUMED) == (4, "tool_call_started")


def test_of_a_long_journal_only_the_end_is_read(path: Path) -> None:
    _write(path, *(_told("x" * 900) for _ in range(1000)))
    disk = CountingDisk()
    found = last_event(path, disk)

    assert found is not None
    assert (found.seq, disk.amount) == (1000, 16_384)


@pytest.mark.parametrize("torn", [b"{", b'{"seq":', b"x" * 20_000])
def test_a_torn_last_line_counts_for_nothing(path: Path, torn: bytes) -> None:
    _write(path, _told("a"), RESUMED)
    path.write_bytes(path.read_bytes() + torn)

    assert _last(path) == (2, "run_resumed")


def test_a_whole_last_line_without_its_end_counts(path: Path) -> None:
    _write(path, _told("a"), RESUMED)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    assert _last(path) == (2, "run_resumed")


def test_a_damaged_line_is_told_by_its_byte_offset(path: Path) -> None:
    _write(path, _told("a"), RESUMED)
    good = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"what is this?\n")

    with pytest.raises(JournalDamaged) as damaged:
        last_event(path, RealDisk())
    assert damaged.value.details == {"offset": good}


def test_a_disk_that_refuses_is_told(path: Path) -> None:
    _write(path, RESUMED)
    disk = FaultyDisk(RealDisk())
    disk.fail("read_range")

    with pytest.raises(StorageFailed, match="reading the journal"):
        last_event(path, disk)


class CountingDisk(RealDisk):
    amount = 0

    def read_range(self, path: Path, start: int, size: int) -> bytes:
        self.amount += size
        return super().read_range(path, start, size)


def _told(text: str) -> Entry:
    payload: Json = {"round": 1, "callId": text}
    return Entry(EventType.TOOL_CALL_STARTED, payload)


def _write(path: Path, *entries: Entry) -> None:
    Journal(path, run_id="run_a", disk=RealDisk(), clock=ManualClock(), ids=CountingIds()).append(entries)


def _last(path: Path, *skip: EventType) -> tuple[int, str] | None:
    found = last_event(path, RealDisk(), skip=skip)
    return None if found is None else (found.seq, found.type)
