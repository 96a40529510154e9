"""A run's state and its next step as the journal tells them: what the graph saves, from the events alone.

The machine can go on from a settled point: there nothing is under way. At the other points it stands before a step that
finishes what has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ..graph.errors import InvalidData
from ..graph.events import Event, EventType
from ..graph.jsontext import Json
from ..graph.state import RunState
from ..graph.table import Outcome, Step

_CHANGING = frozenset({"workspace.write_file", "workspace.apply_patch"})
"""Tools whose call is over when its checkpoint is there."""
_COMMIT, _FINISH = "workspace.commit", "workspace.finish"
_COMPARED = (
    "run_id", "round", "calls", "call_index", "calls_made", "calls_per_tool", "drift_attempts", "commit_count",
    "last_commit", "checkpoint_count", "provider_state",
)  # fmt: skip
_SETTLED = frozenset({Step.CALL_MODEL, Step.DISPATCH_TOOLS})


@dataclass(frozen=True, slots=True)
class Answered:
    """What a state keeps of an answer."""

    calls: tuple[dict[str, str], ...]
    """`{id, name}`, in the provider's order."""
    provider_state: dict[str, Json] | None


AnswerOf = Callable[[int], Answered]
"""The stored answer of a round; raises InvalidData where it can't be read."""


@dataclass(frozen=True, slots=True)
class Derived:
    """Where the machine stood after the event `seq`."""

    state: RunState
    next: Step
    seq: int

    @property
    def is_settled(self) -> bool:
        return self.next in _SETTLED or self.state.outcome == Outcome.ROUNDS_SPENT


def derived(events: Iterable[Event], answer_of: AnswerOf) -> Derived | None:
    """The last settled point of these events, a journal's first ones; None before the context was assembled.

    Only one answer is asked for. Raises InvalidData for an event that lacks what such an event tells, and what
    `answer_of` raises.
    """
    walk, last = _Walk(), None
    for event in events:
        point = walk.take(event)
        last = point if point is not None and point.is_settled else last
    return None if last is None else walk.filled(last, answer_of)


def points(events: Iterable[Event], answer_of: AnswerOf) -> Iterator[Derived]:
    """Every point that the journal tells, in order; raises as `derived` does, for any round."""
    walk = _Walk()
    for event in events:
        point = walk.take(event)
        if point is not None:
            yield walk.filled(point, answer_of)


def difference(saved: RunState, told: Iterable[Derived]) -> str | None:
    """How a state that the graph saved differs from every point that the journal tells; None where it is one of them.

    Which step comes next, and how the last one went, is not compared: a step that broke leaves the state as it was.
    """
    nearest: list[str] | None = None
    # an attempt that failed is in the next round already, with the calls of the round before
    before = replace(saved, round=saved.round - 1)
    for state in (RunState(run_id=saved.run_id), *(point.state for point in told)):
        for wanted in (saved, before):
            fields = [name for name in _COMPARED if getattr(wanted, name) != getattr(state, name)]
            if not fields:
                return None
            nearest = fields if nearest is None or len(fields) <= len(nearest) else nearest
    return f"no event leads to the saved state: its {', '.join(nearest or ())} differ from what the journal tells"


def answered(path: str, stored: Json) -> Answered:
    """Of the document that `path` of a run folder holds; raises InvalidData where it is no answer."""
    try:
        response = stored["response"]
        calls = tuple({"id": call["id"], "name": call["name"]} for call in response["toolCalls"])
        return Answered(calls, response["providerState"])
    except (KeyError, TypeError) as error:
        raise InvalidData(f"{path} is not a model response: {error!r}") from error


class _Walk:
    """The events one by one. Calls and provider state are left out of the states until a point is `filled`."""

    def __init__(self) -> None:
        self._state = RunState()
        self._next = Step.CALL_MODEL
        self._max_rounds = 0
        self._attempt = 0
        self._count = 0
        """Calls of the round under way."""
        self._changed = False
        """A call has changed a file, and its checkpoint is not there yet."""
        self._stopped = False
        """A cancel was asked for: nothing is settled any more."""
        self._forked_at: int | None = None
        """The round whose provider state came from the run that this one is a fork of."""

    def take(self, event: Event) -> Derived | None:
        """The point that this event leads to, if it does; not `filled` yet."""
        try:
            step = self._next_after(event)
        except (KeyError, TypeError) as error:
            raise InvalidData(
                f"event {event.seq} ({event.type}) does not hold what such an event tells: {error!r}"
            ) from error
        if step is None:
            return None
        self._next = step
        point = Derived(self._state, step, event.seq)
        return None if self._stopped and point.is_settled else point

    def filled(self, point: Derived, answer_of: AnswerOf) -> Derived:
        state = point.state
        if not state.round:
            return point
        answer = answer_of(state.round)
        held = answer.provider_state
        if held is not None and state.round == self._forked_at:
            held = _own_session(held, state.run_id)
        return replace(point, state=replace(state, calls=answer.calls, provider_state=held))

    def _next_after(self, event: Event) -> Step | None:
        told = event.payload
        match event.type:
            case EventType.CONTEXT_ASSEMBLED:
                self._max_rounds = told["maxRounds"]
                return self._at(Step.CALL_MODEL, Outcome.ASSEMBLED, run_id=event.run_id)
            case EventType.MODEL_CALL_ATTEMPT_STARTED:
                self._attempt = told["attempt"]
                return None
            case EventType.MODEL_COMPLETED:
                return self._answer(told)
            case EventType.DRIFT_RECOVERY_ATTEMPTED:
                return self._at(Step.CALL_MODEL, Outcome.DRIFTED, drift_attempts=told["attempt"])
            case EventType.AGENT_LOOP_FINISHED:
                return self._at(Step.FINISH, Outcome.FINISH_CALLED, call_index=self._state.call_index + 1)
            case EventType.RUN_CANCEL_REQUESTED:
                self._stopped = True
                return None
            case EventType.RUN_FORKED:
                return self._forked(told)
            case _:
                return self._within_a_call(event.type, told)

    def _within_a_call(self, event_type: str, told: Json) -> Step | None:
        match event_type:
            case EventType.TOOL_CALL_AWAITING_APPROVAL:
                return self._at(Step.AWAIT_APPROVAL, Outcome.APPROVAL_NEEDED)
            case EventType.TOOL_CALL_APPROVED | EventType.TOOL_CALL_DENIED:
                return self._at(Step.DISPATCH_TOOLS, Outcome.DECIDED)
            case EventType.TOOL_CALL_STARTED:
                return self._started(told["name"])
            case EventType.TOOL_CALL_COMPLETED:
                return self._completed(told["name"])
            case EventType.TOOL_CALL_FAILED if "isError" in told:  # without it: what ended the run
                return self._one_more(None)
            case EventType.CHECKPOINT_CREATED if self._changed:
                self._changed = False
                # it was counted as answered when the file was changed
                return self._one_more(Outcome.MORE_CALLS, 0, checkpoint_count=self._state.checkpoint_count + 1)
            case EventType.CHAT_COMMIT_RECORDED:
                last = {"commitId": told["commitId"], "messageId": told["messageId"]}
                counts = {
                    "checkpoint_count": self._state.checkpoint_count + 1, "commit_count": told["commitCount"],
                }  # fmt: skip
                return self._one_more(Outcome.COMMITTED, **counts, last_commit=last)
            case _:
                return None

    def _answer(self, told: Json) -> Step:
        self._count = told["toolCallCount"]
        step = Step.DISPATCH_TOOLS if self._count else Step.FINISH
        outcome = Outcome.TOOLS_CALLED if self._count else Outcome.TEXT_ONLY
        return self._at(step, outcome, round=told["round"], attempt=self._attempt, call_index=0)

    def _started(self, name: str) -> Step | None:
        per_tool = {**self._state.calls_per_tool, name: self._state.calls_per_tool.get(name, 0) + 1}
        counts: dict[str, object] = {"calls_made": self._state.calls_made + 1, "calls_per_tool": per_tool}
        if name == _COMMIT:
            return self._at(Step.COMMIT, Outcome.COMMIT_ASKED, **counts)
        self._set(**counts)
        return None

    def _completed(self, name: str) -> Step | None:
        if name in _CHANGING:
            self._changed = True
            return self._at(Step.CHECKPOINT, Outcome.WROTE, call_index=self._state.call_index + 1)
        if name in (_COMMIT, _FINISH):  # the event that records the commit comes after, as does that of the loop's end
            return None
        return self._one_more(None)

    def _one_more(self, outcome: Outcome | None, calls: int = 1, **changes: object) -> Step:
        """So many more calls are answered; the round is over with its last."""
        self._set(call_index=self._state.call_index + calls, **changes)
        if self._state.call_index == self._count:
            return self._round_over()
        return self._at(Step.DISPATCH_TOOLS, outcome or Outcome(self._state.outcome))

    def _round_over(self) -> Step:
        if self._state.round >= self._max_rounds:
            return self._at(Step.FINISH, Outcome.ROUNDS_SPENT)
        return self._at(Step.CALL_MODEL, Outcome.NEXT_ROUND)

    def _forked(self, told: Json) -> Step:
        """What another run committed is its own; how many rounds there are is the fork's profile's to say."""
        self._max_rounds = told["maxRounds"]
        self._forked_at = self._state.round
        self._set(commit_count=0, last_commit=None)
        return self._round_over() if self._count and self._state.call_index == self._count else self._next

    def _at(self, step: Step, outcome: Outcome, **changes: object) -> Step:
        self._set(outcome=str(outcome), **changes)
        return step

    def _set(self, **changes: object) -> None:
        self._state = replace(self._state, **changes)  # type: ignore[arg-type]  # each field under its own name


def _own_session(held: dict[str, Json], run_id: str) -> dict[str, Json]:
    """The provider's state without what only the other run's session can build on."""
    kept = {key: value for key, value in held.items() if key != "previousResponseId"}
    return {**kept, "sessionId": run_id}
