"""Google's Interactions API: steps to the wire and back, and the older schema with a server that answers in `outputs`.

Nothing is kept on the provider's side (`store` is false): every request holds the whole transcript.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from ...graph.errors import ModelFailed
from ...graph.jsontext import Json, dumps, is_list, is_object, text_of
from ...graph.messages import (
    Finish,
    Message,
    ModelResponse,
    NativePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolSpec,
    arguments_text,
)  # fmt: skip
from .. import calls, errors, wire
from ..connections.connection import Connection
from ..interactions.input import Schema, input_pieces, schema_of, system_instruction
from ..interactions.media import block_of, text_block
from ..interactions.settings import function_tools, interaction_settings
from ..outgoing import Fragment, Outgoing
from ..settings import setting_pairs
from ..wire import (
    Body,
    elements,
    member,
    members,
    object_bytes,
    object_text,
    slice_of,
    slices,
    to_bytes,
    to_text,
    value_of,
)

NAME = "gemini_interactions"
NATIVE = NAME
COUNTED = True
CONTINUES = False
STREAMS = False

REVISION = "2026-05-20"
"""The `Api-Revision` that speaks steps; the older schema knows no such header."""

_CUT = ("incomplete", "budget_exceeded")
_UNFINISHED = ("in_progress", "queued")


def endpoint(connection: Connection) -> tuple[str, dict[str, str]]:
    headers = {} if connection.api_key is None else {"x-goog-api-key": connection.api_key.reveal()}
    versioned = urlsplit(connection.base_url).path.rstrip("/").endswith(("/v1", "/v1beta"))
    return connection.url("/interactions" if versioned else "/v1beta/interactions"), headers


def request_headers(outgoing: Outgoing) -> dict[str, str]:
    return {"Api-Revision": REVISION} if schema_of(outgoing.fragments) is Schema.STEPS else {}


def encode_message(message: Message, connection: Connection) -> Fragment:
    match message.role:
        case Role.ASSISTANT:
            return _assistant(message, connection)
        case Role.TOOL:
            result = calls.result_of(message)
            return Fragment(message.role, _result(result), answers=result.call_id)
        case Role.SYSTEM:
            return Fragment(message.role, (dumps(message.text),) if _is_text(message) else ())
        case Role.DEVELOPER | Role.USER:
            return Fragment(message.role, tuple(filter(None, map(block_of, message.parts))))


def encode(outgoing: Outgoing) -> list[bytes]:
    fragments, tools = outgoing.fragments, outgoing.tools
    schema = schema_of(fragments)
    said = input_pieces(fragments, schema)
    if not said:
        raise ModelFailed("the request has no message but system ones: add a user's", code="model.request_build_failed")
    pairs = [(b"model", dumps(outgoing.connection.model)), (b"store", b"false"), (b"stream", b"false")]
    system = system_instruction(fragments)
    if system is not None:
        pairs.append((b"system_instruction", system))
    after = [(b"tools", dumps(function_tools(tools)))] if tools else []
    settings = interaction_settings(
        outgoing.connection, outgoing.settings, tools, outgoing.tool_choice, current=schema is Schema.STEPS
    )
    after += setting_pairs(settings)
    head = object_bytes(pairs).removesuffix(b"}") + b',"input":['
    return [head, *said, b"]," + object_bytes(after).removeprefix(b"{") if after else b"]}"]


def read(data: bytes) -> Body:
    return wire.read(data)


def error_in(body: Body) -> Json:
    """`error`, the first of `errors` after a failure, or the error of a model_output step."""
    if body.value.get("error"):
        return body.value
    several = body.value.get("errors")
    if body.value.get("status") == "failed" and is_list(several) and several:
        return {"error": several[0]}
    steps = body.value.get("steps")
    said = (
        step for step in (steps if is_list(steps) else []) if is_object(step) and step.get("type") == "model_output"
    )
    return next(({"error": step["error"]} for step in said if step.get("error")), None)


def decode(body: Body, connection: Connection, tools: Sequence[ToolSpec], origin: str) -> ModelResponse:
    status = _status(body)
    schema, blocks, raw = _answer(body, cut=status in _CUT)
    tool_calls = _tool_calls(blocks, raw, tools)
    if status == "requires_action" and not tool_calls:
        raise errors.malformed("the status requires_action, but without a function call")
    text = "".join(_texts(blocks))
    thoughts = "\n\n".join(_thoughts(blocks))
    reasoning = ReasoningPart(thoughts, "thought_summary") if thoughts.strip() else None
    native = NativePart(NATIVE, object_bytes([(schema.encode(), raw)]), origin)
    return ModelResponse(
        message=calls.spoken(text, reasoning, native, tool_calls),
        finish=_finish(status, called=bool(tool_calls)),
        finish_reason=status,
        id=text_of(body.value.get("id")),
        model=text_of(body.value.get("model")),
        usage=body.value.get("usage"),
        source=connection.source,
        format=NAME,
    )


def mended(body: bytes, refusal: str) -> bytes | None:
    return None


def _is_text(message: Message) -> bool:
    """Whether a system message says anything; raises ModelFailed for what is no text."""
    if any(block_of(part) is not None for part in message.parts if not isinstance(part, TextPart)):
        raise ModelFailed(
            "a system message holds media; gemini_interactions takes text only: move it to a user message",
            code="model.request_build_failed",
        )
    return bool(message.text)


def _assistant(message: Message, connection: Connection) -> Fragment:
    called = tuple(part.call for part in message.parts if isinstance(part, ToolCallPart))
    ids = tuple(call.id for call in called)
    native = calls.own_native(message, NATIVE, connection)
    if native is not None:
        schema, blocks = _native(to_text(native.value))
        names = (dumps(call.model_name) for call in called)
        return Fragment(message.role, (*blocks, *names), native=True, calls=ids, schema=schema)
    said = (text_block(message.text),) if message.text else ()
    names = (dumps(calls.wire_name(call.model_name)) for call in called)
    return Fragment(message.role, (*said, *map(_call, called), *names), calls=ids)


def _native(value: str) -> tuple[Schema, list[bytes]]:
    """The schema of a native value, and its blocks as received; raises ValueError."""
    for schema in Schema:
        raw = member(value, schema)
        if raw is not None:
            return schema, [to_bytes(_replayed(block)) for block in elements(raw)]
    raise ValueError("neither steps nor outputs")


def _replayed(block: str) -> str:
    """The block as it came, but that arguments which hold no object travel inside one: servers refuse them bare."""
    value = value_of(block)
    if not is_object(value) or value.get("type") != "function_call" or not calls.arguments(value.get("arguments"))[1]:
        return block
    return object_text(
        (held.raw_key, object_text([('"_invalid_arguments"', held.raw)]) if held.key == "arguments" else held.raw)
        for held in members(block)
    )


def _call(call: ToolCall) -> bytes:
    named: dict[str, Json] = {"type": "function_call", "id": call.id, "name": calls.wire_name(call.model_name)}
    return dumps(named)[:-1] + b',"arguments":' + to_bytes(arguments_text(call)) + b"}"


def _result(result: ToolResult) -> tuple[bytes, bytes, bytes]:
    """The result in three pieces: its alias in the middle gives way to the name that the call was written with."""
    before = b'{"type":"function_result","call_id":%b,"name":' % dumps(result.call_id)
    behind = b',"result":%b%b}' % (dumps(result.envelope()), b',"is_error":true' if result.is_error else b"")
    return before, dumps(calls.wire_name(result.name)), behind


def _status(body: Body) -> str | None:
    """The provider's word for how it ended; raises ModelFailed for an end that is none."""
    status = body.value.get("status")
    if status is not None and not isinstance(status, str):
        raise errors.malformed("a status that is no word")
    if status in _UNFINISHED:
        raise errors.malformed(f"an interaction that is still {status}")
    if status in ("failed", "cancelled"):
        raise ModelFailed("the model's server broke the answer off", retryable=True, details={"finishReason": status})
    return status or None


def _answer(body: Body, *, cut: bool) -> tuple[Schema, list[dict[str, Json]], bytes]:
    """The schema of the answer, its blocks, and the exact slice of their list; raises ModelFailed."""
    for schema in Schema:
        held = body.value.get(schema)
        if held is None:
            continue
        raw = slice_of(body.raw, schema)
        if not is_list(held) or raw is None or not all(_is_block(block) for block in held):
            raise errors.malformed(f"{schema} that are no list of typed objects")
        if not held and not cut:
            raise errors.malformed(f"no {schema}")
        return schema, held, raw
    raise errors.malformed("neither steps nor outputs")


def _is_block(block: Json) -> bool:
    return is_object(block) and isinstance(block.get("type"), str)


def _texts(blocks: Sequence[dict[str, Json]]) -> Iterator[str]:
    for block in blocks:
        content: Json = block.get("content") if block["type"] == "model_output" else [block]
        if content is not None and not is_list(content):
            raise errors.malformed("model_output whose content is no list")
        for held in content or []:
            if is_object(held) and held.get("type") == "text" and isinstance(held.get("text"), str):
                yield held["text"]


def _thoughts(blocks: Sequence[dict[str, Json]]) -> Iterator[str]:
    for block in blocks:
        summary = block.get("summary") if block["type"] == "thought" else None
        for held in summary if is_list(summary) else []:
            if is_object(held) and isinstance(held.get("text"), str) and held["text"].strip():
                yield held["text"]


def _tool_calls(blocks: Sequence[dict[str, Json]], raw: bytes, tools: Sequence[ToolSpec]) -> list[ToolCall]:
    asked = [place for place, block in enumerate(blocks) if block["type"] == "function_call"]
    written = slices(raw) if asked else []
    names = calls.canonical_names(tools)
    found = [
        _tool_call(blocks[place], written[place], f"tool call {number}", names)
        for number, place in enumerate(asked, start=1)
    ]
    calls.check_unique(found)
    return found


def _tool_call(block: dict[str, Json], raw: bytes, where: str, names: dict[str, str]) -> ToolCall:
    call_id = calls.call_id(block.get("id"), where)
    return replace(
        calls.tool_call(block, "arguments", call_id, where, names, raw), signature=text_of(block.get("signature"))
    )


def _finish(status: str | None, *, called: bool) -> Finish:
    if status in _CUT:
        return Finish.LENGTH
    if called:
        return Finish.TOOL_CALLS
    return Finish.STOP if status in (None, "completed") else Finish.OTHER
