"""The machine: which step follows which outcome. Everything that needs to know reads it here.

Law 1: no edge exists anywhere else; no node names its successor.
Law 2: the compiled graph, the drawing, the flow snapshot and the edge coverage are made from these two tables.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import NamedTuple

from .jsontext import dumps


class Step(StrEnum):
    RESOLVE_PROFILE = "resolve_profile"
    ASSEMBLE_CONTEXT = "assemble_context"
    CALL_MODEL = "call_model"
    RETRY_MODEL = "retry_model"
    DISPATCH_TOOLS = "dispatch_tools"
    AWAIT_APPROVAL = "await_approval"
    CHECKPOINT = "checkpoint"
    COMMIT = "commit"
    FINISH = "finish"
    END = "__end__"


class RetryStep(StrEnum):
    """The steps inside `retry_model`."""

    BACKOFF = "backoff"
    ATTEMPT = "attempt"
    END = "__end__"


class Outcome(StrEnum):
    """How a step went: the label of the edge that is taken."""

    RESOLVED = "resolved"
    REFUSED = "refused"
    ASSEMBLED = "assembled"
    TOOLS_CALLED = "tools_called"
    TEXT_ONLY = "text_only"
    DRIFTED = "drifted"
    TRANSIENT = "transient"
    WAITED = "waited"
    NEXT_ROUND = "next_round"
    MORE_CALLS = "more_calls"
    WROTE = "wrote"
    COMMIT_ASKED = "commit_asked"
    APPROVAL_NEEDED = "approval_needed"
    DECIDED = "decided"
    FINISH_CALLED = "finish_called"
    ROUNDS_SPENT = "rounds_spent"
    COMMITTED = "committed"
    REFUSED_BY_RULE = "refused_by_rule"
    BROKEN = "broken"
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    PARTIAL_SUCCESS = "partial_success"
    FAILED = "failed"


START: Step = Step.RESOLVE_PROFILE
RETRY_START: RetryStep = RetryStep.BACKOFF

_FINISHED_BADLY = {Outcome.BROKEN: Step.FINISH, Outcome.CANCELLED: Step.FINISH}

TRANSITIONS: dict[Step, dict[Outcome, Step]] = {
    Step.RESOLVE_PROFILE: {
        Outcome.RESOLVED: Step.ASSEMBLE_CONTEXT,
        Outcome.REFUSED: Step.FINISH,  # graph mode only: the input was refused, no run exists
        **_FINISHED_BADLY,
    },
    Step.ASSEMBLE_CONTEXT: {Outcome.ASSEMBLED: Step.CALL_MODEL, **_FINISHED_BADLY},
    Step.CALL_MODEL: {
        Outcome.TOOLS_CALLED: Step.DISPATCH_TOOLS,
        Outcome.TEXT_ONLY: Step.FINISH,
        Outcome.DRIFTED: Step.CALL_MODEL,
        Outcome.TRANSIENT: Step.RETRY_MODEL,
        **_FINISHED_BADLY,
    },
    Step.RETRY_MODEL: {
        Outcome.TOOLS_CALLED: Step.DISPATCH_TOOLS,
        Outcome.TEXT_ONLY: Step.FINISH,
        Outcome.DRIFTED: Step.CALL_MODEL,
        **_FINISHED_BADLY,
    },
    Step.DISPATCH_TOOLS: {
        Outcome.NEXT_ROUND: Step.CALL_MODEL,
        Outcome.WROTE: Step.CHECKPOINT,
        Outcome.COMMIT_ASKED: Step.COMMIT,
        Outcome.APPROVAL_NEEDED: Step.AWAIT_APPROVAL,
        Outcome.FINISH_CALLED: Step.FINISH,
        Outcome.ROUNDS_SPENT: Step.FINISH,
        **_FINISHED_BADLY,
    },
    Step.AWAIT_APPROVAL: {Outcome.DECIDED: Step.DISPATCH_TOOLS, **_FINISHED_BADLY},
    Step.CHECKPOINT: {
        Outcome.MORE_CALLS: Step.DISPATCH_TOOLS,
        Outcome.NEXT_ROUND: Step.CALL_MODEL,
        Outcome.ROUNDS_SPENT: Step.FINISH,
        **_FINISHED_BADLY,
    },
    Step.COMMIT: {
        Outcome.COMMITTED: Step.DISPATCH_TOOLS,
        Outcome.REFUSED_BY_RULE: Step.DISPATCH_TOOLS,
        **_FINISHED_BADLY,
    },
    Step.FINISH: {
        Outcome.COMPLETED: Step.END,
        Outcome.PARTIAL_SUCCESS: Step.END,
        Outcome.FAILED: Step.END,
        Outcome.CANCELLED: Step.END,
    },
}

RETRY_TRANSITIONS: dict[RetryStep, dict[Outcome, RetryStep]] = {
    RetryStep.BACKOFF: {
        Outcome.WAITED: RetryStep.ATTEMPT,
        Outcome.BROKEN: RetryStep.END,
        Outcome.CANCELLED: RetryStep.END,
    },
    RetryStep.ATTEMPT: {
        Outcome.TRANSIENT: RetryStep.BACKOFF,
        Outcome.TOOLS_CALLED: RetryStep.END,
        Outcome.TEXT_ONLY: RetryStep.END,
        Outcome.DRIFTED: RetryStep.END,
        Outcome.BROKEN: RetryStep.END,
        Outcome.CANCELLED: RetryStep.END,
    },
}


class Edge(NamedTuple):
    """One entry of the tables; a step of the sub-graph is written `retry_model/backoff`."""

    step: str
    outcome: str
    next: str


def edges() -> tuple[Edge, ...]:
    """Every entry of both tables, in the order they are written."""
    outer = tuple(Edge(step, outcome, after) for step, row in TRANSITIONS.items() for outcome, after in row.items())
    inner = tuple(
        Edge(inside(step), outcome, after) for step, row in RETRY_TRANSITIONS.items() for outcome, after in row.items()
    )
    return outer + inner


def inside(step: RetryStep) -> str:
    return f"{Step.RETRY_MODEL}/{step}"


def signature(machine: tuple[Edge, ...] | None = None) -> str:
    """Sixteen hex digits that change when the machine (this one, if none is given) does."""
    listed = edges() if machine is None else machine
    return hashlib.sha256(dumps([START, RETRY_START, *map(list, listed)])).hexdigest()[:16]
