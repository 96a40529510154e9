"""Chat completions, as OpenAI and the many servers that imitate it speak them."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph.errors import ModelFailed
from ...graph.jsontext import Json, dumps, is_list, is_object, text_of
from ...graph.messages import (
    Finish,
    MediaPart,
    Message,
    ModelResponse,
    NativePart,
    Part,
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
from ..chat import stream as chat_stream
from ..chat.native import body_without_reasoning, empty_content, refuses_reasoning, replayed
from ..connections.connection import Connection
from ..outgoing import Fragment, Outgoing
from ..schemas.rules import SchemaRules, render_tools
from ..settings import chat_settings, setting_pairs, thinks, wire_tool_choice, with_overrides
from ..sse import is_stream
from ..wire import Body, array_bytes, object_bytes, slice_at, slices_at, spliced, to_bytes, to_text

NAME = "openai_compatible"
NATIVE = NAME
COUNTED = False
CONTINUES = False
STREAMS = True

_FINISHES = {
    "stop": Finish.STOP, "length": Finish.LENGTH, "tool_calls": Finish.TOOL_CALLS, "function_call": Finish.TOOL_CALLS,
    "content_filter": Finish.CONTENT_FILTER, "error": Finish.ERROR, "insufficient_system_resource": Finish.ERROR,
}  # fmt: skip


def endpoint(connection: Connection) -> tuple[str, dict[str, str]]:
    headers: dict[str, str] = {}
    if connection.api_key is not None:
        headers["Authorization"] = f"Bearer {connection.api_key.reveal()}"
    if connection.source == "openrouter":
        headers["X-Title"] = "Treadle"
    return connection.url("/chat/completions"), headers


def encode_message(message: Message, connection: Connection) -> Fragment:
    held = tuple(part.call.id for part in message.parts if isinstance(part, ToolCallPart))
    match message.role:
        case Role.ASSISTANT:
            item, native = _assistant(message, connection)
            return Fragment(message.role, (item,), native=native, calls=held)
        case Role.TOOL:
            result = calls.result_of(message)
            return Fragment(message.role, (_tool(result),), answers=result.call_id)
        case Role.SYSTEM | Role.DEVELOPER | Role.USER:
            return Fragment(message.role, (_prompt(message, connection),))


def encode(outgoing: Outgoing) -> list[bytes]:
    connection, tools = outgoing.connection, outgoing.tools
    settings = with_overrides(connection, chat_settings(connection, outgoing.settings))
    streams = connection.switches.stream
    if streams:
        settings.setdefault("stream_options", {"include_usage": True})
    pairs = [(b"model", dumps(connection.model)), (b"stream", dumps(streams))]
    pairs += setting_pairs(settings)
    after: list[tuple[bytes, bytes]] = []
    if tools:
        rules = SchemaRules(drops_empty_required=connection.dialect.drops_empty_required)
        choice = wire_tool_choice(outgoing.tool_choice, tools)
        if choice not in ("auto", "none") and thinks(connection, settings):
            choice = "auto"  # such hosts answer 400 to a forced choice while they think
        after = [(b"tools", dumps(render_tools(tools, rules))), (b"tool_choice", dumps(choice))]
    head = object_bytes(pairs).removesuffix(b"}") + b',"messages":['
    items = [item for fragment in outgoing.fragments for item in fragment.items]
    return spliced(head, items, b"]," + object_bytes(after).removeprefix(b"{") if after else b"]}")


def read(data: bytes) -> Body:
    return chat_stream.document(data) if is_stream(data) else wire.read(data)


def error_in(body: Body) -> Json:
    choices = body.value.get("choices")
    first = choices[0] if is_list(choices) and choices else None
    if is_object(first):
        return {"error": first["error"]} if first.get("error") else None
    return body.value if body.value.get("error") else None


def decode(body: Body, connection: Connection, tools: Sequence[ToolSpec], origin: str) -> ModelResponse:
    choice, raw = _message(body)
    message: dict[str, Json] = choice["message"]
    tool_calls = _tool_calls(message, raw, tools)
    text, refused = _text(message)
    word = choice.get("finish_reason")
    finish = _finish(word, tool_calls, refused=refused)
    if finish is Finish.CONTENT_FILTER:
        raise errors.filtered("content_filter")
    if finish is Finish.ERROR:
        raise ModelFailed("the model's server broke the answer off", retryable=True, details={"finishReason": word})
    return ModelResponse(
        message=calls.spoken(text, _reasoning(message), NativePart(NATIVE, raw, origin), tool_calls),
        finish=finish,
        finish_reason=text_of(word),
        id=text_of(body.value.get("id")),
        model=text_of(body.value.get("model")),
        usage=body.value.get("usage"),
        source=connection.source,
        format=NAME,
    )


def mended(body: bytes, refusal: str) -> bytes | None:
    if b'"reasoning' not in body or not refuses_reasoning(refusal):
        return None
    stripped = to_bytes(body_without_reasoning(to_text(body)))
    return None if len(stripped) == len(body) else stripped


def _assistant(message: Message, connection: Connection) -> tuple[bytes, bool]:
    native = calls.own_native(message, NATIVE, connection)
    if native is not None:
        return to_bytes(replayed(to_text(native.value), connection.dialect)), True
    content = dumps(message.text) if message.text else empty_content(connection.dialect).encode()
    pairs = [(b"role", b'"assistant"'), (b"content", content)]
    held = [_wire_call(part.call) for part in message.parts if isinstance(part, ToolCallPart)]
    if held:
        pairs.append((b"tool_calls", dumps(held)))
    foreign = any(isinstance(part, NativePart) for part in message.parts)
    if connection.dialect.echo_reasoning == "all" and (held or foreign):
        pairs.append((b"reasoning_content", b'""'))
    return object_bytes(pairs), False


def _wire_call(call: ToolCall) -> Json:
    function = {"name": calls.wire_name(call.model_name), "arguments": arguments_text(call)}
    return {"id": call.id, "type": "function", "function": function}


def _tool(result: ToolResult) -> bytes:
    content = dumps(result.envelope()).decode()
    named: dict[str, Json] = {"role": "tool", "tool_call_id": result.call_id, "name": calls.wire_name(result.name)}
    return dumps(named | {"content": content})


def _prompt(message: Message, connection: Connection) -> bytes:
    role = message.role
    if role is Role.DEVELOPER and not connection.dialect.developer_role:
        role = Role.SYSTEM
    pairs = [(b"role", dumps(role.value))]
    if message.name is not None:
        pairs.append((b"name", dumps(message.name)))
    if any(isinstance(part, MediaPart) or _is_content(part) for part in message.parts):
        pairs.append((b"content", array_bytes(filter(None, map(_content_part, message.parts)))))
    else:
        pairs.append((b"content", dumps(message.text)))
    return object_bytes(pairs)


def _is_content(part: Part) -> bool:
    return isinstance(part, NativePart) and part.provider == calls.CONTENT_PART


def _content_part(part: Part) -> bytes:
    match part:
        case TextPart(text):
            return dumps({"type": "text", "text": text})
        case MediaPart(_, value):
            return dumps(value)
        case NativePart(provider, value) if provider == calls.CONTENT_PART:
            return value
        case _:
            return b""


def _message(body: Body) -> tuple[dict[str, Json], bytes]:
    """The first choice, and the exact slice of its message; raises ModelFailed."""
    choices = body.value.get("choices")
    if not is_list(choices) or not choices:
        raise errors.malformed("no choices")
    choice = choices[0]
    if not is_object(choice) or not is_object(choice.get("message")):
        raise errors.malformed("a choice that holds no message")
    raw = slice_at(body.raw, "choices", 0, "message")
    if raw is None:
        raise errors.malformed("a choice that holds no message")
    return choice, raw


def _text(message: dict[str, Json]) -> tuple[str, bool]:
    """The visible text, and whether it is a refusal."""
    content = message.get("content")
    if is_list(content):
        texts = [part.get("text") for part in content if is_object(part) and part.get("type") == "text"]
        content = "".join(text for text in texts if isinstance(text, str))
    if content is not None and not isinstance(content, str):
        raise errors.malformed("a message whose content is neither text nor parts")
    refusal = message.get("refusal")
    if not (content or "").strip() and isinstance(refusal, str) and refusal.strip():
        return refusal, True
    return content or "", False


def _tool_calls(message: dict[str, Json], raw: bytes, tools: Sequence[ToolSpec]) -> list[ToolCall]:
    given = message.get("tool_calls")
    if given is None:
        if message.get("function_call"):
            raise calls.CallInvalid("the server answered in the old function_call form, which has no call id")
        return []
    if not is_list(given):
        raise calls.CallInvalid("tool_calls is not a list")
    written = slices_at(raw, "tool_calls")
    names = calls.canonical_names(tools)
    found = [
        _tool_call(value, call, f"tool call {place}", names)
        for place, (value, call) in enumerate(zip(given, written, strict=True), start=1)
    ]
    calls.check_unique(found)
    return found


def _tool_call(value: Json, raw: bytes, where: str, names: dict[str, str]) -> ToolCall:
    if not is_object(value):
        raise calls.CallInvalid(f"{where} is not an object")
    if value.get("type") not in (None, "", "function"):
        raise ModelFailed(f"{where} is of a type that can't be run", code="model.unsupported_tool_call")
    function = value.get("function")
    if not is_object(function):
        raise calls.CallInvalid(f"{where} has no function")
    call_id = calls.call_id(value.get("id"), where)
    return calls.tool_call(function, "arguments", call_id, where, names, raw)


def _finish(word: Json, tool_calls: Sequence[ToolCall], *, refused: bool) -> Finish:
    finish = _FINISHES.get(word) if isinstance(word, str) else None
    if finish is Finish.LENGTH or finish is Finish.CONTENT_FILTER or finish is Finish.ERROR:
        return finish
    if tool_calls:
        return Finish.TOOL_CALLS
    return Finish.REFUSAL if refused else Finish.STOP


def _reasoning(message: dict[str, Json]) -> ReasoningPart | None:
    """The first of the three places that holds readable text; encrypted reasoning is never read."""
    for source in ("reasoning_content", "reasoning"):
        text = message.get(source)
        if isinstance(text, str) and text.strip():
            return ReasoningPart(text, source)
    details = message.get("reasoning_details")
    readable = {"reasoning.text": "text", "reasoning.summary": "summary"}
    texts: list[str] = []
    for detail in details if is_list(details) else []:
        key = readable.get(detail.get("type", "")) if is_object(detail) else None
        if key is not None and isinstance(detail.get(key), str):
            texts.append(detail[key])
    joined = "".join(texts)
    return ReasoningPart(joined, "reasoning_details") if joined.strip() else None
