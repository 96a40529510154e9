"""Server-sent events, and JSON strings that arrive in fragments: joined as they are spelled, never printed anew."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..graph.errors import ModelFailed
from ..graph.jsontext import is_object
from .wire import Body, Unreadable, to_bytes, value_of

_BOM = "\ufeff"
_LINE = re.compile(r"\r\n|\n|\r")


class StreamEvent(NamedTuple):
    name: str
    data: str


def is_stream(data: bytes) -> bool:
    """Whether a reply's body is a stream of events and no JSON."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"data:", b"event:", b"id:", b"retry:", b":"))


def events(data: bytes) -> list[StreamEvent]:
    """The events of a whole stream, comments left out; the last one needs no blank line after it.

    Raises Unreadable for what is not UTF-8.
    """
    try:
        text = data.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError:
        raise Unreadable("text that is not UTF-8") from None
    found: list[StreamEvent] = []
    name, held = "", list[str]()
    for line in [*_LINE.split(text), ""]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if held:
                found.append(StreamEvent(name, "\n".join(held)))
            name, held = "", []
        elif field == "data":
            held.append(value)
        elif field == "event":
            name = value
    return found


def body_of(event: StreamEvent) -> Body:
    """The JSON object in an event; raises ModelFailed `model.stream_failed` where it is cut off, or none."""
    try:
        value = value_of(event.data)
    except ValueError:
        raise broken("an event of it is no JSON") from None
    if not is_object(value):
        raise broken("an event of it is no JSON object")
    return Body(to_bytes(event.data), value)


def joined(literals: Iterable[str]) -> str:
    """JSON strings as one JSON string, each character spelled as it came."""
    return '"' + "".join(literal[1:-1] for literal in literals) + '"'


def broken(what: str) -> ModelFailed:
    """The stream can't be used; another attempt may bring a whole one."""
    return ModelFailed(f"the model's answer broke off: {what}", code="model.stream_failed", retryable=True)
