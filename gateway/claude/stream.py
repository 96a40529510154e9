"""Streamed Claude messages as the documents that they would have been without streaming."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...graph.jsontext import Json, is_object
from .. import sse
from ..wire import Body, array_text, member, members, object_text, slice_of, to_bytes, value_of

_STRINGS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The member of a block that each kind of delta goes on with."""


def documents(data: bytes) -> list[Body]:
    """Each whole message of the stream (a paused answer is gone on with in another), or the error that it ended in.

    Strings are joined as they were spelled; a call's input is read when its block stops. Raises ModelFailed
    `model.stream_failed` for a stream that stops before its message does.
    """
    messages = [_Message()]
    for event in sse.events(data):
        told = sse.body_of(event)
        if told.value.get("type", event.name) == "error" or told.value.get("error"):
            return [told]
        if messages[-1].stopped and told.value.get("type") == "message_start":
            messages.append(_Message())
        messages[-1].take(told)
    texts = [message.text() for message in messages]
    return [Body(to_bytes(text), value_of(text)) for text in texts]


@dataclass(slots=True)
class _Block:
    start: str
    strings: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    input: list[str] = field(default_factory=list[str])
    citations: list[str] = field(default_factory=list[str])
    stopped: bool = False

    def take(self, kind: Json, delta: Body) -> None:
        if kind == "input_json_delta":
            self.input.append(str(delta.value.get("partial_json", "")))
        elif kind == "citations_delta":
            self.citations.append(member(delta.text, "citation") or "null")
        elif kind in _STRINGS:
            key = _STRINGS[str(kind)]
            self.strings.setdefault(key, []).append(member(delta.text, key) or '""')

    def text(self) -> str:
        pairs = {found.key: found.raw for found in members(self.start)}
        for key, literals in self.strings.items():
            began = pairs.get(key, '""')
            pairs[key] = sse.joined([began if began.startswith('"') else '""', *literals])
        if self.citations:
            pairs["citations"] = array_text(self.citations)
        written = "".join(self.input)
        if written.strip():
            pairs["input"] = _checked(written)
        return object_text((f'"{key}"', value) for key, value in pairs.items())


@dataclass(slots=True)
class _Message:
    start: str | None = None
    blocks: dict[Json, _Block] = field(default_factory=dict[Json, _Block])
    changes: dict[str, str] = field(default_factory=dict[str, str])
    usage: dict[str, str] = field(default_factory=dict[str, str])
    stopped: bool = False

    def take(self, told: Body) -> None:
        match told.value.get("type"):
            case "message_start" if is_object(told.value.get("message")):
                self.start = member(told.text, "message")
                self._count(self.start or "{}")
            case "content_block_start" if is_object(told.value.get("content_block")):
                self.blocks[told.value.get("index")] = _Block(member(told.text, "content_block") or "{}")
            case "content_block_delta" if is_object(told.value.get("delta")):
                delta = told.value["delta"]
                self._block(told).take(delta.get("type"), Body(slice_of(told.raw, "delta") or b"{}", delta))
            case "content_block_stop":
                self._block(told).stopped = True
            case "message_delta":
                self.changes |= {found.key: found.raw for found in members(member(told.text, "delta") or "{}")}
                self._count(told.text)
            case "message_stop":
                self.stopped = True
            case _:
                pass  # a ping, or an event of a later day

    def text(self) -> str:
        if self.start is None or not self.stopped:
            raise sse.broken("its message has no end")
        if not all(block.stopped for block in self.blocks.values()):
            raise sse.broken("a block of it has no end")
        pairs = {found.key: found.raw for found in members(self.start)} | self.changes
        pairs["content"] = array_text(block.text() for block in self.blocks.values())
        pairs["usage"] = object_text((f'"{key}"', value) for key, value in self.usage.items())
        return object_text((f'"{key}"', value) for key, value in pairs.items())

    def _block(self, told: Body) -> _Block:
        try:
            return self.blocks[told.value.get("index")]
        except (KeyError, TypeError):
            raise sse.broken("it goes on with a block that it did not begin") from None

    def _count(self, holder: str) -> None:
        """Later counts are of all so far, so they stand in the place of earlier ones."""
        usage = member(holder, "usage")
        if usage is not None and usage.startswith("{"):
            self.usage |= {found.key: found.raw for found in members(usage)}


def _checked(written: str) -> str:
    """The input of a call as the model wrote it, which must be JSON once it is joined."""
    try:
        value_of(written)
    except ValueError:
        raise sse.broken("the input of a tool call stops in the middle") from None
    return written
