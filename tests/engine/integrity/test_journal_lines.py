"""Each damaged place of a journal is located, by its line and byte offset, with what stands there."""

from __future__ import annotations

import pytest

from treadle.engine.integrity.journal_lines import Scan, scan
from treadle.graph.events import Event
from treadle.graph.jsontext import dumps

RUN = "run_1"


def line(seq: int, *, run: str = RUN, type: str = "status_changed", id: int | None = None) -> bytes:
    event = Event(seq, f"evt_{id or seq:032x}", run, "2026-01-01T00:00:00.000Z", "info", type, {"status": "finishing"})
    return dumps(event.to_json()) + b"\n"


LINES = [line(seq) for seq in range(1, 7)]


def told(found: Scan) -> list[tuple[int | None, int | None, str]]:
    return [(each.line, each.offset, each.found) for each in found.findings if each.is_fault]


def test_a_whole_journal_has_no_damage() -> None:
    found = scan(b"".join(LINES), RUN)

    assert found.findings == []
    assert [(each.number, each.event.seq) for each in found.lines] == [(n, n) for n in range(1, 7)]
    assert [each.offset for each in found.lines] == [n * len(LINES[0]) for n in range(6)]


@pytest.mark.parametrize(
    ("place", "what"),
    [
        (b"\x00\x07\x00\n", "binary: control characters"),
        (b"\xff\xfe{}\n", "binary: not UTF-8 text"),
        (b"not an event\n", "text that is not JSON"),
        (b"[1]\n", "JSON, but not an object"),
        (b'{"seq":3}\n', "a JSON object that is no event"),
        (LINES[2][:-1] + LINES[3], "two events in one line"),
        (LINES[2].replace(b'"payload"', b'"payloae"'), "an object with other keys than an event's: payload, payloae"),
        (LINES[2].replace(b'"seq":3', b'"seq":"3"'), "an event whose fields are of other types"),
        (b"[" * 100_000 + b"\n", "text that is not JSON"),
    ],
)
def test_what_stands_in_the_place_of_an_event_is_told(place: bytes, what: str) -> None:
    found = scan(b"".join([*LINES[:2], place, *LINES[4:]]), RUN)

    assert told(found)[0] == (3, 2 * len(LINES[0]), what)
    assert told(found)[1][2] == "event 5 (status_changed) follows a gap: 2 missing, from seq 3"
    assert len(told(found)) == 2


def test_every_damaged_place_is_told_not_the_first_alone() -> None:
    other = line(5, run="run_2")
    pieces = [LINES[0], LINES[0], b"\x01\n", LINES[3], other, LINES[4], b'{"seq":6,"i']

    found = told(scan(b"".join(pieces), RUN))

    size = len(LINES[0])
    assert found == [
        (2, size, "event 1 (status_changed) is there already: a duplicated line"),
        (3, 2 * size, "binary: control characters"),
        (4, 2 * size + 2, "event 4 (status_changed) follows a gap: 2 missing, from seq 2"),
        (5, 3 * size + 2, "event 5 (status_changed) is another run's: 'run_2'"),
        (7, 5 * size + 2, "a torn tail of 11 bytes: the last line was not written to its end"),
    ]


def test_an_event_that_comes_too_late_is_told_apart_from_one_that_stands_there_twice() -> None:
    late = line(1, id=99)

    assert told(scan(LINES[0] + LINES[1] + late, RUN))[0][2] == "event 1 (status_changed) comes too late"


def test_a_torn_tail_of_a_journal_that_grows_is_none() -> None:
    data = LINES[0] + LINES[1][:20]

    assert told(scan(data, RUN, growing=True)) == []
    assert told(scan(data, RUN)) == [
        (2, len(LINES[0]), "a torn tail of 20 bytes: the last line was not written to its end")
    ]


def test_windows_line_ends_are_told_once_with_their_number() -> None:
    data = b"".join(LINES).replace(b"\n", b"\r\n")

    found = scan(data, RUN)

    assert told(found) == [(1, 0, "CRLF at the end of 6 lines, this the first")]
    assert len(found.lines) == 6


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        (b'"id":"evt_', b'"id":"evd_', "$.id"),
        (b'"info"', b'"infp"', "$.level"),
        (b"T00:00:00.000Z", b"T00:00:00.000z", "$.timestamp"),
        (b'"status_changed"', b'"status_chbnged"', "$.type"),
    ],
)
def test_a_field_of_the_envelope_that_can_not_be_is_told_by_its_place(before: bytes, after: bytes, path: str) -> None:
    found = scan(LINES[0] + LINES[1].replace(before, after), RUN)

    assert [(each.line, each.path) for each in found.findings] == [(2, path)]


def test_two_events_of_one_id_are_told() -> None:
    assert told(scan(LINES[0] + line(2, id=1), RUN))[0][2].startswith("event 2 (status_changed) has the id of another")


def test_what_loses_nothing_is_a_note() -> None:
    found = scan(LINES[0] + b"\n" + LINES[1][:-1], RUN)

    assert [(each.line, each.offset, each.is_fault) for each in found.findings] == [
        (2, len(LINES[0]), False),
        (3, len(LINES[0]) + 1, False),
    ]
    assert len(found.lines) == 2
