"""One attempt at the model: made by the first call and by every retry, so that they can't differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..gateway import provider_state
from ..gateway.delivery import WireCall
from ..gateway.gateway import Exchange
from ..graph.errors import ModelFailed, RunCancelled, TreadleError
from ..graph.events import EventType, Level
from ..graph.jsontext import Json
from ..graph.messages import ModelResponse, part_json
from ..graph.state import RunState, Update
from ..graph.table import Outcome
from ..graph.text import count_chars, count_words, narration, sha256_bytes
from ..storage.folder import Change, Log, Put, pretty
from ..storage.runs import body_path, response_path
from .conversation import Turn
from .deps import Deps, Run, in_thread
from .rounds import stored_turn

NARRATION_CHARS = 280

Opening = Callable[[], Sequence[Change]]
"""Brings the transcript up to date and gives what is to be recorded before the attempt's start; blocking."""


async def attempt(state: RunState, deps: Deps, opening: Opening) -> Update:
    """Make attempt `state.attempt` of round `state.round`; what `opening` gives is recorded in the hop of its start.

    An answer that is stored already is not paid for again, and an attempt that failed and is told is not made again.
    """
    run = deps.run
    if run.folder.ledger.find(EventType.MODEL_RESPONSE_STORED, round=state.round) is not None:
        turn = await in_thread(lambda: _stored_turn(run, state.round, opening))
        await run.record(*_told(state.round, turn))
        return await _answered(state, run, turn)
    if _failed_before(run, state):
        return _transient(
            state, run.profile.retry_interval_ms
        )  # a longer wait the server asked for began before the crash
    started = {"round": state.round, "attempt": state.attempt, "maxRetries": run.profile.max_retries}
    begun = Log(EventType.MODEL_CALL_ATTEMPT_STARTED, started)
    await in_thread(lambda: run.folder.apply(*opening(), *_switched(run, state), begun))
    held = state.provider_state or provider_state.initial(run.id)
    heard: list[WireCall] = []
    try:
        outgoing = run.gateway.outgoing(
            run.connection, run.settings, run.conversation.fragments, run.specs, held, known=run.known_specs
        )
        exchange = await run.cancel.guard(run.gateway.generate(outgoing, heard))
    except RunCancelled:
        await run.record(*_on_the_wire(run, state, heard), _cancelled(started))
        raise
    except ModelFailed as error:
        logged = _on_the_wire(run, state, heard)
        if run.cancel.is_raised:  # a refusal that comes after the cancel is dropped, as an answer is
            await run.record(*logged, _cancelled(started))
            raise RunCancelled from error
        return await _refused(state, run, started, error, logged)
    except TreadleError as error:
        failed = _failed(started, str(error), retryable=False, will_retry=False)
        await run.record(*_on_the_wire(run, state, heard), failed)
        raise
    run.cancel.check()
    turn = Turn(exchange.response, exchange.native, exchange.provider_state)
    logged = _on_the_wire(run, state, heard)
    await run.record(*logged, *_replayed(started, exchange), *_stored(state, turn, exchange.body))
    return await _answered(state, run, turn)


def _stored_turn(run: Run, round_number: int, opening: Opening) -> Turn:
    opening()  # its events are told already; the rounds before must be closed all the same
    return stored_turn(run, round_number)


async def _answered(state: RunState, run: Run, turn: Turn) -> Update:
    run.conversation.turn, answer = turn, turn.answer
    changes: dict[str, object] = {
        "round": state.round,
        "attempt": state.attempt,
        "wait_ms": 0,
        "calls": tuple({"id": call.id, "name": call.name} for call in answer.tool_calls),
        "call_index": 0,
        "provider_state": turn.provider_state,
    }
    if answer.tool_calls:
        return Update(Outcome.TOOLS_CALLED, changes)
    if state.drift_attempts < run.profile.drift_max_attempts and state.round < run.profile.max_rounds:
        return await _corrected(state, run, changes)
    error = ModelFailed("the model answered with text and called no tool", code="model.tool_call_required")
    return Update(Outcome.TEXT_ONLY, {**changes, "error": error.report()})


async def _corrected(state: RunState, run: Run, changes: dict[str, object]) -> Update:
    number = state.drift_attempts + 1
    run.drift_commits[state.round] = state.commit_count
    payload = {
        "attempt": number,
        "maxAttempts": run.profile.drift_max_attempts,
        "round": state.round,
        "committedCount": state.commit_count,
        "reasonCode": "model.tool_call_required",
    }
    await run.record(Log(EventType.DRIFT_RECOVERY_ATTEMPTED, payload))
    return Update(Outcome.DRIFTED, {**changes, "drift_attempts": number})


async def _refused(
    state: RunState, run: Run, started: dict[str, Json], error: ModelFailed, logged: Sequence[Change]
) -> Update:
    """Transient while attempts remain and the server does not ask for a longer wait than is allowed."""
    profile = run.profile
    wait = max(profile.retry_interval_ms, error.retry_after_ms or 0)
    too_long = wait > max(profile.retry_max_wait_ms, profile.retry_interval_ms)
    if error.retryable and state.attempt <= profile.max_retries and not too_long:
        await run.record(*logged, _failed(started, str(error), retryable=True, will_retry=True))
        return _transient(state, wait)
    await run.record(*logged, _failed(started, str(error), retryable=error.retryable, will_retry=False))
    if too_long and error.retry_after_ms is not None:
        error.details = {**error.details, "retryAfterMs": error.retry_after_ms}
    raise error


def _failed_before(run: Run, state: RunState) -> bool:
    """Whether a crash came after this attempt was told to have failed and to be followed by another."""
    failed = run.folder.ledger.find(EventType.MODEL_CALL_ATTEMPT_FAILED, round=state.round, attempt=state.attempt)
    return failed is not None and failed.payload["willRetry"]


def _transient(state: RunState, wait_ms: int) -> Update:
    return Update(Outcome.TRANSIENT, {"round": state.round, "attempt": state.attempt, "wait_ms": wait_ms})


def _on_the_wire(run: Run, state: RunState, heard: Sequence[WireCall]) -> list[Change]:
    return run.wire_log.changes(state.round, state.attempt, run.connection, heard)


def _cancelled(started: dict[str, Json]) -> Log:
    return _failed(started, "the run was cancelled", retryable=False, will_retry=False)


def _failed(started: dict[str, Json], message: str, *, retryable: bool, will_retry: bool) -> Log:
    payload = {**started, "retryable": retryable, "willRetry": will_retry, "message": message}
    return Log(EventType.MODEL_CALL_ATTEMPT_FAILED, payload, Level.WARN if will_retry else Level.ERROR)


def _switched(run: Run, state: RunState) -> list[Change]:
    """Word of a connection other than the last answer's: what it can't be sent is counted, not hidden."""
    before, now = state.provider_state, run.connection
    if before is None or provider_state.is_same(before, now):
        return []
    left = run.conversation.left_behind()
    payload = {
        "round": state.round,
        "from": {
            "chatCompletionSource": before["chatCompletionSource"],
            "providerFormat": before["providerFormat"],
            "model": before["model"],
        },
        "to": {"chatCompletionSource": now.source, "providerFormat": now.format, "model": now.model},
        "nativeBlocksLeft": left.native_blocks,
        "turnsLeft": left.turns,
        "toolCallsCarried": left.tool_calls,
    }
    return [Log(EventType.PROVIDER_SWITCHED, payload)]


def _replayed(started: dict[str, Json], exchange: Exchange) -> list[Change]:
    if not exchange.replays:
        return []
    payload = {"round": started["round"], "attempt": started["attempt"], "reasons": list(exchange.replays)}
    return [Log(EventType.PROVIDER_SESSION_REPLAYED, payload)]


def response_document(round_number: int, turn: Turn, body_sha256: str) -> dict[str, Json]:
    """What `model-responses/` keeps of an answer, beside its body."""
    answer = turn.answer
    return {
        "round": round_number,
        "response": {
            "message": {"role": str(answer.message.role), "parts": [part_json(part) for part in answer.message.parts]},
            "toolCalls": [call.to_json() for call in answer.tool_calls],
            "text": answer.text,
            "providerMetadata": answer.metadata_json(),
            "providerState": turn.provider_state,
            "rawPath": body_path(round_number),
            "rawSha256": body_sha256,
        },
    }


def _stored(state: RunState, turn: Turn, body: bytes) -> list[Change]:
    path, answer = response_path(state.round), turn.answer
    document = response_document(state.round, turn, sha256_bytes(body))
    stored = {"round": state.round, "path": path, "responseId": answer.id, "model": answer.model}
    return [
        Put(body_path(state.round), body),
        Put(path, pretty(document)),
        Log(EventType.MODEL_RESPONSE_STORED, stored),
        *_told(state.round, turn),
    ]


def _told(round_number: int, turn: Turn) -> list[Change]:
    told = {"round": round_number, "providerState": provider_state.told(turn.provider_state)}
    return [
        Log(EventType.PROVIDER_STATE_UPDATED, told),
        Log(EventType.MODEL_COMPLETED, _completed(round_number, turn.answer)),
    ]


def _completed(round_number: int, answer: ModelResponse) -> dict[str, Json]:
    reasoning = "\n\n".join(part.text for part in answer.reasoning)
    text = answer.text
    payload: dict[str, Json] = {
        "round": round_number,
        "modelResponsePath": response_path(round_number),
        "toolCallCount": len(answer.tool_calls),
        "hasAssistantText": bool(text.strip()),
        "hasReasoning": bool(reasoning),
        "textChars": count_chars(text),
        "textWords": count_words(text),
        "assistantTextChars": count_chars(text),
        "assistantTextWords": count_words(text),
        "reasoningChars": count_chars(reasoning),
        "reasoningWords": count_words(reasoning),
    }
    said = narration(text, NARRATION_CHARS) if answer.tool_calls else None
    return payload if said is None else {**payload, "narration": said}
