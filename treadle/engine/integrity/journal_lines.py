"""The lines of a journal one by one: which are events, and what stands in the place of those that are none. Pure."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, field

from ...graph.events import Event, EventType, Level, event
from ...graph.jsontext import is_object, loads
from ...storage.runs import EVENTS
from .report import Finding

_KEYS = {"seq", "id", "runId", "timestamp", "level", "type", "payload"}
_ID = re.compile(r"evt_[0-9a-f]{32}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_LEVELS, _TYPES = frozenset(map(str, Level)), frozenset(map(str, EventType))
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_END = "the next driver cuts it off: treadle resume RUN; after the run's end nobody reads it"
_MEND = "the line can't be made again; put the journal back from a copy, or keep the run as evidence"


@dataclass(frozen=True, slots=True)
class Line:
    """An event, and where it stands."""

    event: Event
    number: int
    """From 1."""
    offset: int
    """In bytes."""

    def finding(self, expected: str, found: str, remedy: str = _MEND, path: str | None = None) -> Finding:
        named = f"event {self.event.seq} ({self.event.type}) {found}"
        return Finding(EVENTS, expected, named, remedy, self.number, self.offset, path)


@dataclass(slots=True)
class Scan:
    """What a journal's bytes hold."""

    lines: list[Line] = field(default_factory=list[Line])
    """The run's own events in the order of the file, without those that stand there twice."""
    findings: list[Finding] = field(default_factory=list[Finding])


def scan(data: bytes, run_id: str, *, growing: bool = False) -> Scan:
    """Every damaged place, not the first alone. `growing`: a last line that is not whole yet is none of them."""
    found = Scan()
    hashes: dict[int, int] = {}
    ids: set[str] = set()
    expected = 1
    for number, offset, raw, ended in _raw_lines(data):
        if not ended and growing:
            break
        parsed = _event_in(raw)
        if isinstance(parsed, str):
            found.findings.append(
                _damage(number, offset, parsed if ended else _torn(raw), _END if not ended else _MEND)
            )
            continue
        line = Line(parsed, number, offset)
        if parsed.run_id != run_id:
            found.findings.append(line.finding(f"an event of run {run_id}", f"is another run's: {parsed.run_id!r}"))
            continue
        if parsed.seq < expected:
            again = "is there already: a duplicated line" if hashes.get(parsed.seq) == hash(raw) else "comes too late"
            found.findings.append(line.finding(f"the event with seq {expected}", again))
            continue
        if parsed.seq > expected:
            lost = f"follows a gap: {parsed.seq - expected} missing, from seq {expected}"
            found.findings.append(line.finding(f"the event with seq {expected}", lost))
        expected = parsed.seq + 1
        hashes[parsed.seq] = hash(raw)
        found.findings += _envelope(line, ids)
        found.lines.append(line)
    found.findings += _line_ends(data, growing=growing)
    return found


def _raw_lines(data: bytes) -> Generator[tuple[int, int, bytes, bool]]:
    """Number, byte offset, bytes and whether a newline follows, of each line that is not blank."""
    offset = 0
    for number, raw in enumerate(data.split(b"\n"), start=1):
        end = offset + len(raw)
        if raw.strip(b"\r"):
            yield number, offset, raw, end < len(data)
        offset = end + 1


def _event_in(raw: bytes) -> Event | str:
    """The event of a line, or what stands there instead."""
    try:
        stored = loads(raw)
        if not is_object(stored):
            return "JSON, but not an object"
        odd = sorted(set(stored) ^ _KEYS)
        found = event(stored)
    except (KeyError, TypeError):
        return "a JSON object that is no event"
    except (ValueError, RecursionError):
        return _what(raw)
    if odd:
        return f"an object with other keys than an event's: {', '.join(odd)}"
    texts = (found.id, found.run_id, found.timestamp, found.level, found.type)
    if type(found.seq) is not int or not are_texts(*texts):
        return "an event whose fields are of other types"
    return found


def are_texts(*values: object) -> bool:
    """Whether they are what records that were read back promise of them unseen."""
    return all(isinstance(value, str) for value in values)


def _what(raw: bytes) -> str:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "binary: not UTF-8 text"
    if _CONTROL.search(raw.rstrip(b"\r")):
        return "binary: control characters"
    return "two events in one line" if b'}{"seq":' in raw else "text that is not JSON"


def _torn(raw: bytes) -> str:
    return f"a torn tail of {len(raw)} bytes: the last line was not written to its end"


def _damage(number: int, offset: int, what: str, remedy: str) -> Finding:
    return Finding(EVENTS, "an event of the run, a JSON object in one line", what, remedy, number, offset)


def _envelope(line: Line, ids: set[str]) -> Generator[Finding]:
    event = line.event
    if event.id in ids:
        yield line.finding("an id that no other event has", f"has the id of another: {event.id!r}", path="$.id")
    ids.add(event.id)
    if not _ID.fullmatch(event.id):
        yield line.finding("evt_ and 32 hex digits", f"has the id {event.id!r}", path="$.id")
    if not _TIME.fullmatch(event.timestamp):
        yield line.finding("a time such as 2026-01-01T00:00:00.000Z", f"has {event.timestamp!r}", path="$.timestamp")
    if event.level not in _LEVELS:
        yield line.finding("debug, info, warn or error", f"has {event.level!r}", path="$.level")
    if event.type not in _TYPES:
        newer = "if a newer Treadle wrote it, use that one; else the line is damaged"
        yield line.finding("a type that this Treadle knows", "has another", newer, path="$.type")


def _line_ends(data: bytes, *, growing: bool) -> Generator[Finding]:
    carried = data.count(b"\r\n")
    if carried:
        at = data.index(b"\r\n")
        number = data.count(b"\n", 0, at) + 1
        remedy = "something rewrote the file with Windows line ends; turn CRLF into LF again"
        yield _damage(
            number, data.rfind(b"\n", 0, at) + 1, f"CRLF at the end of {carried} lines, this the first", remedy
        )
    if data.startswith(b"\n") or b"\n\n" in data:
        at = 0 if data.startswith(b"\n") else data.index(b"\n\n") + 1
        what, remedy = "a blank line, which readers pass over", "nothing is lost; leave it"
        yield Finding(EVENTS, "no blank line", what, remedy, data.count(b"\n", 0, at) + 1, at, is_fault=False)
    if data and not data.endswith(b"\n") and not growing and not isinstance(_event_in(data.rpartition(b"\n")[2]), str):
        at = data.rfind(b"\n") + 1
        what, remedy = "an event without it, whole otherwise", "nothing is lost; the next event is written after one"
        yield Finding(EVENTS, "a newline after the last event", what, remedy, data.count(b"\n") + 1, at, is_fault=False)
