"""The documents of one Claude answer as one: what came before each pause, then the end, block by block as received."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph.jsontext import Json, is_list, is_object
from .. import wire
from ..sse import is_stream
from ..wire import Body, Unreadable, documents, member, members, object_text, to_bytes, value_of
from . import stream as claude_stream

_SPACE = " \t\n\r"


def read_answer(data: bytes) -> Body:
    """The one document, or several that stand one after another joined, streamed or whole.

    Raises Unreadable, and ModelFailed `model.stream_failed` for a stream that broke off.
    """
    if is_stream(data):
        bodies = claude_stream.documents(data)
        return bodies[0] if len(bodies) == 1 else _joined(bodies)
    try:
        return wire.read(data)
    except Unreadable:
        bodies = _several(data)
        if not bodies:
            raise
    return _joined(bodies)


def _several(data: bytes) -> list[Body]:
    """The documents where there are at least two, each an object."""
    try:
        texts = documents(data)
        values = [value_of(text) for text in texts]
    except ValueError:
        return []
    if len(texts) < 2 or not all(is_object(value) for value in values):
        return []
    return [Body(to_bytes(text), value) for text, value in zip(texts, values, strict=True)]


def _joined(bodies: Sequence[Body]) -> Body:
    """The last document, with the content of all; itself where it is no answer, as an error is none."""
    last = bodies[-1]
    if not all(is_list(body.value.get("content")) for body in bodies):
        return last
    content = "[" + ",".join(filter(None, (_inside(body) for body in bodies))) + "]"
    pairs = [(found.raw_key, content if found.key == "content" else found.raw) for found in members(last.text)]
    blocks = [block for body in bodies for block in body.value["content"]]
    value = last.value | {"content": blocks, "usage": _usage([body.value.get("usage") for body in bodies])}
    return Body(to_bytes(object_text(pairs)), value)


def _inside(body: Body) -> str:
    """What stands between the brackets of the content, as written."""
    content = (member(body.text, "content") or "[]").strip(_SPACE)
    return content[1:-1].strip(_SPACE)


def _usage(usages: Sequence[Json]) -> Json:
    """The tokens of all documents: each of them was asked for and is paid for."""
    total: dict[str, Json] = {}
    for usage in usages:
        for key, value in usage.items() if is_object(usage) else ():
            before = total.get(key)
            total[key] = before + value if _is_count(before) and _is_count(value) else value
    return total or None


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
