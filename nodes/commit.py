"""A commit: the file is kept, the host is asked to publish it, and its answer is recorded."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ..graph.errors import HostFailed, ToolRefused
from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.messages import ToolCall
from ..graph.state import RunState, Update
from ..graph.status import RunStatus
from ..graph.table import Outcome
from ..graph.text import count_chars, count_words, sha256_text
from ..storage.checkpoints import checkpoint_id
from ..storage.folder import Change, Enter, Log
from .call import Seat, answered, bench, elapsed_ms, refusal_result, result_changes, with_decision
from .checkpoint import keep_file
from .deps import Deps, Run, fault_in, in_thread, left_if_untold
from .files import read_text
from .rounds import turn
from .tool import Answer, CommitAsked


@dataclass(frozen=True, slots=True)
class _Plan:
    seat: Seat
    asked: CommitAsked
    commit_id: str
    text: str
    number: int
    """Of the checkpoint."""

    @property
    def call(self) -> ToolCall:
        return self.seat.call

    @property
    def told(self) -> dict[str, Json]:
        return {"commitId": self.commit_id, "callId": self.call.id, "path": self.asked.path, "mode": self.asked.mode}


async def commit(state: RunState, deps: Deps) -> Update:
    run = deps.run
    run.cancel.check()
    began = deps.clock.monotonic()
    answer = await in_thread(lambda: turn(run, state.round).answer)
    seat = Seat(
        state.round,
        answer.tool_calls[state.call_index],
        answer,
        state.calls_made,
        state.calls_per_tool,
        state.commit_count,
    )
    after: dict[str, object] = {"call_index": state.call_index + 1}
    recorded = _recorded(run, state, seat)
    if recorded is not None:
        return Update(Outcome.COMMITTED, {**after, **recorded})
    try:
        plan = await in_thread(lambda: _plan(run, state, seat))
    except ToolRefused as refusal:
        result = refusal_result(seat.call, refusal)
        await run.record(*result_changes(run, seat, result, elapsed_ms(began, deps.clock)))
        run.cancel.check()
        return Update(Outcome.REFUSED_BY_RULE, after)
    message_id = await _ask_host(run, plan)
    run.commits[state.commit_count :] = [(plan.commit_id, message_id)]
    with left_if_untold():
        await run.record(*_confirmed(run, plan, message_id, state.commit_count + 1, elapsed_ms(began, deps.clock)))
    run.cancel.check()
    return Update(Outcome.COMMITTED, {**after, **_counted(state, plan.commit_id, message_id)})


def commit_id(run_id: str, round_number: int, position: int, call_id: str) -> str:
    """The same for the same call however often its step is run, so that the host can answer from its record."""
    return "commit_" + hashlib.sha256(f"{run_id}/{round_number}/{position}/{call_id}".encode()).hexdigest()[:32]


def _recorded(run: Run, state: RunState, seat: Seat) -> dict[str, object] | None:
    """What a commit changed that the journal has and this state lacks: a crash came before the state was saved."""
    identifier = commit_id(run.id, state.round, state.call_index, seat.call.id)
    recorded = run.folder.ledger.find(
        EventType.CHAT_COMMIT_RECORDED, round=state.round, commitId=identifier, commitCount=state.commit_count + 1
    )
    return None if recorded is None else _counted(state, identifier, _text(recorded.payload["messageId"]))


def _counted(state: RunState, identifier: str, message_id: str | None) -> dict[str, object]:
    return {
        "checkpoint_count": state.checkpoint_count + 1,
        "commit_count": state.commit_count + 1,
        "last_commit": {"commitId": identifier, "messageId": message_id},
    }


def _plan(run: Run, state: RunState, seat: Seat) -> _Plan:
    seat = with_decision(run, seat)
    asked = run.tools["workspace.commit"].run(seat.arguments, bench(run, state.commit_count))
    assert isinstance(asked, CommitAsked)
    text = read_text(run.workspace, asked.path)
    if asked.path == run.profile.message_body_path and run.profile.message_body_required and not text.strip():
        raise ToolRefused(
            "workspace.required_artifact_empty", f"{asked.path} is blank; write the reply there before committing it."
        )
    identifier = commit_id(run.id, state.round, state.call_index, seat.call.id)
    return _Plan(seat, asked, identifier, text, state.checkpoint_count + 1)


async def _ask_host(run: Run, plan: _Plan) -> str | None:
    """The message's id; raises HostFailed with the host's own reason."""
    completed = run.folder.ledger.find(EventType.CHAT_COMMIT_COMPLETED, commitId=plan.commit_id, callId=plan.call.id)
    if completed is not None:
        return _text(completed.payload["messageId"])
    requested = _request(run, plan)
    await run.record(*_requesting(run, plan, requested), durable=True, unless_cancelling=True)
    answer = await run.cancel.guard(_answer(run, requested))
    error = fault_in(answer)
    if error is not None:
        await run.record(Log(EventType.CHAT_COMMIT_FAILED, {**plan.told, "message": error}))
        raise HostFailed(f"the chat did not take {plan.asked.path}: {error}", code="agent.chat_commit_failed")
    return _text(answer.get("messageId"))


def _text(value: Json) -> str | None:
    return None if value is None else str(value)


async def _answer(run: Run, requested: dict[str, Json]) -> dict[str, Json]:
    return await run.ask("chat_commit", requested)


def _requesting(run: Run, plan: _Plan, requested: dict[str, Json]) -> list[Change]:
    started = {**plan.told, "reason": plan.asked.reason}
    kept = keep_file(
        run, plan.asked.path, plan.number, "chat_commit", EventType.CHAT_COMMIT_STARTED,
        commitId=plan.commit_id, callId=plan.call.id,
    )  # fmt: skip
    created = {"checkpointId": checkpoint_id(plan.number), "reason": "chat_commit"}
    return [
        Log(EventType.CHAT_COMMIT_STARTED, started),
        Enter(RunStatus.CREATING_CHECKPOINT, unless=(EventType.CHECKPOINT_CREATED, created)),
        *kept,
        Enter(RunStatus.AWAITING_HOST_COMMIT, unless=(EventType.CHAT_COMMIT_REQUESTED, requested)),
        Log(EventType.CHAT_COMMIT_REQUESTED, requested),
    ]


def _request(run: Run, plan: _Plan) -> dict[str, Json]:
    record = run.folder.record
    return {
        "commitId": plan.commit_id,
        "callId": plan.call.id,
        "runId": record.id,
        "workspaceId": record.workspace_id,
        "stableChatId": record.stable_chat_id,
        "chatRef": record.chat_ref.to_json(),
        "generationType": record.generation_type,
        "profileId": record.profile_id,
        "persistBaseStateId": record.persist_base_state_id,
        "path": plan.asked.path,
        "mode": plan.asked.mode,
        "reason": plan.asked.reason,
        "chars": count_chars(plan.text),
        "words": count_words(plan.text),
        "sha256": sha256_text(plan.text),
        "checkpointId": checkpoint_id(plan.number),
    }


def _confirmed(run: Run, plan: _Plan, message_id: str | None, count: int, elapsed: int) -> list[Change]:
    index = int(message_id) if message_id is not None and message_id.isascii() and message_id.isdigit() else None
    completed = {**plan.told, "messageId": message_id, "messageIndex": index}
    structured = {
        "path": plan.asked.path,
        "mode": plan.asked.mode,
        "messageId": message_id,
        "messageIndex": index,
        "chars": count_chars(plan.text),
        "words": count_words(plan.text),
    }
    where = "" if message_id is None else f" as message {message_id}"
    content = (
        f"Published {plan.asked.path} to the chat{where} ({plan.asked.mode}). You may edit and commit again. The run is "
        "still open: end it with workspace_finish. No plain-text answer is wanted."
    )
    result = answered(plan.call, Answer(content, structured, (plan.asked.path,)))
    recorded = {
        "commitId": plan.commit_id,
        "commitCount": count,
        "path": plan.asked.path,
        "mode": plan.asked.mode,
        "messageId": message_id,
    }
    return [
        Enter(RunStatus.DISPATCHING_TOOL, unless=(EventType.CHAT_COMMIT_COMPLETED, completed)),
        Log(EventType.CHAT_COMMIT_COMPLETED, completed),
        *result_changes(run, plan.seat, result, elapsed),
        Log(EventType.CHAT_COMMIT_RECORDED, {**recorded, "round": plan.seat.round}),
    ]
