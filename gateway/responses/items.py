"""The input items of a Responses request: prompt messages, answers of others in canonical words, our own as received."""

from __future__ import annotations

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
from ..calls import CONTENT_PART, call_id, wire_name
from ..chat.native import fit_function, is_fit_function
from ..wire import array_bytes, elements, object_bytes, to_bytes, value_of

_OWN_PARTS = frozenset({"input_text", "input_image", "input_file"})


def prompt_item(message: Message) -> bytes:
    """A message of the prompt; the API takes no names, and system text as a developer's."""
    role = Role.DEVELOPER if message.role is Role.SYSTEM else message.role
    if any(_is_content(part) for part in message.parts):
        content = array_bytes(filter(None, map(_content_part, message.parts)))
    else:
        content = dumps(message.text)
    return object_bytes([(b"type", b'"message"'), (b"role", dumps(role.value)), (b"content", content)])


def assistant_items(message: Message) -> tuple[bytes, ...]:
    """An answer whose own items are not known here: its text, then its calls."""
    items: list[bytes] = []
    if any(_is_content(part) for part in message.parts):
        raise _unbuildable("an assistant message can hold no media")
    if message.text:
        content: Json = [{"type": "output_text", "text": message.text}]
        items.append(dumps({"type": "message", "role": "assistant", "content": content}))
    items += [_call(part.call) for part in message.parts if isinstance(part, ToolCallPart)]
    return tuple(items)


def replayed(output: str) -> tuple[bytes, ...]:
    """The items of an `output` list as received, in one piece; each by itself where one must be changed.

    Changed is only a call whose argument text holds no object, which then travels inside one, or whose name servers
    refuse. Raises ValueError for what is no list of objects, ModelFailed `model.invalid_tool_call`.
    """
    items = value_of(output)
    if not is_list(items) or not all(is_object(item) for item in items):
        raise ValueError("the output of a response is a list of objects")
    fit = [_is_fit(item) for item in items]
    if all(fit):
        inside = output.strip()[1:-1]
        return (to_bytes(inside),) if items else ()
    return tuple(
        to_bytes(raw if is_fit else fit_function(raw)) for raw, is_fit in zip(elements(output), fit, strict=True)
    )


def _is_fit(item: dict[str, Json]) -> bool:
    if item.get("type") != "function_call":
        return True
    call_id(item.get("call_id"), "a function_call item")
    return is_fit_function(item)


def _call(call: ToolCall) -> bytes:
    return dumps(
        {
            "type": "function_call",
            "call_id": call.id,
            "name": wire_name(call.model_name),
            "arguments": arguments_text(call),
        }
    )


def _is_content(part: Part) -> bool:
    return isinstance(part, MediaPart) or (isinstance(part, NativePart) and part.provider == CONTENT_PART)


def _content_part(part: Part) -> bytes:
    match part:
        case TextPart(text):
            return dumps({"type": "input_text", "text": text})
        case MediaPart(_, value):
            return _converted(value, dumps(value))
        case NativePart(provider, value) if provider == CONTENT_PART:
            return _converted(value_of(value.decode()), value)
        case _:
            return b""


def _converted(value: Json, raw: bytes) -> bytes:
    """A content part in OpenAI's chat form as this API writes it; raises ModelFailed `model.request_build_failed`."""
    kind = value.get("type") if is_object(value) else None
    if kind in _OWN_PARTS:
        return raw
    if kind == "text" and isinstance(value.get("text"), str):
        return dumps({"type": "input_text", "text": value["text"]})
    held = value.get(kind) if isinstance(kind, str) else None
    if kind == "image_url":
        image = {"url": held} if isinstance(held, str) else held
        if not is_object(image) or not isinstance(image.get("url"), str):
            raise _unbuildable("an image_url part needs the text image_url.url")
        return dumps({"type": "input_image", "image_url": image["url"], **_kept(image, ("detail",))})
    if kind == "file" and is_object(held):
        return dumps({"type": "input_file", **_kept(held, ("file_id", "filename", "file_data"))})
    raise _unbuildable(f"openai_responses takes no content part of type {kind!r}; it takes text, images and files")


def _kept(given: dict[str, Json], keys: tuple[str, ...]) -> dict[str, Json]:
    return {key: given[key] for key in keys if given.get(key) is not None}


def _unbuildable(message: str) -> ModelFailed:
    return ModelFailed(message, code="model.request_build_failed")
