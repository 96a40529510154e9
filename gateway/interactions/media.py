"""Content parts of a prompt, written in OpenAI's form, as blocks of the Interactions API."""

from __future__ import annotations

import re

from ...graph.errors import ModelFailed
from ...graph.jsontext import Json, dumps, is_object
from ...graph.messages import MediaPart, NativePart, Part, TextPart
from .. import calls
from ..wire import object_bytes, to_text, value_of

_TEXT = b'{"type":"text","text":'
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*;base64,(.*)", re.DOTALL | re.ASCII | re.IGNORECASE)
_AUDIO = {"mp3": "audio/mp3", "mpeg": "audio/mpeg", "m4a": "audio/m4a"}

_KINDS = {"image_url": "image", "video_url": "video", "audio_url": "audio"}


def text_block(text: str) -> bytes:
    return _TEXT + dumps(text) + b"}"


def is_text_block(block: bytes) -> bool:
    """Whether one of our own blocks is text."""
    return block.startswith(_TEXT)


def text_of(block: bytes) -> bytes:
    """The JSON string in a text block of ours."""
    return block[len(_TEXT) : -1]


def block_of(part: Part) -> bytes | None:
    """The block of a prompt's part; None for what says nothing.

    Raises ModelFailed `model.request_build_failed` for content that the API has no block for.
    """
    match part:
        case TextPart(text):
            return text_block(text) if text else None
        case MediaPart(_, value):
            return _converted(value)
        case NativePart(provider, value) if provider == calls.CONTENT_PART:
            return _converted(value_of(to_text(value)))
        case _:
            return None


def _converted(part: Json) -> bytes:
    if not is_object(part) or not isinstance(kind := part.get("type"), str):
        raise _unfit("a content part without a type")
    held = part.get(kind)
    if kind == "text" and isinstance(held, str):
        return text_block(held)
    if kind in _KINDS:
        return _from_url(_KINDS[kind], held.get("url") if is_object(held) else held)
    if kind == "input_audio" and is_object(held):
        return _audio(held)
    if kind == "file" and is_object(held) and isinstance(held.get("file_data"), str):
        return _from_url("document", held["file_data"])
    raise _unfit(f"a content part of type {kind!r}")


def _from_url(kind: str, url: Json) -> bytes:
    if isinstance(url, str) and url.startswith(("https://", "http://")) and kind != "document":
        return _block(kind, uri=url)
    found = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if found is None:
        raise _unfit(f"{kind} content that is neither an http(s) URL nor a base64 data URL")
    return _block(kind, mime_type=found[1], data=found[2])


def _audio(held: dict[str, Json]) -> bytes:
    data, form = held.get("data"), held.get("format")
    if not isinstance(data, str) or not isinstance(form, str):
        raise _unfit("input_audio without its data and format")
    return _block("audio", mime_type=_AUDIO.get(form, f"audio/{form}"), data=data)


def _block(kind: str, **held: str) -> bytes:
    pairs = [(b"type", dumps(kind)), *((key.encode(), dumps(value)) for key, value in held.items())]
    return object_bytes(pairs)


def _unfit(what: str) -> ModelFailed:
    return ModelFailed(
        f"the prompt holds {what}, which gemini_interactions can't send: take it out, or give it as text, "
        "image_url, video_url, input_audio or file",
        code="model.request_build_failed",
    )
