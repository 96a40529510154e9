"""After a change of a file: the journal tells it, and the file as it now is is kept."""

from __future__ import annotations

from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.messages import ToolCall
from ..graph.paths import WorkspacePath
from ..graph.state import RunState, Update
from ..graph.status import RunStatus
from ..graph.table import Outcome
from ..storage.checkpoints import checkpoint_id
from ..storage.folder import Change, Do, Enter, Log
from .deps import Deps, Run, in_thread
from .rounds import result, turn


async def checkpoint(state: RunState, deps: Deps) -> Update:
    run = deps.run
    number = state.checkpoint_count + 1
    calls = await in_thread(lambda: _keep(run, state, number))
    run.cancel.check()
    changes: dict[str, object] = {"checkpoint_count": number}
    if state.call_index < calls:
        return Update(Outcome.MORE_CALLS, changes)
    return round_over(state, run, changes)


def round_over(state: RunState, run: Run, changes: dict[str, object]) -> Update:
    """The round's calls are all answered: another round, unless they are spent."""
    spent = state.round >= run.profile.max_rounds
    return Update(Outcome.ROUNDS_SPENT if spent else Outcome.NEXT_ROUND, changes)


def keep_file(
    run: Run, path: WorkspacePath, number: int, reason: str, event: EventType, **parts: object
) -> list[Change]:
    """The checkpoint of one file, tied to the event (found by its parts) that it belongs to."""
    identifier = checkpoint_id(number)

    def create() -> None:
        if run.folder.ledger.find(EventType.CHECKPOINT_CREATED, checkpointId=identifier) is not None:
            return
        cause = run.folder.ledger.find(event, **parts)
        seq = cause.seq if cause is not None else run.folder.journal.last_seq
        run.checkpoints.create(checkpoint_id=identifier, reason=reason, event_seq=seq, paths=[path])

    return [Do(create), Log(EventType.CHECKPOINT_CREATED, {"checkpointId": identifier, "reason": reason})]


def _keep(run: Run, state: RunState, number: int) -> int:
    calls = turn(run, state.round).answer.tool_calls
    call = calls[state.call_index - 1]
    run.folder.apply(*_changes(run, state, call, number))
    return len(calls)


def _changes(run: Run, state: RunState, call: ToolCall, number: int) -> list[Change]:
    told: dict[str, Json] = {"round": state.round, "callId": call.id, **result(run, state.round, call).structured}
    path = WorkspacePath(told["path"])
    parts = {"round": state.round, "callId": call.id}
    if call.name == "workspace.apply_patch":
        event, reason = EventType.WORKSPACE_PATCH_APPLIED, "tool_workspace_patch"
        statuses: list[Change] = [Enter(RunStatus.APPLYING_WORKSPACE_PATCH, unless=(event, told))]
        if run.folder.told is RunStatus.CREATING_CHECKPOINT:
            statuses.clear()  # a crash came after both
    else:
        event, reason = EventType.WORKSPACE_FILE_WRITTEN, "tool_workspace_write"
        statuses = []
    statuses.append(Enter(RunStatus.CREATING_CHECKPOINT, unless=(event, told)))
    return [*statuses, Log(event, told), *keep_file(run, path, number, reason, event, **parts)]
