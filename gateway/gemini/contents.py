"""Messages as Gemini's `contents`: their parts are encoded once, and only grouped into turns when a request is joined.

What a fragment's items are depends on whose words they hold:
- the prompt's: its parts, one each;
- the model's: its content (of ours the parts, joined), then the name of each call as it stands there;
- a result's: the member that repeats the call's id, the tool's alias, the response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import groupby

from ...graph.errors import ModelFailed
from ...graph.jsontext import Json, dumps, is_list, is_object
from ...graph.messages import (  # fmt: skip
    MediaPart,
    Message,
    NativePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResultPart,
    arguments_text,
)
from .. import calls
from ..connections.connection import Connection
from ..outgoing import Fragment
from ..wire import member, to_text, value_of
from .settings import is_gemini_3

_TEXT = b'{"text":"', b'"}'
_BLANK = b'{"role":"user","parts":[{"text":""}]}'
_USER, _MODEL, _END = b'{"role":"user","parts":[', b'{"role":"model","parts":[', b"]}"

_RESULT = b'%b{"functionResponse":{%b"name":%b,"response":'

_UNSIGNED = b',"thoughtSignature":"skip_thought_signature_validator"'
"""What Gemini 3 takes in place of a signature, on a call that is not its own."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^;,]*)*?;base64,", re.ASCII | re.IGNORECASE)


class _Turn(Enum):
    """Which neighbours become one content; the model's own never do."""

    USER = auto()
    MODEL = auto()
    NATIVE = auto()
    RESULTS = auto()


def encoded(message: Message, native: str, connection: Connection) -> Fragment:
    """One message; `native` is the provider of the blocks that are replayed. Raises ModelFailed and ValueError."""
    match message.role:
        case Role.ASSISTANT:
            return _assistant(message, native, connection)
        case Role.TOOL:
            result = calls.result_of(message)
            items = (b'"id":%b,' % dumps(result.call_id), dumps(calls.wire_name(result.name)), dumps(result.envelope()))
            return Fragment(message.role, items, answers=result.call_id)
        case Role.SYSTEM | Role.DEVELOPER | Role.USER:
            return Fragment(message.role, tuple(_prompt(message)))


def opening(fragments: Sequence[Fragment]) -> int:
    """How many messages the request's system text begins with: those of the system, but never all that there are."""
    count = 0
    for fragment in fragments[:-1]:
        if fragment.role is not Role.SYSTEM or not all(map(_is_text, fragment.items)):
            break
        count += 1
    return count


def system_text(fragments: Sequence[Fragment]) -> bytes | None:
    """The texts of these messages as one content, a blank line between them; None where they are blank."""
    before, after = _TEXT
    texts = [item[len(before) : -len(after)] for fragment in fragments for item in fragment.items]
    return b'{"parts":[%b%b%b]}' % (before, b"\\n\\n".join(texts), after) if texts else None


def turns(fragments: Sequence[Fragment]) -> list[bytes]:
    """The contents in pieces with commas between them; blank messages are left out, unless nothing else is there."""
    pieces: list[bytes] = []
    asked: Fragment | None = None
    for turn, group in groupby((fragment for fragment in fragments if fragment.items), key=_turn):
        held = list(group)
        if turn is _Turn.NATIVE:
            for fragment in held:
                pieces += (b",", fragment.items[0])
        elif turn is _Turn.MODEL:
            pieces += _content(_MODEL, [fragment.items[0] for fragment in held])
        elif turn is _Turn.RESULTS:
            pieces += _results(held, asked)
        else:
            pieces += _content(_USER, [item for fragment in held for item in fragment.items])
        asked = held[-1] if held[-1].role is Role.ASSISTANT else None
    return pieces[1:] or [_BLANK]


def _turn(fragment: Fragment) -> _Turn:
    if fragment.role is Role.TOOL:
        return _Turn.RESULTS
    if fragment.role is not Role.ASSISTANT:
        return _Turn.USER
    return _Turn.NATIVE if fragment.native else _Turn.MODEL


def _content(head: bytes, parts: list[bytes]) -> Iterator[bytes]:
    yield from (b",", head)
    for place, part in enumerate(parts):
        if place:
            yield b","
        yield part
    yield _END


def _results(held: list[Fragment], asked: Fragment | None) -> list[bytes]:
    """One content with every result, in the order of the calls; an id is repeated where the model itself gave one."""
    names = {} if asked is None else dict(zip(asked.calls, asked.items[1:], strict=True))
    if [fragment.answers for fragment in held] != list(names):
        order = {call: place for place, call in enumerate(names)}
        held = sorted(held, key=lambda one: order.get(one.answers or "", 0))
    echoed: frozenset[str] = frozenset() if asked is None else asked.echoed
    pieces = [b",", _USER]
    for place, fragment in enumerate(held):
        call = fragment.answers or ""
        own_id, alias, response = fragment.items
        given = own_id if call in echoed else b""
        pieces.append(_RESULT % (b"," if place else b"", given, names.get(call, alias)))
        pieces += (response, b"}}")
    pieces.append(_END)
    return pieces


def _assistant(message: Message, provider: str, connection: Connection) -> Fragment:
    held = [part.call for part in message.parts if isinstance(part, ToolCallPart)]
    ids = tuple(call.id for call in held)
    native = calls.own_native(message, provider, connection)
    if native is not None:
        return _replayed(native, ids, tuple(dumps(call.model_name) for call in held))
    parts = [item for part in message.parts for item in _part(part)]
    signed = is_gemini_3(connection.model)
    names = tuple(dumps(calls.wire_name(call.model_name)) for call in held)
    for place, (call, name) in enumerate(zip(held, names, strict=True)):
        parts.append(_function_call(call, name, signed=signed and place == 0))
    return Fragment(message.role, (b",".join(parts), *names) if parts else (), calls=ids)


def _replayed(native: NativePart, ids: tuple[str, ...], names: tuple[bytes, ...]) -> Fragment:
    """The model's own content as it came, which has its place only where it has parts; a missing role is put in front."""
    text = to_text(native.value)
    value = value_of(text)
    if not is_object(value):
        raise ValueError("a Gemini content that is no object")
    parts = value.get("parts")
    if not is_list(parts) or not parts:
        return Fragment(Role.ASSISTANT, (), native=True, calls=ids)
    content = native.value
    if member(text, "role") is None:
        content = b'{"role":"model",' + content.lstrip()[1:]
    return Fragment(Role.ASSISTANT, (content, *names), True, ids, echoed=frozenset(_native_ids(parts)))


def _native_ids(parts: list[Json]) -> Iterator[str]:
    for part in parts:
        asked = part.get("functionCall") if is_object(part) else None
        given = asked.get("id") if is_object(asked) else None
        if isinstance(given, str):
            yield given


def _function_call(call: ToolCall, name: bytes, *, signed: bool) -> bytes:
    """A call that is not this model's own: without its id, which belongs to whoever gave it."""
    arguments = arguments_text(call).encode()
    return b'{"functionCall":{"name":%b,"args":%b}%b}' % (name, arguments, _UNSIGNED if signed else b"")


def _prompt(message: Message) -> Iterator[bytes]:
    """The parts of a prompt message; its speaker's name, where there is one, stands before what is said."""
    if all(isinstance(part, TextPart) for part in message.parts):
        yield from _part(TextPart(_named(message.text, message.name)))
        return
    name = message.name
    for part in message.parts:
        if isinstance(part, TextPart) and part.text.strip():
            yield from _part(TextPart(_named(part.text, name)))
            name = None
        else:
            yield from _part(part)


def _named(text: str, name: str | None) -> str:
    return f"{name}: {text}" if name and text.strip() and not text.startswith(f"{name}: ") else text


def _is_text(item: bytes) -> bool:
    return item.startswith(_TEXT[0])


def _part(part: Part) -> Iterator[bytes]:
    match part:
        case TextPart(text):
            if text.strip():
                yield dumps({"text": text})
        case MediaPart(_, value):
            yield dumps({"inlineData": _inline(value)})
        case NativePart(provider, value) if provider == calls.CONTENT_PART:
            yield dumps({"inlineData": _inline(value_of(to_text(value)))})
        case NativePart() | ReasoningPart() | ToolCallPart() | ToolResultPart():
            return


def _inline(value: Json) -> Json:
    """Media as Gemini takes it, with its bytes in the request; raises ModelFailed `model.request_build_failed`."""
    kind = value.get("type") if is_object(value) else None
    media = value.get(kind) if is_object(value) and isinstance(kind, str) else None
    match kind, media:
        case "image_url" | "video_url", {"url": str() as url}:
            return _data(url, kind)
        case "image_url" | "video_url", str() as url:
            return _data(url, kind)
        case "file", {"file_data": str() as url}:
            return _data(url, kind)
        case "input_audio", {"data": str() as data, "format": str() as form}:
            return {"mimeType": f"audio/{form}", "data": data}
        case _:
            raise _unfit(
                f"a content part of type {kind!r} can't be sent to Gemini; it takes text and media as data URLs"
            )


def _data(url: str, kind: str) -> Json:
    found = _DATA_URL.match(url)
    if found is None:
        raise _unfit(f"{kind} must be a data URL in base64 (data:image/png;base64,…): Gemini fetches no other")
    return {"mimeType": found[1], "data": url[found.end() :]}


def _unfit(message: str) -> ModelFailed:
    return ModelFailed(message, code="model.request_build_failed")
