"""OpenAI's Responses: a list of items in, a list of items out, over HTTP or as events over a WebSocket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...graph.errors import ModelFailed, NativeMetadataLost
from ...graph.jsontext import Json, dumps, is_list, is_object, text_of
from ...graph.messages import (
    Finish,
    Message,
    ModelResponse,
    NativePart,
    ReasoningPart,
    Role,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolSpec,
)  # fmt: skip
from .. import calls, errors, wire
from ..connections.connection import Connection
from ..outgoing import Fragment, Outgoing
from ..responses.events import answer, ends
from ..responses.items import assistant_items, prompt_item, replayed
from ..responses.settings import responses_settings, responses_tool_choice, responses_tools, stores
from ..settings import setting_pairs
from ..wire import Body, Unreadable, documents, object_bytes, slice_of, slices, spliced, to_text, value_of

NAME = "openai_responses"
NATIVE = NAME
COUNTED = True
CONTINUES = True
STREAMS = False

_ASKS_FOR_MORE = frozenset(
    {"custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request"}
)
"""Items that wait for an answer which no tool here can give."""


def endpoint(connection: Connection) -> tuple[str, dict[str, str]]:
    headers: dict[str, str] = {}
    if connection.api_key is not None:
        headers["Authorization"] = f"Bearer {connection.api_key.reveal()}"
    return connection.url("/responses"), headers


def encode_message(message: Message, connection: Connection) -> Fragment:
    match message.role:
        case Role.ASSISTANT:
            held = tuple(part.call.id for part in message.parts if isinstance(part, ToolCallPart))
            native = calls.own_native(message, NATIVE, connection)
            items = assistant_items(message) if native is None else replayed(to_text(native.value))
            return Fragment(message.role, items, native=native is not None, calls=held)
        case Role.TOOL:
            result = calls.result_of(message)
            return Fragment(message.role, (_output(result),), answers=result.call_id)
        case Role.SYSTEM | Role.DEVELOPER | Role.USER:
            return Fragment(message.role, (prompt_item(message),))


def encode(outgoing: Outgoing) -> list[bytes]:
    connection, tools = outgoing.connection, outgoing.tools
    sent, previous = _sent(outgoing)
    pairs = [(b"model", dumps(connection.model))]
    pairs += setting_pairs(responses_settings(connection, outgoing.settings))
    if previous is not None:
        pairs.append((b"previous_response_id", dumps(previous)))
    after: list[tuple[bytes, bytes]] = []
    if tools:
        choice = responses_tool_choice(outgoing.tool_choice, tools)
        after = [(b"tools", dumps(responses_tools(tools))), (b"tool_choice", dumps(choice))]
    head = object_bytes(pairs).removesuffix(b"}") + b',"input":['
    items = [item for fragment in sent for item in fragment.items]
    return spliced(head, items, b"]," + object_bytes(after).removeprefix(b"{") if after else b"]}")


def read(data: bytes) -> Body:
    try:
        body = wire.read(data)
    except Unreadable:
        events = _several(data)
        if not events:
            raise
        return answer(events)
    return answer([body.text]) if ends(body.value) else body


def error_in(body: Body) -> Json:
    value = body.value
    if value.get("type") == "error":
        return value
    if value.get("status") == "failed":
        return {"error": value.get("error") or {"message": "the response failed, and the server does not say why"}}
    return {"error": value["error"]} if value.get("error") else None


def decode(body: Body, connection: Connection, tools: Sequence[ToolSpec], origin: str) -> ModelResponse:
    finish, word = _ending(body.value)
    output, raw = _output_items(body)
    tool_calls = _tool_calls(output, slices(raw), tools)
    text, refused = _text(output, body.value)
    if not output and not text.strip() and finish is Finish.STOP:
        raise errors.malformed("no output items")
    native = NativePart(NATIVE, raw, origin) if output else None
    if finish is Finish.STOP and (tool_calls or refused):
        finish = Finish.TOOL_CALLS if tool_calls else Finish.REFUSAL
    return ModelResponse(
        message=calls.spoken(text, _reasoning(output), native, tool_calls),
        finish=finish,
        finish_reason=word,
        id=text_of(body.value.get("id")),
        model=text_of(body.value.get("model")),
        usage=body.value.get("usage"),
        source=connection.source,
        format=NAME,
    )


def mended(body: bytes, refusal: str) -> bytes | None:
    """No refusal of this API is cured by leaving something out."""
    return None


def _sent(outgoing: Outgoing) -> tuple[Sequence[Fragment], str | None]:
    """The messages that go out, and the answer that they follow on the provider's side.

    What the provider holds is the transcript up to the cursor and one answer; with more of them it is sent whole.
    """
    later = outgoing.fragments[outgoing.cursor :]
    if outgoing.previous is not None and sum(fragment.role is Role.ASSISTANT for fragment in later) <= 1:
        sent = [fragment for fragment in later if fragment.role is not Role.ASSISTANT]
        if not sent:
            raise _unbuildable("nothing was said since the last answer, so there is nothing to send")
        return sent, outgoing.previous
    if not stores(outgoing.settings):
        _check_replayable(outgoing.fragments)
    return outgoing.fragments, None


def _check_replayable(fragments: Sequence[Fragment]) -> None:
    """Raises NativeMetadataLost where the calls under way hang on reasoning that came without its content."""
    last = next((fragment for fragment in reversed(fragments) if fragment.role is Role.ASSISTANT), None)
    if last is None or not last.native or not last.calls:
        return
    for item in value_of("[" + ",".join(map(to_text, last.items)) + "]"):
        held = item.get("encrypted_content") or item.get("content")
        if item.get("type") == "reasoning" and not held:
            raise NativeMetadataLost(
                "a reasoning item came without its content, so its tool calls can't be answered in a whole transcript; "
                "let the server store answers (store), or use a server that sends encrypted_content",
                details={"provider": NATIVE},
            )


def _output(result: ToolResult) -> bytes:
    output = dumps(result.envelope()).decode()
    return dumps({"type": "function_call_output", "call_id": result.call_id, "output": output})


def _several(data: bytes) -> list[str]:
    """The JSON texts in `data` where they are more than one, else nothing."""
    try:
        found = documents(data)
    except Unreadable:
        return []
    return found if len(found) > 1 else []


def _ending(response: dict[str, Json]) -> tuple[Finish, str | None]:
    """How the response ended, and the provider's word for it; one without a status has ended. Raises ModelFailed."""
    status = response.get("status")
    details = response.get("incomplete_details")
    reason = details.get("reason") if is_object(details) else None
    if status == "incomplete":
        if reason == "content_filter":
            raise errors.filtered("content_filter")
        return Finish.LENGTH, text_of(reason) or "incomplete"
    if status == "cancelled":
        raise ModelFailed("the model's server broke the answer off", retryable=True, details={"finishReason": status})
    if status not in ("completed", None):
        raise errors.malformed("a response that has not ended")
    return Finish.STOP, text_of(status)


def _output_items(body: Body) -> tuple[list[dict[str, Json]], bytes]:
    """The output items, and the exact slice of their list."""
    output, raw = body.value.get("output"), slice_of(body.raw, "output")
    if not is_list(output) or raw is None:
        raise errors.malformed("no output")
    if not all(is_object(item) for item in output):
        raise errors.malformed("an output item that is no object")
    return output, raw


def _tool_calls(
    output: Sequence[dict[str, Json]], written: Sequence[bytes], tools: Sequence[ToolSpec]
) -> list[ToolCall]:
    names = calls.canonical_names(tools)
    found: list[ToolCall] = []
    for place, (item, raw) in enumerate(zip(output, written, strict=True), start=1):
        kind, where = item.get("type"), f"output item {place}"
        if kind in _ASKS_FOR_MORE:
            raise ModelFailed(f"{where} is of a type that can't be run: {kind}", code="model.unsupported_tool_call")
        if kind == "function_call":
            found.append(_tool_call(item, raw, where, names))
    calls.check_unique(found)
    return found


def _tool_call(item: dict[str, Json], raw: bytes, where: str, names: dict[str, str]) -> ToolCall:
    """Its id is `call_id`: results that name the item's own `id` are refused."""
    call_id = calls.call_id(item.get("call_id"), f"{where}, its call_id")
    return calls.tool_call(item, "arguments", call_id, where, names, raw)


def _text(output: Sequence[dict[str, Json]], response: dict[str, Json]) -> tuple[str, bool]:
    """The visible text, and whether it is a refusal."""
    messages = [item for item in output if item.get("type") == "message"]
    text = "".join(_parts(messages, "content", "output_text", "text"))
    if not messages:
        text = response["output_text"] if isinstance(response.get("output_text"), str) else ""
    refusal = "".join(_parts(messages, "content", "refusal", "refusal"))
    return (refusal, True) if refusal.strip() and not text.strip() else (text, False)


def _reasoning(output: Sequence[dict[str, Json]]) -> ReasoningPart | None:
    """What can be read of the reasoning; what is encrypted is never read."""
    items = [item for item in output if item.get("type") == "reasoning"]
    summaries = list(_parts(items, "summary", "summary_text", "text"))
    texts = list(_parts(items, "content", "reasoning_text", "text"))
    joined = "\n\n".join(summaries + texts)
    return ReasoningPart(joined, "reasoning_summary" if summaries else "reasoning_text") if joined.strip() else None


def _parts(items: Sequence[dict[str, Json]], place: str, kind: str, key: str) -> Iterator[str]:
    """The texts of the parts of one kind; content that is plain text is such a part."""
    for item in items:
        held = item.get(place)
        if isinstance(held, str):
            held = [{"type": "output_text", "text": held}]
        if held is not None and not is_list(held):
            raise errors.malformed(f"an output item whose {place} is not a list")
        for part in held or ():
            if is_object(part) and part.get("type") == kind and isinstance(part.get(key), str):
                yield part[key]


def _unbuildable(message: str) -> ModelFailed:
    return ModelFailed(message, code="model.request_build_failed")
