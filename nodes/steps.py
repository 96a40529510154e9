"""Which function each step of the machine is: the one list that the graph is built from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from ..graph.state import RunState, Update
from ..graph.table import RetryStep, Step
from .assemble_context import assemble_context
from .await_approval import await_approval
from .call_model import call_model
from .checkpoint import checkpoint
from .commit import commit
from .deps import Deps
from .dispatch_tools import dispatch_tools
from .finish import finish
from .resolve_profile import resolve_profile
from .retry_model import backoff, try_again

Node = Callable[[RunState, Deps], Awaitable[Update]]

STEPS: Mapping[Step, Node] = {
    Step.RESOLVE_PROFILE: resolve_profile,
    Step.ASSEMBLE_CONTEXT: assemble_context,
    Step.CALL_MODEL: call_model,
    Step.DISPATCH_TOOLS: dispatch_tools,
    Step.AWAIT_APPROVAL: await_approval,
    Step.CHECKPOINT: checkpoint,
    Step.COMMIT: commit,
    Step.FINISH: finish,
}

RETRY_STEPS: Mapping[RetryStep, Node] = {RetryStep.BACKOFF: backoff, RetryStep.ATTEMPT: try_again}
