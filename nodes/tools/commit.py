"""`workspace.commit`: ask for a file to be published in the chat."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.ports import CommitMode
from ..arguments.given import given, schema, shown, string
from ..files import visible
from ..tool import Bench, CommitAsked

SPEC = ToolSpec(
    name="workspace.commit",
    title="Commit a file to the chat",
    description=(
        "Publish a file as this run's reply in the chat. Mode replace (the default) makes the message, or replaces "
        "what this run published before; append adds to it. You may edit and commit again; end with workspace_finish."
    ),
    input_schema=schema(
        {
            "path": string("File to publish. Default: the reply file."),
            "mode": string("replace or append; default replace.", one_of=("replace", "append")),
            "reason": string("Why, for the run's record."),
        }
    ),
    annotations=Annotations(control=True, mutating=True),
)

JUDGES = frozenset({"path", "mode", "reason"})
"""Null is as good as nothing, and a mode that there is not has a code of its own."""


@dataclass(frozen=True, slots=True)
class Arguments:
    path: str | None = None
    mode: str = "replace"
    reason: str | None = None


def run(arguments: Json, bench: Bench) -> CommitAsked:
    asked = _asked(arguments)
    path = visible(asked.path or bench.profile.message_body_path, bench)
    return CommitAsked(path, _mode(asked.mode), asked.reason)


def _asked(arguments: Json) -> Arguments:
    fields = given(arguments)
    return Arguments(
        path=fields.optional_text("path"),
        mode=fields.optional_text("mode") or "replace",
        reason=fields.optional_text("reason"),
    )


def _mode(text: str) -> CommitMode:
    match text:
        case "replace":
            return "replace"
        case "append":
            return "append"
        case _:
            raise ToolRefused(
                "workspace.commit_mode_invalid", f'mode must be "replace" or "append", not {shown(text)}.'
            )
