"""The journal's index: pages are found without reading the journal, and whatever became of the index they are right."""

from __future__ import annotations

import errno
import shutil
import struct
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.graph.errors import JournalAppendFailed, JournalDamaged
from treadle.graph.events import Event, EventType
from treadle.storage.disk import Disk, RealDisk
from treadle.storage.journal import Entry, Journal, read_journal, read_last_seq
from treadle.storage.journal_index import EVERY, WIDTH, IndexWriter
from treadle.storage.journal_lines import events_at, find_records, page
from treadle.testkit.faults import FaultyDisk

from .doubles import CountedIds, CountingDisk, StillClock

MANY = 20_000


def journal_at(path: Path, disk: Disk | None = None) -> Journal:
    return Journal(path, run_id="run_1", disk=disk or RealDisk(), clock=StillClock(), ids=CountedIds())


def entries(count: int) -> list[Entry]:
    return [Entry(EventType.STATUS_CHANGED, {"status": "calling_model"}) for _ in range(count)]


def plain(path: Path, **asked: int | None) -> list[Event]:
    """The page, from the whole file."""
    data = path.read_bytes() if path.exists() else b""
    records = find_records(data)
    wanted = page(len(records), asked.get("after_seq"), asked.get("before_seq"), asked.get("limit"))
    return events_at(data, records[slice(*wanted)], seq=wanted[0] + 1)


def read_page(path: Path, asked: Mapping[str, int], disk: Disk | None = None) -> list[Event]:
    after_seq, before_seq, limit = (asked.get(name) for name in ("after_seq", "before_seq", "limit"))
    return read_journal(path, after_seq=after_seq, before_seq=before_seq, limit=limit, disk=disk)


def line(seq: int) -> bytes:
    return b'{"seq":%d,"id":"e","runId":"r","timestamp":"t","level":"info","type":"x","payload":null}\n' % seq


def made(path: Path, count: int) -> None:
    """A journal of so many events, and its index."""
    lines = [line(seq) for seq in range(1, count + 1)]
    path.write_bytes(b"".join(lines))
    IndexWriter(path, RealDisk()).keep([0, *accumulate(map(len, lines[:-1]))])


def index_of(path: Path) -> Path:
    return path.parent / "events.index"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


class TestReading:
    @pytest.mark.parametrize(
        "asked",
        [
            {"after_seq": MANY // 2},
            {"after_seq": MANY - 50},
            {"after_seq": MANY},
            {"after_seq": 2 * MANY},
            {"before_seq": MANY // 2},
            {"before_seq": 2 * MANY},
            {"before_seq": MANY, "limit": 500},
        ],
    )
    def test_a_page_costs_little_more_than_its_own_bytes(self, path: Path, asked: dict[str, int]) -> None:
        made(path, MANY)
        disk = CountingDisk()
        found = read_page(path, asked, disk)

        assert found == plain(path, **asked)
        assert disk.read_bytes["events.jsonl"] <= 3 * (1 << 16)
        assert disk.read_bytes["events.index"] <= 2 * WIDTH

    @pytest.mark.slow
    def test_a_page_of_a_million_events_costs_as_little(self, path: Path) -> None:
        made(path, 1_000_000)
        for asked in ({"after_seq": 500_000}, {"before_seq": 500_000}, {"before_seq": 2_000_000}):
            disk = CountingDisk()
            found = read_page(path, asked, disk)

            assert [each.seq for each in found] == list(range(found[0].seq, found[0].seq + 100))
            assert disk.read_bytes.total() <= 3 * (1 << 16)

    def test_an_entry_that_lies_costs_a_longer_scan_and_not_the_file(self, path: Path) -> None:
        made(path, MANY)
        held = bytearray(index_of(path).read_bytes())
        last = MANY // 2 // EVERY
        held[(last - 3) * WIDTH : last * WIDTH] = held[:WIDTH] * 3
        index_of(path).write_bytes(held)
        disk = CountingDisk()

        assert read_page(path, {"after_seq": MANY // 2}, disk) == plain(path, after_seq=MANY // 2)
        assert disk.read_bytes["events.jsonl"] <= 6 * (1 << 16)

    def test_the_last_seq_costs_the_end_of_the_file(self, path: Path) -> None:
        made(path, MANY)
        disk = CountingDisk()

        assert read_last_seq(path, disk=disk) == MANY
        assert disk.read_bytes.total() <= 1 << 12

    @pytest.mark.parametrize(
        ("tail", "last"),
        [(b"", 300), (b"\n\n", 300), (b'{"seq":301,', 300), (line(301).strip(), 301), (line(400).strip(), 300)],
    )
    def test_the_last_seq_is_that_of_the_last_whole_event(self, path: Path, tail: bytes, last: int) -> None:
        made(path, 300)
        path.write_bytes(path.read_bytes() + tail)

        assert read_last_seq(path) == last

    @pytest.mark.parametrize(("data", "last"), [(b"", 0), (b"{", 0), (line(1), 1), (line(1).strip(), 1)])
    def test_a_journal_of_one_line_has_a_last_seq_too(self, path: Path, data: bytes, last: int) -> None:
        path.write_bytes(data)

        assert read_last_seq(path) == last

    def test_a_line_longer_than_any_block_is_read_whole(self, path: Path) -> None:
        journal = journal_at(path)
        journal.append([Entry("x", "y" * 3_000_000) if seq % EVERY in (0, 1) else Entry("x", 1) for seq in range(300)])

        for asked in ({"after_seq": 255, "limit": 3}, {"before_seq": 259, "limit": 3}, {"before_seq": 900}):
            assert read_page(path, asked) == plain(path, **asked)

    def test_a_reader_writes_nothing(self, path: Path) -> None:
        made(path, 300)
        index_of(path).unlink()
        read_journal(path, after_seq=200)

        assert [each.name for each in path.parent.iterdir()] == ["events.jsonl"]


class TestDamage:
    def test_damage_in_the_page_is_named_with_its_line_and_offset(self, path: Path) -> None:
        made(path, 1000)
        data = path.read_bytes()
        at = data.index(b'{"seq":500,')
        path.write_bytes(data[:at] + b"x" + data[at + 1 :])

        with pytest.raises(JournalDamaged, match=f"line 500, byte offset {at}"):
            read_journal(path, after_seq=450)
        with pytest.raises(JournalDamaged, match=f"line 500, byte offset {at}"):
            read_journal(path, before_seq=501, limit=1)
        assert [each.seq for each in read_journal(path, after_seq=500, limit=2)] == [501, 502]
        assert [each.seq for each in read_journal(path, before_seq=500, limit=2)] == [498, 499]

    def test_a_last_line_that_is_no_event_is_damage_of_the_last_page_alone(self, path: Path) -> None:
        made(path, 300)
        path.write_bytes(path.read_bytes() + b"rubbish\n")

        with pytest.raises(JournalDamaged, match="line 301"):
            read_journal(path, before_seq=999)
        with pytest.raises(JournalDamaged, match="line 301"):
            read_journal(path, after_seq=290)
        assert len(read_journal(path, after_seq=100)) == 100

    @pytest.mark.parametrize("last", [1, 299, 999])
    def test_a_last_line_with_another_seq_is_damage_of_the_last_page(self, path: Path, last: int) -> None:
        made(path, 300)
        path.write_bytes(path.read_bytes() + line(last))

        with pytest.raises(JournalDamaged, match="line 301"):
            read_journal(path, before_seq=5000)


class TestWriting:
    def test_an_entry_is_the_offset_of_its_event(self, path: Path) -> None:
        journal = journal_at(path)
        for count in (100, 28, 1, 400):
            journal.append(entries(count))

        data = path.read_bytes()
        held = index_of(path).read_bytes()
        offsets = struct.unpack(f"<{len(held) // WIDTH}Q", held)
        assert [data[offset:].split(b",")[0] for offset in offsets] == [
            b'{"seq":%d' % (number * EVERY + 1) for number in range(1, 5)
        ]

    def test_a_short_journal_has_none(self, path: Path) -> None:
        journal_at(path).append(entries(EVERY))

        assert not index_of(path).exists()

    @pytest.mark.parametrize("left", [None, b"", b"\xff" * 5 * WIDTH, b"\0" * 100 * WIDTH])
    def test_the_next_driver_makes_it_right_with_its_first_event(self, path: Path, left: bytes | None) -> None:
        journal_at(path).append(entries(700))
        sound = index_of(path).read_bytes()
        index_of(path).unlink() if left is None else index_of(path).write_bytes(left)
        journal_at(path).append(entries(1))

        assert index_of(path).read_bytes() == sound

    def test_a_disk_that_refuses_the_index_costs_no_event(self, path: Path) -> None:
        disk = FaultyDisk(RealDisk())
        journal = journal_at(path, disk)
        journal.append(entries(200))
        disk.fail("append", when="events.index", error=errno.ENOSPC, after_bytes=3)
        journal.append(entries(200))
        journal.append(entries(10))

        assert read_journal(path, after_seq=300) == plain(path, after_seq=300)
        assert sum(touch.failed for touch in disk.log) == 1
        disk.heal()
        journal.append(entries(200))
        assert len(index_of(path).read_bytes()) == 4 * WIDTH

    def test_an_append_that_failed_leaves_no_entry(self, path: Path) -> None:
        disk = FaultyDisk(RealDisk())
        journal = journal_at(path, disk)
        disk.fail("append", when="events.jsonl", after_bytes=20_000, times=1)
        with pytest.raises(JournalAppendFailed):
            journal.append(entries(200))

        assert not index_of(path).exists()


STEPS = st.one_of(
    st.tuples(st.just("append"), st.sampled_from([1, 50, 128, 300])),
    st.tuples(st.just("fail"), st.integers(0, 5000)),
    st.tuples(st.just("fail and stay"), st.integers(0, 5000)),
    st.tuples(st.just("tear"), st.integers(0, 600)),
    st.tuples(st.just("unended"), st.just(0)),
    st.tuples(st.just("keep a backup"), st.just(0)),
    st.tuples(st.just("restore it"), st.just(0)),
    st.tuples(st.just("lose the index"), st.just(0)),
    st.tuples(st.just("cut the index"), st.integers(0, 60)),
    st.tuples(st.just("lengthen the index"), st.integers(0, 40_000)),
    st.tuples(st.just("lie"), st.integers(0, 2**64 - 1)),
    st.tuples(st.just("lie about lines"), st.integers(0, 20)),
)


class Fortunes:
    """A journal to which things happen."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.jsonl"
        self.backup = folder / "backup"
        self.index = index_of(self.path)
        self.disk = FaultyDisk(RealDisk())
        self.journal = journal_at(self.path, self.disk)

    def happen(self, what: str, much: int) -> None:
        match what:
            case "append":
                self.journal.append(entries(much))
            case "fail" | "fail and stay":
                self._fail(much, stay=what != "fail")
            case "tear":
                data = self._data()
                self._found(data[: max(len(data) - much, 0)])
            case "unended":
                self._found(self._data().rstrip(b"\n"))
            case "keep a backup":
                self.backup.write_bytes(self._data())
            case "restore it":
                if self.backup.exists():
                    shutil.copy(self.backup, self.path)
                    self.journal = journal_at(self.path, self.disk)
            case _:
                self._spoil(what, much, self.index.read_bytes() if self.index.exists() else b"")

    def _spoil(self, what: str, much: int, held: bytes) -> None:
        match what:
            case "lose the index":
                self.index.unlink(missing_ok=True)
            case "cut the index":
                self.index.write_bytes(held[:much])
            case "lengthen the index":
                self.index.write_bytes(held + struct.pack("<Q", much))
            case "lie":
                self.index.write_bytes(struct.pack("<Q", much) * 8)
            case _:
                starts = [start for start, _ in find_records(self._data())][much::7]
                self.index.write_bytes(struct.pack(f"<{len(starts)}Q", *starts))

    def _fail(self, much: int, *, stay: bool) -> None:
        self.disk.fail("append", when="events.jsonl", after_bytes=much, times=1)
        if stay:
            self.disk.fail("truncate", times=1)
        with pytest.raises(JournalAppendFailed):
            self.journal.append(entries(20))
        self.disk.heal()

    def _data(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    def _found(self, data: bytes) -> None:
        """A crash left this; another process finds it."""
        self.path.write_bytes(data)
        self.journal = journal_at(self.path, self.disk)


PLACES = st.integers(-2, 1500)


@settings(max_examples=25)
@given(
    steps=st.lists(STEPS, max_size=8),
    pages=st.lists(st.tuples(st.booleans(), PLACES, st.sampled_from([1, 3, 100, 500])), min_size=3, max_size=6),
)
def test_whatever_happens_a_page_is_what_the_whole_file_says(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], pages: list[tuple[bool, int, int]]
) -> None:
    fortunes = Fortunes(tmp_path_factory.mktemp("fortunes"))
    for what, much in [("append", 300), *steps]:
        fortunes.happen(what, much)
        for backwards, place, limit in pages:
            asked = {"before_seq" if backwards else "after_seq": place, "limit": limit}
            assert read_page(fortunes.path, asked) == plain(fortunes.path, **asked)
        assert read_last_seq(fortunes.path) == len(find_records(fortunes.path.read_bytes()))
    fortunes.happen("append", 1)  # what a failed append left is cut off
    assert fortunes.journal.read_all()[-500:] == plain(fortunes.path, before_seq=10**9, limit=500)
