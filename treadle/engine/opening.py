"""A run's live objects, made from its folder: for a run just begun, and for one that a crash left behind. Blocking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..graph.errors import InvalidData, TreadleError
from ..graph.events import REWINDS, Event, EventType
from ..graph.jsontext import Json
from ..graph.ports import Ask, ReadableHost
from ..graph.status import RunStatus
from ..nodes import equipment
from ..nodes.deps import Equipment, Run
from ..nodes.reads import PATCH
from ..nodes.rounds import stored_result
from ..nodes.wire_log import WireLog
from ..storage.checkpoints import CheckpointStore
from ..storage.database import RunDatabase
from ..storage.folder import RunFolder
from ..storage.journal import Journal
from ..storage.restoring import finish
from ..storage.runs import DATABASE, EVENTS, MCP_LOGS, RunRecord, check_whole
from ..storage.workspace import FolderWorkspace
from .services import Services

AskFor = Callable[[Run], Ask]
"""How a run waits for answers from outside."""

_REMEMBERED = frozenset(
    {
        EventType.STATUS_CHANGED,
        EventType.RUN_CANCEL_REQUESTED,
        EventType.TOOL_CALL_REQUESTED,
        EventType.TOOL_CALL_APPROVED,
        EventType.TOOL_CALL_STARTED,
        EventType.TOOL_RESULT_STORED,
        EventType.WORKSPACE_FILE_WRITTEN,
        EventType.WORKSPACE_PATCH_APPLIED,
        EventType.CHECKPOINT_CREATED,
        EventType.CONTEXT_TOOL_RESULT_HYDRATED,
        EventType.DRIFT_RECOVERY_ATTEMPTED,
        EventType.CHAT_COMMIT_RECORDED,
        EventType.MODEL_REQUEST_CREATED,
        EventType.RUN_FORKED,
        *REWINDS,
    }
)
"""The others need not be looked into when a run is opened."""
_ABOUT_RESUMES = REWINDS | {EventType.RUN_RESUMED, EventType.JOURNAL_TAIL_REPAIRED}
"""What says nothing of how far the run itself has come."""


def open_run(services: Services, record: RunRecord, ask_for: AskFor) -> Run:
    """Take the run's lease and make its live objects; a rollback that a crash interrupted is carried to its end.

    Raises RunBusy, RunSlimmed, JournalDamaged; EffectUnknown where a file was changed in the middle of a rollback.
    """
    folder = _folder(services, record)
    try:
        told = folder.journal.open()
        run = _run(services, folder, ask_for)
        folder.ledger.add(told)
        replay = _Replay(run)
        for event in told:
            replay.take(event)
        replay.settle()
        if replay.interrupted is not None:
            finish(folder, run.checkpoints, replay.interrupted)
            replay.rewound()
    except BaseException:
        folder.close()
        raise
    return run


def _folder(services: Services, record: RunRecord) -> RunFolder:
    """The lease first: whoever had it may still have been writing when the record was read."""
    path = services.store.folder(record)
    database = RunDatabase(
        path / DATABASE, clock=services.clock, lasting=services.outlasts_power_loss(), connect=services.connect
    )
    epoch = database.acquire(services.holder)
    try:
        newest = services.store.load(record.id)
        check_whole(newest)
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
        chat=services.host.chat_reader(record.chat_ref) if isinstance(services.host, ReadableHost) else None,
        skills=services.skills,
        wire_log=WireLog(services.wire_level()),
    )
    run.ask = ask_for(run)
    run.mcp = services.mcp.for_run(run.id, path / MCP_LOGS, run.cancel)
    return run


def _equipment(services: Services, folder: RunFolder) -> Equipment | TreadleError:
    try:
        return equipment.load(folder, services.gateway)
    except TreadleError as error:
        return error


@dataclass(slots=True)
class _Asked:
    """A call that has no result yet."""

    name: str
    arguments: str
    pre_sha256: str | None = None


class _Replay:
    """What the run's memory held, from what its journal and its files hold."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept: dict[str, str] = {}
        self._touched = ""
        self._calls: dict[tuple[int, str], _Asked] = {}
        self._statuses, self._last = [RunStatus.CREATED], ""
        self._changes: dict[tuple[int, str], str] = {}
        """The path that each call changed."""
        self.interrupted: Json = None
        """The intent of a rollback that was begun and not ended."""

    def take(self, event: Event) -> None:
        """Raises InvalidData for an event that lacks what such an event tells."""
        self._last = self._last if event.type in _ABOUT_RESUMES else event.type
        if event.type not in _REMEMBERED:
            return
        try:
            self._remember(event.type, event.payload)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidData(
                f"event {event.seq} ({event.type}) of {EVENTS} does not hold what such an event tells: {error!r}"
            ) from error

    def _remember(self, event_type: str, told: Json) -> None:
        run = self._run
        match event_type:
            case EventType.STATUS_CHANGED:
                self._statuses.append(RunStatus(told["status"]))
            case EventType.RUN_CANCEL_REQUESTED:
                run.cancel.raise_()
            case EventType.TOOL_CALL_REQUESTED:
                run.first_rounds.setdefault(told["callId"], told["round"])
                self._calls[_call(told)] = _Asked(told["name"], told["argumentsRef"])
            case EventType.TOOL_CALL_APPROVED if "editedArgumentsRef" in told:
                self._calls[_call(told)].arguments = told["editedArgumentsRef"]
                run.edited[_call(told)] = told["editedArgumentsRef"]
            case EventType.TOOL_CALL_STARTED:
                effect: dict[str, Json] = told.get("effect") or {}
                self._calls[_call(told)].pre_sha256 = effect.get("preSha256")
            case EventType.TOOL_RESULT_STORED:
                self._observe(_call(told), told["path"])
            case EventType.WORKSPACE_FILE_WRITTEN | EventType.WORKSPACE_PATCH_APPLIED:
                self._touched = self._changes[_call(told)] = told["path"]
            case EventType.CHECKPOINT_CREATED if self._touched:
                self._kept[self._touched], self._touched = told["checkpointId"], ""
            case EventType.CONTEXT_TOOL_RESULT_HYDRATED:
                run.hydrated_from.setdefault(_call(told), self._kept[told["path"]])
            case EventType.DRIFT_RECOVERY_ATTEMPTED:
                run.drift_commits[told["round"]] = told["committedCount"]
            case EventType.CHAT_COMMIT_RECORDED:
                run.commits.append((told["commitId"], told["messageId"]))
            case EventType.WORKSPACE_ROLLBACK_STARTED:
                self.interrupted = told
            case EventType.WORKSPACE_ROLLBACK_COMPLETED:
                self.rewound()
            case EventType.MODEL_REQUEST_CREATED:
                run.told_rounds = told["round"] - 1
            case EventType.RUN_FORKED:
                run.is_fork = True
                run.commits.clear()  # these are the other run's
            case _:
                pass

    def _observe(self, call: tuple[int, str], path: str) -> None:
        """A result is read where something follows from it, and kept until its round is closed."""
        run, asked = self._run, self._calls.pop(call)
        if not run.observes(asked.name):
            return
        result = run.results[call] = stored_result(run, path)
        arguments = run.folder.read_json(asked.arguments) if asked.name == PATCH else None
        run.observe(arguments, result, asked.pre_sha256)

    def rewound(self) -> None:
        """The files are others now: nothing is known of them, and what a call wrote is told to the model as it wrote it."""
        self.interrupted = None
        self._run.reads.seen.clear()
        for call, path in self._changes.items():
            if path in self._kept:  # a run that failed may have kept nothing of its last change
                self._run.hydrated_from.setdefault(call, self._kept[path])
        self._changes.clear()

    def settle(self) -> None:
        """Bring the record to where the journal stands: a crash may have come between the two."""
        folder = self._run.folder
        if folder.journal_end is not None:
            if not folder.record.status.is_terminal:
                folder.set_status_only(folder.journal_end)
            return
        # the record is saved before its event is written, so it may be one status ahead; and where the journal could
        # not take the run's end, it is the only one that tells it: then the run has not ended
        reached = next(status for status in reversed(self._statuses) if not status.is_terminal)
        folder.record = replace(folder.record, status=reached)
        folder.told = self._statuses[-1] if self._last == EventType.STATUS_CHANGED else None


def _call(told: Json) -> tuple[int, str]:
    return told["round"], told["callId"]


async def _nobody(kind: str, payload: dict[str, Json]) -> dict[str, Json]:
    raise AssertionError(f"no answer to {kind} can come before the run is open: {payload}")
