"""The journal: what stands in the file, byte for byte, and what a fault leaves behind."""

from __future__ import annotations

import errno
import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import JournalAppendFailed, JournalDamaged
from treadle.graph.events import Event, EventType, Level
from treadle.storage.disk import Disk, RealDisk
from treadle.storage.journal import Entry, Journal, read_journal
from treadle.testkit.faults import FaultyDisk

from .doubles import CountedIds, StillClock


def journal_at(path: Path, disk: Disk | None = None) -> Journal:
    journal = Journal(path, run_id="run_1", disk=disk or RealDisk(), clock=StillClock(), ids=CountedIds())
    journal.open()
    return journal


def entries(count: int, payload: object = None) -> list[Entry]:
    return [Entry(EventType.STATUS_CHANGED, payload) for _ in range(count)]


def record(seq: int, payload: object = None) -> bytes:
    stored = {
        "seq": seq,
        "id": f"evt_{seq}",
        "runId": "run_1",
        "timestamp": "t",
        "level": "info",
        "type": "status_changed",
    }
    return json.dumps({**stored, "payload": payload}).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


class TestAppend:
    def test_a_record_is_one_compact_line_with_the_whole_envelope(self, path: Path) -> None:
        journal_at(path).append([Entry(EventType.RUN_CREATED, {"n": 1})])

        assert path.read_bytes() == (
            b'{"seq":1,"id":"evt_00000000000000000000000000000001","runId":"run_1",'
            b'"timestamp":"2026-01-01T00:00:00.250Z","level":"info","type":"run_created","payload":{"n":1}}\n'
        )

    def test_the_entries_of_one_call_are_one_write_in_their_order(self, path: Path) -> None:
        disk = FaultyDisk(RealDisk())
        written = journal_at(path, disk).append([Entry("a", 1), Entry("b", 2), Entry("c", 3)])

        assert [(each.seq, each.type, each.payload) for each in written] == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]
        assert [touch.operation for touch in disk.log] == ["read", "append"]

    def test_no_entries_write_nothing(self, path: Path) -> None:
        assert journal_at(path).append([]) == []
        assert not path.exists()

    def test_seq_goes_on_in_another_process(self, path: Path) -> None:
        journal_at(path).append(entries(3))
        written = journal_at(path).append(entries(1))

        assert written[0].seq == 4

    def test_a_journal_that_was_never_opened_opens_itself(self, path: Path) -> None:
        journal_at(path).append(entries(2))
        closed = Journal(path, run_id="run_1", disk=RealDisk(), clock=StillClock(), ids=CountedIds())

        assert closed.append(entries(1))[0].seq == 3

    def test_the_level_is_the_types_own_unless_given(self, path: Path) -> None:
        written = journal_at(path).append(
            [
                Entry(EventType.RUN_FAILED, None),
                Entry(EventType.TOOL_CALL_FAILED, None, Level.WARN),
                Entry("mine", None),
            ]
        )

        assert [each.level for each in written] == ["error", "warn", "info"]

    def test_big_integers_and_half_characters_come_back_as_they_went(self, path: Path) -> None:
        payload = {"big": 2**64 + 1, "half": "a\ud83d", "line": "x\u2028y\x85z\n", "float": 0.1}
        journal_at(path).append(entries(1, payload))

        assert journal_at(path).read_all()[0].payload == payload

    def test_threads_that_append_at_once_leave_no_gap(self, path: Path) -> None:
        journal = journal_at(path)
        threads = [threading.Thread(target=lambda: [journal.append(entries(2)) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert [each.seq for each in journal_at(path).read_all()] == list(range(1, 161))

    def test_listeners_hear_of_each_append_until_they_leave(self, path: Path) -> None:
        journal = journal_at(path)
        heard: list[int] = []

        def listen(events: list[Event]) -> None:
            heard.extend(each.seq for each in journal.read(after_seq=events[0].seq - 1))

        leave = journal.subscribe(listen)
        journal.append(entries(2))
        leave()
        leave()
        journal.append(entries(1))

        assert heard == [1, 2]


class TestTornTail:
    def test_opening_and_reading_change_nothing(self, path: Path) -> None:
        path.write_bytes(before := record(1) + b"\n" + b'{"seq":2,"id"')
        journal = journal_at(path)

        assert [each.seq for each in journal.read()] == [each.seq for each in read_journal(path)] == [1]
        assert path.read_bytes() == before

    def test_torn_bytes_are_cut_off_and_told_before_the_next_event(self, path: Path) -> None:
        path.write_bytes(record(1) + b"\n" + b'{"seq":2,"id"')
        written = journal_at(path).append(entries(1))

        assert [each.seq for each in written] == [3]
        told = journal_at(path).read()[1]
        assert (told.type, told.level) == ("journal_tail_repaired", "warn")
        assert told.payload == {"droppedBytes": 13, "atOffset": len(record(1)) + 1}
        assert [json.loads(line)["seq"] for line in path.read_bytes().splitlines()] == [1, 2, 3]

    def test_listeners_hear_of_the_repair_too(self, path: Path) -> None:
        path.write_bytes(record(1) + b"\n\x00\x00\x00")
        journal = journal_at(path)
        heard: list[str] = []
        journal.subscribe(lambda events: heard.extend(each.type for each in events))
        journal.append(entries(1))

        assert heard == ["journal_tail_repaired", "status_changed"]

    def test_a_whole_last_record_gets_its_newline_and_no_report(self, path: Path) -> None:
        path.write_bytes(record(1) + b"\n" + record(2))
        journal = journal_at(path)

        assert journal.last_seq == 2
        assert [each.seq for each in read_journal(path)] == [1, 2]
        journal.append(entries(1))
        assert path.read_bytes().startswith(record(1) + b"\n" + record(2) + b"\n")
        assert [each.type for each in journal.read()] == ["status_changed"] * 3

    def test_a_whole_last_record_with_another_seq_is_torn(self, path: Path) -> None:
        path.write_bytes(record(1) + b"\n" + record(7))

        assert [each.seq for each in journal_at(path).append(entries(1))] == [3]

    def test_the_repair_is_told_once(self, path: Path) -> None:
        path.write_bytes(b"{")
        journal = journal_at(path)
        journal.append(entries(1))
        journal.append(entries(1))

        assert [each.type for each in journal.read()] == ["journal_tail_repaired", "status_changed", "status_changed"]

    def test_empty_lines_hold_no_event_and_do_no_harm(self, path: Path) -> None:
        path.write_bytes(record(1) + b"\n\n" + record(2) + b"\n\n")
        journal = journal_at(path)
        journal.append(entries(1))

        assert [each.seq for each in journal.read(after_seq=1)] == [2, 3]
        assert [each.seq for each in read_journal(path, after_seq=1)] == [2, 3]

    @given(cut=st.integers(min_value=0), total=st.integers(1, 5))
    def test_wherever_the_file_is_cut_the_journal_goes_on_without_a_gap(
        self, tmp_path_factory: pytest.TempPathFactory, cut: int, total: int
    ) -> None:
        path = tmp_path_factory.mktemp("cut") / "events.jsonl"
        journal_at(path).append(entries(total, {"text": "é🙂"}))
        whole = path.read_bytes()
        cut %= len(whole) + 1
        path.write_bytes(whole[:cut])
        journal_at(path).append(entries(1))

        events = journal_at(path).read_all()
        assert [each.seq for each in events] == list(range(1, len(events) + 1))
        kept = whole[:cut].count(b"\n") + (whole[cut : cut + 1] == b"\n")
        on_a_boundary = cut == 0 or b"\n" in (whole[cut - 1 : cut], whole[cut : cut + 1])
        assert len(events) == kept + (1 if on_a_boundary else 2)


class TestDamage:
    @pytest.mark.parametrize(
        "middle", [b"\x00" * 40, b"rubbish", b'{"seq":2}', record(3), record(1), b"[2]", b"2", b" ", b"[" * 100_000]
    )
    def test_damage_before_the_tail_names_line_and_offset(self, path: Path, middle: bytes) -> None:
        path.write_bytes(record(1) + b"\n" + middle + b"\n" + record(3) + b"\n")

        with pytest.raises(JournalDamaged, match=rf"line 2, byte offset {len(record(1)) + 1}"):
            journal_at(path)
        with pytest.raises(JournalDamaged, match="line 2"):
            read_journal(path)

    def test_damage_in_the_last_line_is_no_torn_tail_once_it_has_its_newline(self, path: Path) -> None:
        path.write_bytes(record(1) + b"\n" + b'{"seq":2,"id"\n')

        with pytest.raises(JournalDamaged, match="line 2"):
            journal_at(path)

    def test_a_seq_that_is_true_is_not_one(self, path: Path) -> None:
        path.write_bytes(record(1).replace(b'"seq": 1', b'"seq": true') + b"\n")

        with pytest.raises(JournalDamaged):
            journal_at(path)

    def test_damage_that_came_after_opening_is_named_with_its_place_in_the_file(self, path: Path) -> None:
        path.write_bytes(b"".join(record(seq) + b"\n" for seq in (1, 2, 3)))
        journal = journal_at(path)
        length = len(record(1)) + 1
        path.write_bytes(path.read_bytes()[: 2 * length] + b"x" * (length - 1) + b"\n")

        with pytest.raises(JournalDamaged, match=f"line 3, byte offset {2 * length}"):
            journal.read(after_seq=1)


class TestFaults:
    @pytest.mark.parametrize("after_bytes", [None, 1, 20, 150, 10_000])
    def test_a_full_disk_leaves_the_file_as_it_was_and_uses_no_seq(self, path: Path, after_bytes: int | None) -> None:
        disk = FaultyDisk(RealDisk())
        journal = journal_at(path, disk)
        journal.append(entries(1))
        before = path.read_bytes()
        disk.fail("append", when="events.jsonl", error=errno.ENOSPC, after_bytes=after_bytes, times=1)

        with pytest.raises(JournalAppendFailed) as caught:
            journal.append(entries(3))
        assert isinstance(caught.value.__cause__, OSError)
        assert (path.read_bytes(), journal.last_seq) == (before, 1)
        assert [each.seq for each in journal.append(entries(2))] == [2, 3]
        assert [each.seq for each in journal_at(path).read_all()] == [1, 2, 3]

    def test_listeners_hear_nothing_of_an_append_that_failed(self, path: Path) -> None:
        disk = FaultyDisk(RealDisk())
        journal = journal_at(path, disk)
        heard: list[object] = []
        journal.subscribe(heard.append)
        disk.fail("append")

        with pytest.raises(JournalAppendFailed):
            journal.append(entries(1))
        assert heard == []

    def test_what_could_not_be_taken_back_is_cut_off_before_the_next_append(self, path: Path) -> None:
        disk = FaultyDisk(RealDisk())
        journal = journal_at(path, disk)
        journal.append(entries(1))
        good = path.stat().st_size
        disk.fail("append", after_bytes=20, times=1)
        disk.fail("truncate", error=errno.EIO, times=2)

        for _ in range(2):  # the write, then the repair
            with pytest.raises(JournalAppendFailed):
                journal.append(entries(1))
        assert path.stat().st_size == good + 20
        assert [each.seq for each in journal.append(entries(1))] == [3]
        assert journal.read()[1].payload == {"droppedBytes": 20, "atOffset": good}
        assert [each.seq for each in journal_at(path).read_all()] == [1, 2, 3]

    def test_a_torn_tail_is_told_even_if_the_first_append_after_it_fails(self, path: Path) -> None:
        path.write_bytes(record(1) + b"\n{torn")
        disk = FaultyDisk(RealDisk())
        journal = journal_at(path, disk)
        disk.fail("append", after_bytes=5, times=1)

        with pytest.raises(JournalAppendFailed):
            journal.append(entries(1))
        journal.append(entries(1))
        assert journal_at(path).read()[1].payload == {"droppedBytes": 5, "atOffset": len(record(1)) + 1}

    def test_a_failed_append_to_a_record_without_newline_does_not_cost_the_record(self, path: Path) -> None:
        path.write_bytes(record(1))
        disk = FaultyDisk(RealDisk())
        journal = journal_at(path, disk)
        disk.fail("append", after_bytes=9, times=1)

        with pytest.raises(JournalAppendFailed):
            journal.append(entries(1))
        assert path.read_bytes() == record(1)
        assert journal.append(entries(1))[0].seq == 2
        assert [each.seq for each in journal_at(path).read_all()] == [1, 2]

    def test_a_missing_folder_is_an_append_failure_that_can_be_mended(self, tmp_path: Path) -> None:
        journal = journal_at(tmp_path / "run" / "events.jsonl")

        with pytest.raises(JournalAppendFailed):
            journal.append(entries(1))
        (tmp_path / "run").mkdir()
        assert journal.append(entries(1))[0].seq == 1

    def test_what_is_no_json_is_refused_before_anything_is_written(self, path: Path) -> None:
        journal = journal_at(path)

        with pytest.raises(TypeError):
            journal.append([Entry("a", 1), Entry("b", object())])
        assert not path.exists()
        assert journal.append(entries(1))[0].seq == 1


class TestReading:
    @pytest.fixture
    def journal(self, path: Path) -> Journal:
        journal = journal_at(path)
        journal.append(entries(700))
        return journal

    @pytest.mark.parametrize(
        ("after_seq", "before_seq", "limit", "first", "last"),
        [
            (None, None, None, 1, 100),
            (5, None, None, 6, 105),
            (5, None, 0, 6, 6),
            (0, None, 9999, 1, 500),
            (690, None, 50, 691, 700),
            (-3, None, 2, 1, 2),
            (None, 50, 10, 40, 49),
            (600, 50, 10, 40, 49),
            (None, 4, 10, 1, 3),
            (None, 5000, 3, 698, 700),
        ],
    )
    def test_pages(
        self,
        journal: Journal,
        path: Path,
        after_seq: int | None,
        before_seq: int | None,
        limit: int | None,
        first: int,
        last: int,
    ) -> None:
        page = journal.read(after_seq=after_seq, before_seq=before_seq, limit=limit)

        assert [each.seq for each in page] == list(range(first, last + 1))
        assert read_journal(path, after_seq=after_seq, before_seq=before_seq, limit=limit) == page

    @pytest.mark.parametrize(("after", "before"), [(700, None), (9999, None), (None, 1), (None, 0)])
    def test_pages_past_either_end_are_empty(
        self, journal: Journal, path: Path, after: int | None, before: int | None
    ) -> None:
        assert journal.read(after_seq=after, before_seq=before) == []
        assert read_journal(path, after_seq=after, before_seq=before) == []

    def test_a_page_is_read_without_the_rest_of_the_file(self, journal: Journal, path: Path) -> None:
        # the other records are spoilt after opening: a page that parsed them would fail
        data = path.read_bytes()
        offset = data.index(b'{"seq":301,')
        end = data.index(b'{"seq":311,')
        path.write_bytes(b"x" * (offset - 1) + b"\n" + data[offset:end] + b"x" * (len(data) - end))

        assert [each.seq for each in journal.read(after_seq=300, limit=10)] == list(range(301, 311))

    def test_paging_to_the_end_gives_every_event_once(self, journal: Journal) -> None:
        seen: list[int] = []
        while page := journal.read(after_seq=seen[-1] if seen else 0):
            seen += [each.seq for each in page]

        assert seen == list(range(1, 701))

    def test_a_missing_file_has_no_events(self, tmp_path: Path) -> None:
        assert journal_at(tmp_path / "none").read_all() == read_journal(tmp_path / "none") == []

    def test_what_is_read_equals_what_append_gave(self, path: Path) -> None:
        journal = journal_at(path)
        written = journal.append(entries(3, {"k": [1, None, "x"]}))

        assert journal.read_all() == written
