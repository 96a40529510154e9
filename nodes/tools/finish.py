"""`workspace.finish`: the model is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ..arguments.given import schema, string
from ..tool import Answer, Bench, LoopEnded

SPEC = ToolSpec(
    name="workspace.finish",
    title="Finish the run",
    description="End the run. No other call may follow in the same answer.",
    input_schema=schema({"reason": string("Why the work is done, for the run's record.")}),
    annotations=Annotations(control=True),
)


@dataclass(frozen=True, slots=True)
class Arguments:
    reason: str | None = None


def run(arguments: Json, bench: Bench) -> LoopEnded:
    asked = _asked(arguments)
    if bench.profile.presentation == "foreground" and bench.commit_count == 0:
        raise ToolRefused(
            "agent.foreground_commit_required",
            "Nothing was published in the chat yet: call workspace_commit before workspace_finish.",
        )
    return LoopEnded(Answer("The run is finished.", {"reason": asked.reason}))


def _asked(arguments: Json) -> Arguments:
    """A model that wants to stop is not held up by a bad reason: it is left out."""
    fields = cast(dict[str, Json], arguments) if isinstance(arguments, dict) else {}
    reason = fields.get("reason")
    return Arguments(reason.strip() or None if isinstance(reason, str) else None)
