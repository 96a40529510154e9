"""The files that the journal names are there and say what it says; what no event explains is told."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

from ...graph.errors import InvalidData, NotFound, TreadleError
from ...graph.events import EventType
from ...graph.jsontext import Json, is_object
from ...graph.messages import tool_result
from ...graph.paths import ROOTS
from ...storage.checkpoints import FOLDER as CHECKPOINTS
from ...storage.disk import is_temporary
from ...storage.runs import DATABASE, EVENTS, MANIFEST, MCP_LOGS, body_path
from .evidence import RECORD, Evidence
from .journal_lines import Line
from .report import Finding

_LOST = "put the file back from a copy; a run that needs it again can't go on without it"
_LEFTOVER = "a crash may have left it; it is in nobody's way"
_OWN = frozenset({RECORD, EVENTS, MANIFEST, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"})
_KNOWN = re.compile(
    rf"input/[a-z_]+\.json|{MCP_LOGS}/.+|wire/(?:round-\d{{3,}}-\d+\.json|fragments/[0-9a-f]{{64}})|{CHECKPOINTS}/.+|events\..+"
)
"""Files that are no event's, and the checkpoints, which have a check of their own."""

_REFERENCES: tuple[tuple[EventType, str], ...] = (
    (EventType.MODEL_RESPONSE_STORED, "path"),
    (EventType.MODEL_COMPLETED, "modelResponsePath"),
    (EventType.TOOL_CALL_REQUESTED, "argumentsRef"),
    (EventType.TOOL_CALL_APPROVED, "editedArgumentsRef"),
    (EventType.TOOL_RESULT_STORED, "path"),
)


def files(evidence: Evidence) -> Generator[Finding]:
    if evidence.is_slim:
        return
    named = yield from _named(evidence)
    yield from _results(evidence)
    if not evidence.under_way:
        yield from _unexplained(evidence, named)


def _named(evidence: Evidence) -> Generator[Finding, None, set[str]]:
    """Every path that an event names, and the bodies beside the answers."""
    named: set[str] = set()
    for event_type, key in _REFERENCES:
        for line in evidence.of(event_type):
            path = line.event.payload.get(key)
            if path is None or path in named:
                continue
            named.add(path)
            fault = _unreadable(evidence, path)
            if fault:
                yield Finding(path, f"the JSON that event {line.event.seq} ({line.event.type}) names", fault, _LOST)
    for line in evidence.of(EventType.MODEL_RESPONSE_STORED):
        body = body_path(line.event.payload["round"])
        named.add(body)
        if not evidence.has(body):
            yield Finding(body, f"the answer's bytes, as event {line.event.seq} tells", "there is no such file", _LOST)
    return named


def _unreadable(evidence: Evidence, path: str) -> str | None:
    parts = Path(path).parts
    if not parts or Path(path).is_absolute() or ".." in parts:
        return "a path that leaves the run's folder"
    try:
        evidence.read_json(path)
    except TreadleError as error:
        return error.message
    except ValueError:
        return "a path that can't be one"
    return None


def _results(evidence: Evidence) -> Generator[Finding]:
    """A result is its call's, and the event that ended the call says the same of it."""
    stored = {_call(line): line for line in evidence.of(EventType.TOOL_RESULT_STORED)}
    for line in evidence.of(EventType.TOOL_CALL_COMPLETED, EventType.TOOL_CALL_FAILED):
        told: Json = line.event.payload
        of = stored.get(_call(line))
        if of is None or "isError" not in told:
            continue
        path: str = of.event.payload["path"]
        try:
            result = tool_result(evidence.read_json(path))
        except (NotFound, InvalidData):
            continue  # told already
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            yield Finding(path, "a tool's result", f"none: {error!r}", _LOST)
            continue
        rows: tuple[tuple[str, Json, Json], ...] = (
            ("$.callId", told["callId"], result.call_id),
            ("$.name", told["name"], result.name),
            ("$.isError", told["isError"], result.is_error),
            ("$.errorCode", told.get("errorCode"), result.error_code),
            ("$.resourceRefs", told.get("resourceRefs"), list(result.resource_refs)),
            ("$.content", told.get("message"), result.content if result.is_error else None),
        )
        for place, expected, found in rows:
            if expected != found:
                yield Finding(path, f"{expected!r}, as event {line.event.seq} tells", repr(found), _LOST, path=place)
        yield from _change(evidence, line, path, result.structured)


def _change(evidence: Evidence, line: Line, path: str, structured: Json) -> Generator[Finding]:
    """What the result of a change says of the file is what the event of the change says."""
    for change in evidence.of(EventType.WORKSPACE_FILE_WRITTEN, EventType.WORKSPACE_PATCH_APPLIED):
        if _call(change) == _call(line):
            told = {key: value for key, value in change.event.payload.items() if key not in ("round", "callId")}
            if not is_object(structured) or structured != told:
                yield Finding(
                    path,
                    f"what event {change.event.seq} tells of the change",
                    "other words",
                    _LOST,
                    path="$.structured",
                )


def _call(line: Line) -> tuple[Json, Json]:
    return line.event.payload.get("round"), line.event.payload.get("callId")


def _unexplained(evidence: Evidence, named: set[str]) -> Generator[Finding]:
    for file in sorted(evidence.folder.rglob("*")):
        path = file.relative_to(evidence.folder).as_posix()
        if file.is_dir() or (path.split("/")[0] in ROOTS and not is_temporary(path)):
            continue
        if is_temporary(path):
            remedy = "a write that a crash cut off; treadle doctor --repair takes it away"
            yield Finding(path, "no temporary file while nobody drives the run", "one", remedy, is_fault=False)
        elif path not in _OWN and path not in named and not _KNOWN.fullmatch(path):
            yield Finding(path, "an event that names it", "none does", _LEFTOVER, is_fault=False)
