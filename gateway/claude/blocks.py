"""One canonical message as Claude's content blocks, each of them final bytes."""

from __future__ import annotations

import hashlib
import re

from ...graph.errors import ModelFailed
from ...graph.jsontext import Json, dumps, is_list, is_object
from ...graph.messages import (  # fmt: skip
    MediaPart,
    Message,
    NativePart,
    Part,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    arguments_text,
)
from ..calls import CONTENT_PART, own_native, result_of, wire_name
from ..connections.connection import Connection
from ..outgoing import Fragment
from ..wire import object_bytes, to_text, value_of

PLACEHOLDER = b'{"type":"text","text":"\xe2\x80\x8b"}'
"""A zero-width space, for a user message that has to be there but says nothing: blank text is refused."""

IMAGE = b'{"type":"image"'
"""How an image block of ours begins."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ALIAS_DIGITS = 32
_DATA_URL = re.compile(r"data:(image/[a-zA-Z0-9.+-]+);base64,([A-Za-z0-9+/=_-]+)")


def encoded(message: Message, provider: str, connection: Connection) -> Fragment:
    """The message as a fragment; of a native turn the one item is its whole `content`, as it was received.

    A result whose id Claude's servers would not take has a second item: the same result under the id as it came, for
    where the call stands so in a native turn. Raises ModelFailed; ValueError for a native block that is no JSON array.
    """
    match message.role:
        case Role.ASSISTANT:
            return _assistant(message, provider, connection)
        case Role.TOOL:
            result = result_of(message)
            spellings = dict.fromkeys((wire_id(result.call_id), result.call_id))
            items = tuple(_result(spelling, message) for spelling in spellings)
            return Fragment(message.role, items, answers=result.call_id)
        case Role.SYSTEM | Role.DEVELOPER | Role.USER:
            return Fragment(message.role, _said(message))


def wire_id(call_id: str) -> str:
    """The id itself where Claude's servers take it, else an alias made of its digest: the same on call and result."""
    if _ID.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"call_{digest[:_ALIAS_DIGITS]}"


def _assistant(message: Message, provider: str, connection: Connection) -> Fragment:
    held = tuple(part.call.id for part in message.parts if isinstance(part, ToolCallPart))
    native = own_native(message, provider, connection)
    if native is None:
        return Fragment(message.role, _said(message), calls=held)
    content = value_of(to_text(native.value))
    if not is_list(content):
        raise ValueError("the content of an assistant turn must be an array")
    items = (native.value,) if content else ()  # an empty turn is refused, and there is nothing to lose
    return Fragment(message.role, items, native=True, calls=held, echoed=frozenset(held))


def _said(message: Message) -> tuple[bytes, ...]:
    blocks = [block for part in message.parts if (block := _block(part)) is not None]
    if message.role is Role.USER and message.name:
        blocks = _named(blocks, message)
    return tuple(blocks)


def _block(part: Part) -> bytes | None:
    """The block of a part; None for what is blank, or not for the wire."""
    match part:
        case TextPart(text):
            return _text(text) if text.strip() else None
        case MediaPart(_, value):
            return _media(value)
        case NativePart(provider, value) if provider == CONTENT_PART:
            return _media(value_of(to_text(value)))
        case ToolCallPart(call):
            return _call(call)
        case _:
            return None


def _text(text: str) -> bytes:
    return dumps({"type": "text", "text": text})


def _named(blocks: list[bytes], message: Message) -> list[bytes]:
    """The blocks with the speaker's name before the first text, unless it stands there already."""
    prefix = f"{message.name}: "
    first = next((part.text for part in message.parts if isinstance(part, TextPart) and part.text.strip()), None)
    if first is None or first.startswith(prefix):
        return blocks
    place = blocks.index(_text(first))
    return [*blocks[:place], _text(prefix + first), *blocks[place + 1 :]]


def _call(call: ToolCall) -> bytes:
    return object_bytes(
        [
            (b"type", b'"tool_use"'),
            (b"id", dumps(wire_id(call.id))),
            (b"name", dumps(wire_name(call.model_name))),
            (b"input", arguments_text(call).encode()),
        ]
    )


def _result(spelling: str, message: Message) -> bytes:
    result = result_of(message)
    block: dict[str, Json] = {
        "type": "tool_result", "tool_use_id": spelling, "content": dumps(result.envelope()).decode(),
    }  # fmt: skip
    return dumps(block | {"is_error": True} if result.is_error else block)


def _media(part: Json) -> bytes:
    kind = part.get("type") if is_object(part) else None
    if kind != "image_url":
        raise _unsendable(f"a content part of type {kind!r} can't be sent; Claude takes text and image_url parts")
    image = part.get("image_url")
    url = image.get("url") if is_object(image) else image
    if not isinstance(url, str):
        raise _unsendable("an image_url part has no url")
    return dumps({"type": "image", "source": _source(url)})


def _source(url: str) -> Json:
    if url.lower().startswith(("https://", "http://")):
        return {"type": "url", "url": url}
    found = _DATA_URL.fullmatch(url)
    if found is None:
        raise _unsendable("an image must be a http(s) URL, or a data URL of an image type in base64")
    return {"type": "base64", "media_type": found[1], "data": found[2]}


def _unsendable(message: str) -> ModelFailed:
    return ModelFailed(message, code="model.request_build_failed")
