"""The bytes of a journal: where its records stand, which of them are on a page, and the events they hold. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from ..graph.errors import JournalDamaged
from ..graph.events import Event, event
from ..graph.jsontext import loads

DEFAULT_LIMIT = 100
MAX_LIMIT = 500


class _Line(msgspec.Struct, rename={"run_id": "runId"}, gc=False):
    """A line whose fields are of their kinds, read in one go; any other is looked at field by field."""

    seq: int
    id: str
    run_id: str
    timestamp: str
    level: str
    type: str
    payload: Any = None


_LINE = msgspec.json.Decoder(_Line)


def find_records(data: bytes) -> list[tuple[int, int]]:
    """Start and end of each record; a torn one at the end is left out, a whole one without its newline is not."""
    records: list[tuple[int, int]] = []
    start = 0
    *lines, tail = data.split(b"\n")
    for line in lines:
        end = start + len(line) + 1
        if line:
            records.append((start, end))
        start = end
    if event_of(tail, len(records) + 1) is not None:
        records.append((start, len(data)))
    return records


def event_of(line: bytes, seq: int | None = None) -> Event | None:
    """The event of a line, or None where the line is not the event with this seq (or, without one, no event)."""
    try:
        read = _LINE.decode(line)
        if seq is None or read.seq == seq:
            return Event(read.seq, read.id, read.run_id, read.timestamp, read.level, read.type, read.payload)
        return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass  # a lone surrogate, perhaps
    try:
        found = event(loads(line))
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return found if type(found.seq) is int and seq in (None, found.seq) else None


def events_at(
    data: bytes, spans: list[tuple[int, int]], *, seq: int = 1, line: int = 1, offset: int = 0
) -> list[Event]:
    """The events at `spans`, the first of which has `seq`; `line` and `offset` are those of the start of `data`."""
    found: list[Event] = []
    for expected, (start, end) in enumerate(spans, start=seq):
        parsed = event_of(data[start:end], expected)
        if parsed is None:
            number = data.count(b"\n", 0, start) + line
            raise JournalDamaged(
                f"the journal is damaged at line {number}, byte offset {offset + start}: not the event with seq {expected}",
                details={"line": number, "offset": offset + start, "expectedSeq": expected},
            )
        found.append(parsed)
    return found


def page(count: int, after_seq: int | None, before_seq: int | None, limit: int | None) -> tuple[int, int]:
    """Indexes, from and to (exclusive), of the records on the page."""
    size = page_size(limit)
    if before_seq is not None:
        last = min(max(before_seq - 1, 0), count)
        return max(last - size, 0), last
    first = min(max(after_seq or 0, 0), count)
    return first, min(first + size, count)


def page_size(limit: int | None) -> int:
    return min(max(DEFAULT_LIMIT if limit is None else limit, 1), MAX_LIMIT)
