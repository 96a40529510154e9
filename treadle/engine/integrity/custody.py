"""The answers of the model: the bytes are those that were received, and all that is kept of them is what they decode to."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from ...gateway import provider_state
from ...graph.errors import TreadleError
from ...graph.events import EventType
from ...graph.jsontext import Json, dumps, is_object, loads
from ...graph.text import sha256_bytes
from ...nodes import equipment
from ...nodes.attempt import response_document
from ...nodes.conversation import Turn
from ...nodes.deps import Equipment, Run
from ...nodes.rounds import stored_turn
from ...storage.checkpoints import CheckpointStore
from ...storage.database import RunDatabase
from ...storage.folder import RunFolder
from ...storage.journal import Journal
from ...storage.runs import DATABASE, EVENTS, RunRecord, body_path, response_path
from ...storage.workspace import FolderWorkspace
from .evidence import Evidence
from .journal_lines import Line
from .report import Finding

_COPY = "put the file back from a copy; until then the run can't send this answer on"


def custody(evidence: Evidence) -> Generator[Finding]:
    answered = list(evidence.of(EventType.MODEL_RESPONSE_STORED))
    if evidence.is_slim or not answered:
        return
    record = evidence.record
    if not isinstance(record, RunRecord):
        yield Finding("run.json", "a record, to read the answers by", record.message, "see the check record")
        return
    run = _for_reading(evidence, record)
    if isinstance(run.equipment, TreadleError):
        yield from _bodies_alone(evidence, answered)
        remedy = "mend what is named, or give the engine the connection; then verify again"
        yield Finding("input", "what the run was equipped with, to decode its answers", run.equipment.message, remedy)
        return
    for line in answered:
        yield from _round(evidence, run, line)


def _for_reading(evidence: Evidence, record: RunRecord) -> Run:
    """The run's objects without its lease: nothing can be changed through them."""
    services, path = evidence.services, evidence.folder
    folder = RunFolder(
        record,
        store=services.store,
        disk=services.disk,
        journal=Journal(path / EVENTS, run_id=record.id, disk=services.disk, clock=services.clock, ids=services.ids),
        database=RunDatabase(path / DATABASE, clock=services.clock),
        clock=services.clock,
        holder=services.holder,
        epoch=0,
    )
    folder.path = path
    return Run(
        folder=folder,
        chat_folder=path.parent.parent,
        gateway=services.gateway,
        workspace=FolderWorkspace(path, services.disk),
        checkpoints=CheckpointStore(path, record.id, services.disk, services.clock),
        equipment=_equipment(evidence, folder),
        ask=_nobody,
    )


def _equipment(evidence: Evidence, folder: RunFolder) -> Equipment | TreadleError:
    try:
        return equipment.load(folder, evidence.services.gateway)
    except TreadleError as error:
        return error


async def _nobody(kind: str, payload: dict[str, Json]) -> dict[str, Json]:
    raise AssertionError(f"a run that is only read asks for nothing: {kind}, {payload}")


def _bodies_alone(evidence: Evidence, answered: list[Line]) -> Generator[Finding]:
    """Without a connection the bytes can still be held against the hash that was taken of them."""
    for line in answered:
        number = line.event.payload["round"]
        try:
            stored = evidence.read_json(response_path(number))
            now = sha256_bytes(evidence.read(body_path(number)))
        except TreadleError:
            continue  # the check of the files tells it
        response: Json = stored.get("response") if is_object(stored) else None
        kept = response.get("rawSha256") if is_object(response) else None
        if kept != now:
            yield Finding(body_path(number), f"bytes of sha256 {kept}", f"sha256 {now}", _COPY)


def _round(evidence: Evidence, run: Run, line: Line) -> Generator[Finding]:
    number: int = line.event.payload["round"]
    path = response_path(number)
    if line.event.payload["path"] != path:
        yield line.finding(path, f"names {line.event.payload['path']}", path="$.payload.path")
    try:
        turn = stored_turn(run, number)
        stored = evidence.read_json(path)
        body = evidence.read(body_path(number))
    except TreadleError as error:
        yield Finding(
            body_path(number), f"the bytes of the answer of round {number}, as received", error.message, _COPY
        )
        return
    made = loads(dumps(response_document(number, turn, sha256_bytes(body))))
    for place in _differences(made, stored):
        yield Finding(path, "what the stored bytes decode to", "something else", _COPY, path=place)
    yield from _told(evidence, number, turn, line)
    yield from _calls(evidence, number, turn)


def _differences(made: Json, stored: Json, place: str = "$") -> Generator[str]:
    """The deepest objects' members that are not the same."""
    if is_object(made) and is_object(stored):
        for key in sorted({*made, *stored}):
            yield from _differences(made.get(key, ...), stored.get(key, ...), f"{place}.{key}")
    elif made != stored or type(made) is not type(stored):
        yield place


def _told(evidence: Evidence, number: int, turn: Turn, stored: Line) -> Generator[Finding]:
    """What the events tell of an answer is what it holds."""
    answer = turn.answer
    rows: tuple[tuple[EventType, Mapping[str, Json]], ...] = (
        (EventType.MODEL_RESPONSE_STORED, {"responseId": answer.id, "model": answer.model}),
        (EventType.PROVIDER_STATE_UPDATED, {"providerState": provider_state.told(turn.provider_state)}),
        (
            EventType.MODEL_COMPLETED,
            {"modelResponsePath": response_path(number), "toolCallCount": len(answer.tool_calls)},
        ),
    )
    for event_type, held in rows:
        for line in evidence.of(event_type):
            for key in held if line.event.payload["round"] == number else ():
                if line.event.payload.get(key) != held[key]:
                    yield line.finding(
                        f"{held[key]!r}, as the answer holds it", "tells another", path=f"$.payload.{key}"
                    )


def _calls(evidence: Evidence, number: int, turn: Turn) -> Generator[Finding]:
    """The calls that were requested are the answer's, in its order, with its arguments."""
    calls = turn.answer.tool_calls
    asked = [line for line in evidence.of(EventType.TOOL_CALL_REQUESTED) if line.event.payload["round"] == number]
    for position, line in enumerate(asked):
        told: Json = line.event.payload
        call = calls[position] if position < len(calls) else None
        if call is None or (call.id, call.name) != (told["callId"], told["name"]):
            expected = "no call more" if call is None else f"call {call.id} of {call.name}"
            yield line.finding(f"{expected}, as the answer has it", f"is call {told['callId']} of {told['name']}")
            continue
        try:
            kept = evidence.read_json(told["argumentsRef"])
        except TreadleError:
            continue  # the check of the files tells it
        if dumps(kept) != dumps(call.arguments):
            yield Finding(told["argumentsRef"], f"the arguments of call {call.id} in the answer", "others", _COPY)
        if told.get("providerMetadata") != call.metadata:
            yield line.finding("what the answer holds of the call", "tells another", path="$.payload.providerMetadata")
