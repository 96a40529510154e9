"""A run's status, and which may follow which."""

from __future__ import annotations

from enum import StrEnum

from .errors import RunFailed
from .events import EventType


class RunStatus(StrEnum):
    CREATED = "created"
    INITIALIZING_WORKSPACE = "initializing_workspace"
    ASSEMBLING_CONTEXT = "assembling_context"
    CALLING_MODEL = "calling_model"
    DISPATCHING_TOOL = "dispatching_tool"
    APPLYING_WORKSPACE_PATCH = "applying_workspace_patch"
    CREATING_CHECKPOINT = "creating_checkpoint"
    AWAITING_HOST_COMMIT = "awaiting_host_commit"
    FINISHING = "finishing"
    COMPLETED = "completed"
    PARTIAL_SUCCESS = "partial_success"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        return self in _TERMINAL


STATUS_OF_END: dict[EventType, RunStatus] = {
    EventType.RUN_COMPLETED: RunStatus.COMPLETED,
    EventType.RUN_PARTIAL_SUCCESS: RunStatus.PARTIAL_SUCCESS,
    EventType.RUN_FAILED: RunStatus.FAILED,
    EventType.RUN_CANCELLED: RunStatus.CANCELLED,
}
"""The status that each terminal event tells."""

_TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.PARTIAL_SUCCESS, RunStatus.CANCELLED, RunStatus.FAILED})

_S = RunStatus
_WORKING: dict[RunStatus, frozenset[RunStatus]] = {
    _S.CREATED: frozenset({_S.INITIALIZING_WORKSPACE}),
    _S.INITIALIZING_WORKSPACE: frozenset({_S.ASSEMBLING_CONTEXT}),
    _S.ASSEMBLING_CONTEXT: frozenset({_S.CALLING_MODEL}),
    _S.CALLING_MODEL: frozenset({_S.CALLING_MODEL, _S.DISPATCHING_TOOL}),
    _S.DISPATCHING_TOOL: frozenset(
        {_S.DISPATCHING_TOOL, _S.CREATING_CHECKPOINT, _S.APPLYING_WORKSPACE_PATCH, _S.CALLING_MODEL, _S.FINISHING}
    ),
    _S.APPLYING_WORKSPACE_PATCH: frozenset({_S.CREATING_CHECKPOINT}),
    _S.CREATING_CHECKPOINT: frozenset({_S.DISPATCHING_TOOL, _S.AWAITING_HOST_COMMIT, _S.CALLING_MODEL}),
    _S.AWAITING_HOST_COMMIT: frozenset({_S.DISPATCHING_TOOL}),
    _S.FINISHING: frozenset({_S.COMPLETED}),
    _S.CANCELLING: frozenset({_S.COMPLETED}),
}
_ENDINGS = frozenset({_S.CANCELLING, _S.CANCELLED, _S.FAILED, _S.PARTIAL_SUCCESS})

FOLLOWERS: dict[RunStatus, frozenset[RunStatus]] = {
    status: frozenset()
    if status.is_terminal
    else (_WORKING[status] | _ENDINGS) - ({_S.CANCELLING} if status is _S.CANCELLING else set())
    for status in RunStatus
}
"""For each status, those that may follow it; terminal ones absorb."""


class StatusRefused(RunFailed):
    """This status can't follow that one."""

    code = "agent.status_transition_refused"


def follow(current: RunStatus, wanted: RunStatus, *, resumed: bool = False) -> bool:
    """Whether to write `wanted`: False where the run is being cancelled and the status is not terminal.

    Raises `StatusRefused` for a step that the table lacks. A resumed run may enter its step's status from any
    non-terminal one.
    """
    if current is RunStatus.CANCELLING and not wanted.is_terminal:
        return False
    if wanted in FOLLOWERS[current] or (resumed and not current.is_terminal):
        return True
    raise StatusRefused(f"a run that is {current} can't become {wanted}")
