"""Gemini's generateContent, as Google AI Studio and Vertex AI speak it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...graph.errors import ModelFailed
from ...graph.identity import CallId
from ...graph.jsontext import Json, dumps, is_list, is_object, text_of
from ...graph.messages import (
    Finish,
    Message,
    ModelResponse,
    NativePart,
    ReasoningPart,
    ToolCall,
    ToolSpec,
)  # fmt: skip
from ...graph.text import sha256_bytes
from .. import calls, errors, wire
from ..connections.connection import Connection
from ..gemini.contents import encoded, opening, system_text, turns
from ..gemini.settings import (  # fmt: skip
    auth_headers,
    body_settings,
    calling_config,
    gives_positional_ids,
    url_of,
    uses_system,
)
from ..outgoing import Fragment, Outgoing
from ..schemas.rules import GEMINI, check_aliases, tool_parameters
from ..settings import setting_pairs, wire_tool_choice, with_overrides
from ..wire import Body, slice_at, slices_at

NAME = "gemini"
NATIVE = NAME
COUNTED = True
CONTINUES = False
STREAMS = False

_FILTERED = frozenset(
    {
        "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
    }
)  # fmt: skip
_BROKEN = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})
_REJECTED = frozenset({"TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"})
_SAID_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Answer:
    """The first candidate, taken apart."""

    parts: list[dict[str, Json]]
    slices: list[bytes]
    """Each part exactly as written."""
    content: bytes | None
    """The content exactly as written; None where there is none."""


def endpoint(connection: Connection) -> tuple[str, dict[str, str]]:
    return url_of(connection), auth_headers(connection)


def encode_message(message: Message, connection: Connection) -> Fragment:
    return encoded(message, NATIVE, connection)


def encode(outgoing: Outgoing) -> list[bytes]:
    connection, fragments = outgoing.connection, outgoing.fragments
    count = opening(fragments) if uses_system(outgoing.settings) else 0
    pairs = setting_pairs(with_overrides(connection, body_settings(connection, outgoing.settings)))
    system = system_text(fragments[:count])
    if system is not None:
        pairs.append((b"systemInstruction", system))
    if outgoing.tools:
        choice = calling_config(wire_tool_choice(outgoing.tool_choice, outgoing.tools))
        pairs.append((b"tools", dumps([{"functionDeclarations": _declared(outgoing.tools)}])))
        pairs.append((b"toolConfig", dumps({"functionCallingConfig": choice})))
    head = b"".join(b'"%b":%b,' % pair for pair in pairs)
    return [b"{" + head + b'"contents":[', *turns(fragments[count:]), b"]}"]


def read(data: bytes) -> Body:
    return wire.read(data)


def error_in(body: Body) -> Json:
    return body.value if body.value.get("error") and not body.value.get("candidates") else None


def decode(body: Body, connection: Connection, tools: Sequence[ToolSpec], origin: str) -> ModelResponse:
    candidate = _candidate(body)
    word = text_of(candidate.get("finishReason"))
    _check_finish(word, candidate, connection)
    answer = _answer(candidate, body.raw, word)
    tool_calls = _tool_calls(answer, tools, positional=_positional(body, connection))
    text, thoughts = _texts(answer.parts)
    finish = _finish(word, tool_calls, empty=not text.strip())
    reasoning = ReasoningPart(thoughts, "thought") if thoughts.strip() else None
    native = None if answer.content is None else NativePart(NATIVE, answer.content, origin)
    return ModelResponse(
        message=calls.spoken(text, reasoning, native, tool_calls),
        finish=finish,
        finish_reason=word,
        id=text_of(body.value.get("responseId")),
        model=text_of(body.value.get("modelVersion")),
        usage=body.value.get("usageMetadata"),
        source=connection.source,
        format=NAME,
    )


def mended(body: bytes, refusal: str) -> bytes | None:
    return None


def _declared(tools: Sequence[ToolSpec]) -> list[Json]:
    """The tools by alias; one without arguments has no `parameters`."""
    check_aliases(tools)
    declared: list[Json] = []
    for spec in tools:
        made: dict[str, Json] = {"name": spec.model_name, "description": spec.description}
        schema = tool_parameters(spec, GEMINI)
        if schema.get("properties"):
            made["parameters"] = schema
        declared.append(made)
    return declared


def _candidate(body: Body) -> dict[str, Json]:
    """The first candidate; raises ModelFailed, for a blocked prompt too."""
    candidates = body.value.get("candidates")
    if not candidates:
        feedback = body.value.get("promptFeedback")
        reason = feedback.get("blockReason") if is_object(feedback) else None
        if isinstance(reason, str) and reason:
            raise errors.filtered(reason)
        raise errors.malformed("no candidates")
    if not is_list(candidates) or not is_object(candidates[0]):
        raise errors.malformed("candidates that are no list of objects")
    return candidates[0]


def _check_finish(word: str | None, candidate: dict[str, Json], connection: Connection) -> None:
    """Raises ModelFailed for an answer that its own finish disowns, whatever it holds."""
    if word is None:
        return
    if word in _FILTERED:
        raise errors.filtered(word)
    details: dict[str, object] = {"finishReason": word}
    said = candidate.get("finishMessage")
    if isinstance(said, str) and said:
        details["finishMessage"] = connection.scrub(said)[:_SAID_CHARS]
    if word in _BROKEN:
        raise ModelFailed(
            f"the model broke its answer off ({word})",
            code="model.upstream_invalid_response",
            retryable=True,
            details=details,
        )
    if word in _REJECTED:
        raise ModelFailed(f"the model's server stopped the answer ({word})", details=details)


def _answer(candidate: dict[str, Json], raw: bytes, word: str | None) -> _Answer:
    """The candidate's content; only an answer that was cut off at its length may have none."""
    content = candidate.get("content")
    if content is None and word == "MAX_TOKENS":
        return _Answer([], [], None)
    if not is_object(content):
        raise errors.malformed("a candidate that holds no content")
    held = slice_at(raw, "candidates", 0, "content") or b""
    parts = content.get("parts")
    if parts is None:
        return _Answer([], [], held)
    if not is_list(parts) or not all(map(is_object, parts)):
        raise errors.malformed("a content whose parts are no list of objects")
    return _Answer(parts, slices_at(held, "parts"), held)


def _texts(parts: Sequence[dict[str, Json]]) -> tuple[str, str]:
    """The visible text, joined as given, and the thoughts, a blank line between them."""
    visible: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        text = part.get("text")
        if text is not None and not isinstance(text, str):
            raise errors.malformed("a part whose text is no text")
        if text and part.get("thought") is True:
            thoughts.append(text)
        elif text:
            visible.append(text)
    return "".join(visible), "\n\n".join(thoughts)


def _tool_calls(answer: _Answer, tools: Sequence[ToolSpec], *, positional: str | None) -> list[ToolCall]:
    names = calls.canonical_names(tools)
    found: list[ToolCall] = []
    for part, raw in zip(answer.parts, answer.slices, strict=True):
        if part.get("functionCall") is not None:
            found.append(_tool_call(part, raw, len(found) + 1, names, positional=positional))
    calls.check_unique(found)
    return found


def _tool_call(
    part: dict[str, Json], raw: bytes, place: int, names: dict[str, str], *, positional: str | None
) -> ToolCall:
    where = f"tool call {place}"
    function = part["functionCall"]
    if not is_object(function):
        raise calls.CallInvalid(f"{where} is not an object")
    call_id = _call_id(function, place, where, positional=positional)
    return replace(
        calls.tool_call(function, "args", call_id, where, names, raw), signature=text_of(part.get("thoughtSignature"))
    )


def _positional(body: Body, connection: Connection) -> str | None:
    """What the ids of calls without one begin with: of another answer it is another, so that no two calls share an id."""
    return f"positional-{sha256_bytes(body.raw)[:8]}" if gives_positional_ids(connection) else None


def _call_id(function: dict[str, Json], place: int, where: str, *, positional: str | None) -> CallId:
    given = function.get("id")
    if given is not None:
        return calls.call_id(given, where)
    if positional is not None:
        return CallId(f"{positional}-{place}")
    raise calls.CallInvalid(
        f"{where} has no id; a call without one can't be answered. Older Gemini models and Vertex send none: "
        "use a model that does, or turn on positionalToolCallIds for this connection"
    )


def _finish(word: str | None, tool_calls: Sequence[ToolCall], *, empty: bool) -> Finish:
    """Raises ModelFailed for an answer that holds nothing and does not say why."""
    if word == "MAX_TOKENS":
        return Finish.LENGTH
    if tool_calls:
        return Finish.TOOL_CALLS
    if word == "STOP":
        return Finish.STOP
    if empty:
        raise errors.malformed(f"an empty answer (finishReason {word or 'missing'})")
    return Finish.OTHER
