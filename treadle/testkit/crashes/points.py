"""Where a run can be killed: each operation on its files and its database, at each of its moments."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from ...graph.events import EventType
from ...graph.jsontext import Json
from ...graph.status import RunStatus
from ...graph.table import Step
from ...storage.runs import EVENTS as JOURNAL

COMMIT: Final = "commit"
"""A transaction of `run.sqlite`; the other kinds are the disk's methods."""

BEFORE, WITHIN, AFTER = "before", "within", "after"
"""Within a `replace`: its temporary file is written and not yet put in place. Within an `append`: half of the bytes are."""
AT_EVENT = "at event "
"""Within an append to the journal: so many of its events are written."""

_WITHIN = frozenset({"replace", "copy", "append"})
_STEP_OF: Final = {
    RunStatus.CREATED: Step.RESOLVE_PROFILE,
    RunStatus.INITIALIZING_WORKSPACE: Step.ASSEMBLE_CONTEXT,
    RunStatus.ASSEMBLING_CONTEXT: Step.ASSEMBLE_CONTEXT,
    RunStatus.CALLING_MODEL: Step.CALL_MODEL,
    RunStatus.DISPATCHING_TOOL: Step.DISPATCH_TOOLS,
    RunStatus.APPLYING_WORKSPACE_PATCH: Step.CHECKPOINT,
    RunStatus.CREATING_CHECKPOINT: Step.CHECKPOINT,
    RunStatus.AWAITING_HOST_COMMIT: Step.COMMIT,
}
_STEP_AFTER: Final = {
    EventType.MODEL_CALL_RETRY_SCHEDULED: Step.RETRY_MODEL,
    EventType.TOOL_CALL_AWAITING_APPROVAL: Step.AWAIT_APPROVAL,
    EventType.CHAT_COMMIT_STARTED: Step.COMMIT,
}
"""Events that tell of a step which has no status of its own."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One change that a run made to its files."""

    kind: str
    path: str
    """Below the run's folder; of other files, with a word in front that says where they are."""
    nth: int
    """Of this kind on this path, from 1."""
    step: str = ""
    """The step of the machine that made it, as far as the journal tells."""
    seq: int = 0
    """The last event journalled before it."""
    lines: int = 0
    """How many events it journals."""

    @property
    def moments(self) -> tuple[str, ...]:
        within = (WITHIN,) if self.kind in _WITHIN else ()
        events = tuple(f"{AT_EVENT}{number}" for number in range(1, self.lines))
        return (BEFORE, *within, *events, AFTER)

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Point:
    """A moment of an operation."""

    operation: Operation
    moment: str

    def __str__(self) -> str:
        done = self.operation
        return f"{self.moment} {done.kind} {done.nth} of {done.path} (after event {done.seq}, {done.step})"

    @property
    def sort(self) -> tuple[str, str, str]:
        """What points have in common of which a sample needs only one."""
        moment = AT_EVENT if self.moment.startswith(AT_EVENT) else self.moment
        kind = f"{self.operation.kind} {JOURNAL}" if self.operation.path == JOURNAL else self.operation.kind
        return kind, moment, self.operation.step


def points_of(operations: Iterable[Operation]) -> tuple[Point, ...]:
    return tuple(Point(operation, moment) for operation in operations for moment in operation.moments)


def sampled(points: Sequence[Point], size: int, seed: int) -> tuple[Point, ...]:
    """At most `size` of the points, in their order and always the same ones for a seed: one of each sort first."""
    chance = random.Random(seed)
    shuffled = chance.sample(points, len(points))
    firsts = list({point.sort: point for point in shuffled}.values())
    chance.shuffle(firsts)
    chosen = set(firsts[:size])
    for point in shuffled:
        if len(chosen) >= size:
            break
        chosen.add(point)
    return tuple(point for point in points if point in chosen)


class Steps:
    """Which step of the machine is at work, from the events that are journalled."""

    def __init__(self) -> None:
        self.step = Step.RESOLVE_PROFILE

    def add(self, event_type: str, payload: Json) -> None:
        if event_type == EventType.STATUS_CHANGED:
            status = RunStatus(payload["status"])
            self.step = self.step if self._stays(status) else _STEP_OF.get(status, Step.FINISH)
        elif event_type == EventType.MODEL_RESPONSE_STORED:
            self.step = Step.CALL_MODEL
        else:
            self.step = _STEP_AFTER.get(EventType(event_type), self.step)

    def _stays(self, status: RunStatus) -> bool:
        """A commit makes a checkpoint of its own; a retry calls the model."""
        return (self.step, status) in (
            (Step.COMMIT, RunStatus.CREATING_CHECKPOINT),
            (Step.RETRY_MODEL, RunStatus.CALLING_MODEL),
        )
