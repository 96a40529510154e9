"""What every format needs of a message: its tool calls, its result, and the block that the provider itself sent.

Ids are required, names are canonicalised, arguments are never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeGuard

from ..graph.errors import ModelFailed
from ..graph.identity import CallId
from ..graph.jsontext import Json, is_object
from ..graph.mcp_names import alias_of, mcp_name
from ..graph.messages import (
    Message,
    NativePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolResultPart,
    ToolSpec,
)  # fmt: skip
from .connections.connection import Connection
from .wire import value_of

_WIRE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")


CONTENT_PART = "openai.content_part"
"""The provider of native parts that came with the prompt: content parts in OpenAI's form."""

MAX_CALLS = 1000
"""In one answer: more of them is no answer, but a model that runs in circles."""


class CallInvalid(ModelFailed):
    """The model's tool call can't be used: it has no id or name, or its id is not its own."""

    code = "model.invalid_tool_call"


def own_native(message: Message, provider: str, connection: Connection) -> NativePart | None:
    """The block that this connection sent us with the message; raises ModelFailed if there are several."""
    found = [part for part in message.parts if is_own(part, provider, connection)]
    if len(found) > 1:
        raise _invalid_message("a message holds several blocks of one provider")
    return found[0] if found else None


def is_own(part: Part, provider: str, connection: Connection) -> TypeGuard[NativePart]:
    return isinstance(part, NativePart) and part.provider == provider and part.origin in ("", connection.origin)


def result_of(message: Message) -> ToolResult:
    """The one result of a tool message; raises ModelFailed `agent.invalid_model_message`."""
    results = [part.result for part in message.parts if isinstance(part, ToolResultPart)]
    if len(results) != 1:
        raise _invalid_message("a tool message must hold exactly one result")
    return results[0]


def canonical_names(tools: Sequence[ToolSpec]) -> dict[str, str]:
    """Each tool's own name by its name and by its alias; of two that share one, the first."""
    return {name: tool.name for tool in reversed(tools) for name in (tool.name, tool.model_name)}


def wire_name(name: str) -> str:
    """A name that servers take: itself, a tool's alias, or with each unfit character as `_`, cut to 64.

    For a tool's own name that is its alias; for a name that the model made up, what lets the run go on.
    """
    if _WIRE_NAME.fullmatch(name):
        return name
    return alias_of(name) if mcp_name(name) else _UNFIT.sub("_", name)[:64] or "_"


def call_id(value: Json, where: str) -> CallId:
    """The provider's id as given; raises CallInvalid where it is no non-blank string."""
    if not isinstance(value, str) or not value.strip():
        raise CallInvalid(f"{where} has no id; a call without one can't be answered")
    return CallId(value)


def call_name(value: Json, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise CallInvalid(f"{where} has no tool name")
    return value


def tool_call(
    given: dict[str, Json], arguments_key: str, call_id: CallId, where: str, names: dict[str, str], raw: bytes
) -> ToolCall:
    """A call from the object that holds its `name` and its arguments, under the tool's own name where that is known.

    Raises CallInvalid for a call without a name.
    """
    name = call_name(given.get("name"), where)
    held, invalid = arguments(given.get(arguments_key))
    return ToolCall(call_id, names.get(name, name), held, name, arguments_invalid=invalid, raw=raw)


def spoken(text: str, reasoning: ReasoningPart | None, native: NativePart | None, calls: Sequence[ToolCall]) -> Message:
    """An answer as the transcript holds it, in the order of all formats; blank text is none."""
    parts: list[Part] = [TextPart(text)] if text.strip() else []
    parts += [part for part in (reasoning, native) if part is not None]
    return Message(Role.ASSISTANT, (*parts, *(ToolCallPart(call) for call in calls)))


def check_unique(calls: Sequence[ToolCall]) -> None:
    """Raises CallInvalid where two calls of one answer share an id: one result would answer both."""
    seen: set[str] = set()
    for call in calls:
        if call.id in seen:
            raise CallInvalid("two tool calls of one answer share an id", details={"callId": call.id})
        seen.add(call.id)


def check_count(calls: Sequence[ToolCall]) -> None:
    """Raises CallInvalid for more calls than anybody could mean: none of them is executed."""
    if len(calls) > MAX_CALLS:
        raise CallInvalid(
            f"{len(calls)} tool calls in one answer; at most {MAX_CALLS} are taken", details={"toolCalls": len(calls)}
        )


def arguments(given: Json) -> tuple[Json, bool]:
    """The arguments, and whether they are invalid: what holds no object is kept as it came.

    Text is parsed; blank text, null and nothing are `{}`. Nothing is repaired.
    """
    if given is None:
        return {}, False
    if not isinstance(given, str):
        return given, not is_object(given)
    if not given.strip():
        return {}, False
    try:
        value = value_of(given)
    except ValueError:
        return given, True
    if value is None:
        return {}, False
    return (value, False) if is_object(value) else (given, True)


def _invalid_message(message: str) -> ModelFailed:
    return ModelFailed(message, code="agent.invalid_model_message")
