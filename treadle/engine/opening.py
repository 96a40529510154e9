"""A run's live objects, made from its folder: for a run just begun, and for one that a crash left behind. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ..graph.errors import InvalidData, TreadleError
from ..graph.events import Event, EventType
from ..graph.jsontext import Json
from ..graph.messages import tool_result
from ..graph.ports import Ask
from ..graph.status import RunStatus
from ..nodes import equipment
from ..nodes.deps import Equipment, Run
from ..storage.checkpoints import CheckpointStore
from ..storage.database import RunDatabase
from ..storage.folder import RunFolder
from ..storage.journal import Journal
from ..storage.runs import DATABASE, EVENTS, RunRecord
from ..storage.workspace import FolderWorkspace
from .services import Services

AskFor = Callable[[Run], Ask]
"""How a run waits for answers from outside."""

_ABOUT_RESUMES = frozenset({EventType.RUN_RESUMED, EventType.JOURNAL_TAIL_REPAIRED})


def open_run(services: Services, record: RunRecord, ask_for: AskFor) -> Run:
    """Take the run's lease and make its live objects; raises RunBusy, JournalDamaged."""
    folder = _folder(services, record)
    try:
        folder.journal.open()
        run = _run(services, folder, ask_for)
        _replay(run, folder.journal.read_all())
    except BaseException:
        folder.close()
        raise
    return run


def _folder(services: Services, record: RunRecord) -> RunFolder:
    """The lease first: whoever had it may still have been writing when the record was read."""
    path = services.store.folder(record)
    database = RunDatabase(path / DATABASE, clock=services.clock)
    epoch = database.acquire(services.holder)
    try:
        newest = services.store.load(record.id)
    except BaseException:
        database.release(services.holder, epoch)
        database.close()
        raise
    return RunFolder(
        newest,
        store=services.store,
        disk=services.disk,
        journal=Journal(path / EVENTS, run_id=record.id, disk=services.disk, clock=services.clock, ids=services.ids),
        database=database,
        clock=services.clock,
        holder=services.holder,
        epoch=epoch,
    )


def _run(services: Services, folder: RunFolder, ask_for: AskFor) -> Run:
    record, path = folder.record, folder.path
    run = Run(
        folder=folder,
        chat_folder=services.store.chat_folder(record.workspace_id),
        gateway=services.gateway,
        workspace=FolderWorkspace(path, services.disk),
        checkpoints=CheckpointStore(path, record.id, services.disk, services.clock),
        equipment=_equipment(services, folder),
        ask=_nobody,
    )
    run.ask = ask_for(run)
    return run


def _equipment(services: Services, folder: RunFolder) -> Equipment | TreadleError:
    try:
        return equipment.load(folder, services.gateway)
    except TreadleError as error:
        return error


def _replay(run: Run, events: Iterable[Event]) -> None:
    """What the run's memory held, from what its journal and its files hold."""
    kept: dict[str, str] = {}
    touched = ""
    arguments: dict[tuple[int, str], str] = {}
    before: dict[tuple[int, str], str | None] = {}
    statuses, last = [RunStatus.CREATED], ""
    for event in events:
        run.folder.ledger.add((event,))
        told: Json = event.payload
        last = last if event.type in _ABOUT_RESUMES else event.type
        try:
            match event.type:
                case EventType.STATUS_CHANGED:
                    statuses.append(RunStatus(told["status"]))
                case EventType.RUN_CANCEL_REQUESTED:
                    run.cancel.raise_()
                case EventType.TOOL_CALL_REQUESTED:
                    run.first_rounds.setdefault(told["callId"], told["round"])
                    arguments[told["round"], told["callId"]] = told["argumentsRef"]
                case EventType.TOOL_CALL_STARTED:
                    before[told["round"], told["callId"]] = _effect(told).get("preSha256")
                case EventType.TOOL_RESULT_STORED:
                    call = (told["round"], told["callId"])
                    _observe(run, arguments[call], told["path"], before.get(call))
                case EventType.WORKSPACE_FILE_WRITTEN | EventType.WORKSPACE_PATCH_APPLIED:
                    touched = told["path"]
                case EventType.CHECKPOINT_CREATED if touched:
                    kept[touched], touched = told["checkpointId"], ""
                case EventType.CONTEXT_TOOL_RESULT_HYDRATED:
                    run.hydrated_from[told["round"], told["callId"]] = kept[told["path"]]
                case EventType.DRIFT_RECOVERY_ATTEMPTED:
                    run.drift_commits[told["round"]] = told["committedCount"]
                case EventType.CHAT_COMMIT_RECORDED:
                    run.commits.append((told["commitId"], told["messageId"]))
                case _:
                    pass
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidData(
                f"event {event.seq} ({event.type}) of {EVENTS} does not hold what such an event tells: {error!r}"
            ) from error
    if run.folder.record.status.is_terminal:
        return
    ended = run.folder.journal_end
    if ended is not None:  # a crash came between the terminal event and the record
        run.folder.set_status_only(ended)
    else:
        _stand_where_the_journal_stands(run.folder, statuses, last)


def _stand_where_the_journal_stands(folder: RunFolder, statuses: list[RunStatus], last: str) -> None:
    """The record is saved before its event is written, so after a crash it may be one status ahead."""
    reached = next(status for status in reversed(statuses) if not status.is_terminal)
    folder.record = replace(folder.record, status=reached)
    folder.told = statuses[-1] if last == EventType.STATUS_CHANGED else None


def _effect(started: dict[str, Json]) -> dict[str, Json]:
    return started.get("effect") or {}


def _observe(run: Run, arguments: str, stored: str, pre_sha256: str | None) -> None:
    try:
        result = tool_result(run.folder.read_json(stored))
    except (KeyError, TypeError) as error:
        raise InvalidData(f"{stored} is not a tool result: {error}") from error
    run.reads.observe(run.folder.read_json(arguments), result, pre_sha256)


async def _nobody(kind: str, payload: dict[str, Json]) -> dict[str, Json]:
    raise AssertionError(f"no answer to {kind} can come before the run is open: {payload}")
