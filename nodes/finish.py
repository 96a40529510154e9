"""The last step, however the run got here: promote what lasts, tell the host, and write the one terminal event."""

from __future__ import annotations

import hashlib

from ..graph.errors import InvalidData, RunCancelled, RunFailed, RunLeft, StorageFailed, TreadleError
from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.state import RunState, Update
from ..graph.status import RunStatus
from ..graph.table import Outcome
from ..storage.folder import Do, Enter, Log
from ..storage.persist import PromotionUnfinished, promote
from ..storage.persist_records import Promotion
from .deps import Deps, Run, fault_in, in_thread, left, left_if_untold


async def finish(state: RunState, deps: Deps) -> Update:
    if state.outcome == Outcome.REFUSED:  # no run exists, or it has ended: there is nothing to write
        return Update(Outcome.FAILED if deps.live is None else _OUTCOME_OF[deps.live.folder.record.status])
    run = deps.run
    if state.outcome == Outcome.CANCELLED:
        return await _cancelled(run)
    if state.outcome != Outcome.FINISH_CALLED:
        return await end_badly(run, _error_of(state, run))
    try:
        await _complete(state, run)
    except RunCancelled:
        return await _cancelled(run)
    except RunLeft:
        raise
    except TreadleError as error:
        ended = run.folder.record.status
        if not ended.is_terminal:
            return await end_badly(run, error.report())
        await in_thread(lambda: run.folder.set_status_only(ended))  # the journal tells it, the record could not
    return Update(Outcome.COMPLETED)


_OUTCOME_OF = {
    RunStatus.COMPLETED: Outcome.COMPLETED,
    RunStatus.PARTIAL_SUCCESS: Outcome.PARTIAL_SUCCESS,
    RunStatus.CANCELLED: Outcome.CANCELLED,
    RunStatus.FAILED: Outcome.FAILED,
}


async def _complete(state: RunState, run: Run) -> None:
    await run.record(Enter(RunStatus.FINISHING, unless=(EventType.PERSISTENT_CHANGES_COMMITTED, {})))
    try:
        promotion = await in_thread(lambda: _promote(run))
    except RunLeft:
        raise
    except TreadleError as error:
        await run.record(Log(EventType.PERSISTENT_CHANGES_COMMIT_FAILED, {"message": str(error)}))
        raise
    if state.commit_count:
        await _tell_host(state, run, promotion)
    await run.record(Enter(RunStatus.COMPLETED), Log(EventType.RUN_COMPLETED, None), durable=True)


def _promote(run: Run) -> Promotion:
    record = run.folder.record
    made: list[Promotion] = []

    def make() -> None:
        promotion = promote(
            run.chat_folder,
            run.folder.path,
            run_id=record.id,
            workspace_id=record.workspace_id,
            stable_chat_id=record.stable_chat_id,
            created_at=record.updated_at,
            disk=run.folder.disk,
        )
        made.append(promotion)

    try:
        run.folder.apply(Do(make))
    except PromotionUnfinished as error:
        raise left(error) from error
    promotion = made[0]
    told: dict[str, Json] = {
        "stateId": promotion.state_id,
        "baseStateId": promotion.base_state_id,
        "changeCount": len(promotion.changes),
        "changes": _changes(promotion),
    }
    with left_if_untold():
        run.folder.apply(Log(EventType.PERSISTENT_CHANGES_COMMITTED, told))
    return promotion


def _changes(promotion: Promotion) -> list[Json]:
    return [{"path": change.path, "kind": change.kind, "sha256": change.sha256} for change in promotion.changes]


async def _tell_host(state: RunState, run: Run, promotion: Promotion) -> None:
    """The second handshake: the message learns which persistent state belongs to it."""
    record = run.folder.record
    message_id = (state.last_commit or {}).get("messageId")
    if message_id is None:
        raise RunFailed("the host named no message for the commit", code="agent.persistent_state_message_missing")
    told = {
        "updateId": "persist_update_" + hashlib.sha256(record.id.encode()).hexdigest()[:32],
        "messageId": message_id,
        "stateId": promotion.state_id,
    }
    request = {
        **told,
        "runId": record.id,
        "workspaceId": record.workspace_id,
        "stableChatId": record.stable_chat_id,
        "chatRef": record.chat_ref.to_json(),
        "generationType": record.generation_type,
        "profileId": record.profile_id,
        "baseStateId": promotion.base_state_id,
        "changeCount": len(promotion.changes),
        "changes": _changes(promotion),
    }
    if run.folder.ledger.has(EventType.PERSISTENT_STATE_METADATA_UPDATED, told):
        return
    await run.record(Log(EventType.PERSISTENT_STATE_METADATA_UPDATE_REQUESTED, request), durable=True)
    answer = await run.cancel.guard(_answer(run, request))
    error = fault_in(answer)
    if error is not None:
        await run.record(Log(EventType.PERSISTENT_STATE_METADATA_UPDATE_FAILED, {**told, "message": error}))
        raise RunFailed(f"the chat did not take it: {error}", code="agent.persistent_state_metadata_update_failed")
    with left_if_untold():
        await run.record(Log(EventType.PERSISTENT_STATE_METADATA_UPDATED, told))


async def _answer(run: Run, request: dict[str, Json]) -> dict[str, Json]:
    return await run.ask("persist_metadata", request)


async def _cancelled(run: Run) -> Update:
    payload = {"message": "the run was cancelled"}
    await _end(run, RunStatus.CANCELLED, EventType.RUN_CANCELLED, payload)
    return Update(Outcome.CANCELLED)


async def end_badly(run: Run, error: dict[str, Json]) -> Update:
    """Committed text stays in the chat: a failure after a commit is a partial success."""
    kept = await in_thread(lambda: _preserved(run))
    if not kept:
        await _end(run, RunStatus.FAILED, EventType.RUN_FAILED, error)
        return Update(Outcome.FAILED, {"error": error})
    payload = {
        **error,
        "retryable": False,
        "userRetryable": False,
        "preservedCommitCount": len(kept),
        "preservedCommits": kept,
    }
    await _end(run, RunStatus.PARTIAL_SUCCESS, EventType.RUN_PARTIAL_SUCCESS, payload)
    return Update(Outcome.PARTIAL_SUCCESS, {"error": error})


async def _end(run: Run, status: RunStatus, event: EventType, payload: dict[str, Json]) -> None:
    """The failure tail: a journal that can't be written no longer changes how the run ends.

    Raises RunLeft, with the reason for the end, where nothing can be written: then the run has not ended.
    """
    try:
        await run.record(Enter(status), Log(event, payload), durable=True)
    except (StorageFailed, InvalidData):
        try:
            await in_thread(lambda: run.folder.set_status_only(status))
        except StorageFailed as error:
            raise _unrecorded(payload, error) from error


def _unrecorded(reason: dict[str, Json], refusal: StorageFailed) -> RunLeft:
    """Why the run was to end, and why that could not be recorded: mostly the same full disk."""
    message = f"{reason['message']} (and the run's end could not be recorded: {refusal.message})"
    return left(StorageFailed(message, code=reason.get("code"), details=refusal.details))


def _preserved(run: Run) -> list[Json]:
    """The confirmed commits, `{path, mode, messageId, round}` each, from the journal."""
    if not run.commits:
        return []
    own = {commit_id for commit_id, _ in run.commits}
    told = [event.payload for event in run.folder.journal.read_all() if event.type == EventType.CHAT_COMMIT_RECORDED]
    return [
        {key: payload[key] for key in ("path", "mode", "messageId", "round")}
        for payload in told
        if payload["commitId"] in own
    ]


def _error_of(state: RunState, run: Run) -> dict[str, Json]:
    if state.error is not None:
        return state.error
    rounds = run.profile.max_rounds
    spent = RunFailed(f"the run did not finish in {rounds} rounds", code="agent.max_tool_rounds_exceeded")
    return spent.report()
