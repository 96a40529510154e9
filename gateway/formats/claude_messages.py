"""The Messages API, as Anthropic speaks it, and the servers that imitate it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...graph.errors import ModelFailed, NativeMetadataLost
from ...graph.jsontext import Json, is_list, is_object, text_of
from ...graph.messages import (
    Finish,
    Message,
    ModelResponse,
    NativePart,
    ReasoningPart,
    ToolCall,
    ToolSpec,
)  # fmt: skip
from .. import calls, errors
from ..claude.answer import read_answer
from ..claude.blocks import encoded
from ..claude.cache import check_unmarked, mark, mark_system, mark_turns
from ..claude.settings import (  # fmt: skip
    body_settings,
    cache_ttl,
    choice_json,
    headers,
    thinks,
    tools_json,
    uses_system,
    without_budget,
)
from ..claude.turns import in_foreign_tool_turn, leading_system, system_blocks, turns
from ..connections.connection import Connection
from ..outgoing import Fragment, Outgoing
from ..settings import setting_pairs, with_overrides
from ..wire import Body, array_bytes, slice_of, slices

NAME = "claude_messages"
NATIVE = "claude"
COUNTED = True
CONTINUES = False
STREAMS = True

_FINISHES = {
    "end_turn": Finish.STOP, "stop_sequence": Finish.STOP, "tool_use": Finish.TOOL_CALLS, "pause_turn": Finish.PAUSE,
    "max_tokens": Finish.LENGTH, "model_context_window_exceeded": Finish.LENGTH,
}  # fmt: skip
_EXPLANATION_CHARS = 500


@dataclass(frozen=True, slots=True)
class _Content:
    raw: bytes
    """The whole array exactly as written."""
    blocks: list[dict[str, Json]]

    def texts(self, kind: str, key: str) -> list[str]:
        values = [block.get(key) for block in self.blocks if block.get("type") == kind]
        return [value for value in values if isinstance(value, str)]


def endpoint(connection: Connection) -> tuple[str, dict[str, str]]:
    return connection.url("/messages"), headers(connection)


def encode_message(message: Message, connection: Connection) -> Fragment:
    return encoded(message, NATIVE, connection)


def encode(outgoing: Outgoing) -> list[bytes]:
    connection, fragments = outgoing.connection, outgoing.fragments
    count = leading_system(fragments) if uses_system(outgoing.settings) else 0
    system = system_blocks(fragments[:count])
    said, seen = turns(fragments[count:], outgoing.cursor - count)
    settings = with_overrides(connection, body_settings(connection, outgoing.settings))
    if in_foreign_tool_turn(fragments):
        settings = without_budget(settings)
    pairs = setting_pairs(settings)
    if connection.switches.stream:
        pairs.append((b"stream", b"true"))
    ttl = cache_ttl(connection, outgoing.settings)
    if ttl is not None:
        check_unmarked(connection, said)
        mark_system(system, ttl)
        mark_turns(said, seen, ttl)
        if not said[-1].native:
            pairs.append((b"cache_control", mark(ttl)))
    if system:
        pairs.append((b"system", array_bytes(system)))
    if outgoing.tools:
        choice = choice_json(outgoing.tool_choice, outgoing.tools, thinking=thinks(settings))
        pairs += [(b"tools", tools_json(outgoing.tools)), (b"tool_choice", choice)]
    pieces = [b"{", *(b'"%b":%b,' % pair for pair in pairs), b'"messages":[']
    for turn in said:
        pieces += turn.pieces()
        pieces.append(b",")
    pieces[-1] = b"]}"
    return pieces


def read(data: bytes) -> Body:
    return read_answer(data)


def error_in(body: Body) -> Json:
    is_error = body.value.get("type") == "error" or body.value.get("error")
    return body.value if is_error and not is_list(body.value.get("content")) else None


def decode(body: Body, connection: Connection, tools: Sequence[ToolSpec], origin: str) -> ModelResponse:
    word = text_of(body.value.get("stop_reason"))
    if word == "refusal":
        raise _refused(body.value.get("stop_details"))
    content = _content(body)
    tool_calls = _tool_calls(content, tools)
    if tool_calls and connection.source == "claude":
        _check_signed(content)
    text = "".join(content.texts("text", "text"))
    thoughts = [thought for thought in content.texts("thinking", "thinking") if thought.strip()]
    reasoning = ReasoningPart("\n\n".join(thoughts), "thinking") if thoughts else None
    return ModelResponse(
        message=calls.spoken(text, reasoning, NativePart(NATIVE, content.raw, origin), tool_calls),
        finish=_finish(word, tool_calls),
        finish_reason=word,
        id=text_of(body.value.get("id")),
        model=text_of(body.value.get("model")),
        usage=body.value.get("usage"),
        source=connection.source,
        format=NAME,
    )


def mended(body: bytes, refusal: str) -> bytes | None:
    return None


def _content(body: Body) -> _Content:
    blocks = body.value.get("content")
    raw = slice_of(body.raw, "content")
    if not is_list(blocks) or raw is None:
        raise errors.malformed("no list of content blocks")
    if not all(is_object(block) for block in blocks):
        raise errors.malformed("a content block that is no object")
    return _Content(raw, blocks)


def _tool_calls(content: _Content, tools: Sequence[ToolSpec]) -> list[ToolCall]:
    """The calls for us; what the provider runs itself (`server_tool_use` and the like) is none of them."""
    if not any(block.get("type") == "tool_use" for block in content.blocks):
        return []
    pairs = zip(content.blocks, slices(content.raw), strict=True)
    uses = [(block, raw) for block, raw in pairs if block.get("type") == "tool_use"]
    names = calls.canonical_names(tools)
    found = [_tool_call(block, raw, f"tool_use block {place}", names) for place, (block, raw) in enumerate(uses, 1)]
    calls.check_unique(found)
    return found


def _tool_call(block: dict[str, Json], raw: bytes, where: str, names: dict[str, str]) -> ToolCall:
    call_id = calls.call_id(block.get("id"), where)
    return replace(
        calls.tool_call(block, "input", call_id, where, names, raw), signature=text_of(block.get("signature"))
    )


def _check_signed(content: _Content) -> None:
    """Claude's own servers sign each thought, and take none back without."""
    for block in content.blocks:
        if block.get("type") == "thinking" and not text_of(block.get("signature")):
            raise NativeMetadataLost(
                "a thinking block of an answer with tool calls has no signature; it can't be continued, and nothing"
                " was executed",
                details={"provider": NATIVE},
            )


def _finish(word: str | None, tool_calls: Sequence[ToolCall]) -> Finish:
    finish = Finish.STOP if word is None else _FINISHES.get(word, Finish.OTHER)
    if finish is Finish.LENGTH:
        return finish
    if tool_calls:
        return Finish.TOOL_CALLS
    if finish is Finish.TOOL_CALLS:
        raise errors.malformed("the finish tool_use, but no tool_use block")
    return finish


def _refused(details: Json) -> ModelFailed:
    """The provider's filter stopped the answer: asking the same again does not help."""
    failure = errors.filtered("refusal")
    told = {key: details.get(key) for key in ("category", "explanation")} if is_object(details) else {}
    shown = {key: value[:_EXPLANATION_CHARS] for key, value in told.items() if isinstance(value, str)}
    if shown:
        failure.details["stopDetails"] = shown
    return failure
