"""A streamed chat completion as the one document that it would have been without streaming."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...graph.jsontext import Json, is_list, is_object
from .. import sse
from ..wire import Body, array_text, elements, member, members, object_text, to_bytes, value_of

_DONE = "[DONE]"
_TEXTS = frozenset({"content", "reasoning_content", "reasoning", "refusal"})
"""Members of a delta that are pieces of one text."""

_DETAIL_TEXTS = frozenset({"text", "summary"})


def document(data: bytes) -> Body:
    """The whole answer, or the error document that the stream ended in.

    Strings are joined as they were spelled and all else is the exact slice that came last. Raises ModelFailed
    `model.stream_failed` for a stream that stops before its answer is whole.
    """
    answer = _Answer()
    for event in sse.events(data):
        if event.data.strip() == _DONE:
            answer.done = True
            break
        chunk = sse.body_of(event)
        if chunk.value.get("error"):
            return chunk
        answer.take(chunk)
    text = answer.text()
    return Body(to_bytes(text), value_of(text))


@dataclass(slots=True)
class _Pieces:
    """One object that arrives in deltas, member by member."""

    texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    others: dict[str, str] = field(default_factory=dict[str, str])
    order: list[str] = field(default_factory=list[str])

    def take(self, delta: str, texts: frozenset[str], ignored: frozenset[str] = frozenset()) -> None:
        for found in members(delta):
            if found.key in ignored or found.raw == "null":
                continue
            if found.key not in self.order:
                self.order.append(found.key)
            if found.key in texts and found.raw.startswith('"'):
                self.texts.setdefault(found.key, []).append(found.raw)
            elif found.key not in self.others or found.raw != '""':
                self.others[found.key] = found.raw

    def pairs(self) -> dict[str, str]:
        return {key: sse.joined(self.texts[key]) if key in self.texts else self.others[key] for key in self.order}


@dataclass(slots=True)
class _Call:
    own: _Pieces = field(default_factory=_Pieces)
    function: _Pieces = field(default_factory=_Pieces)

    def text(self) -> str:
        function = self.function.pairs()
        return _object({**self.own.pairs(), **({"function": _object(function)} if function else {})})


@dataclass(slots=True)
class _Answer:
    top: _Pieces = field(default_factory=_Pieces)
    message: _Pieces = field(default_factory=_Pieces)
    calls: dict[Json, _Call] = field(default_factory=dict[Json, _Call])
    details: dict[Json, _Pieces] = field(default_factory=dict[Json, _Pieces])
    finish: str | None = None
    done: bool = False

    def take(self, chunk: Body) -> None:
        self.top.take(chunk.text, frozenset(), frozenset({"choices", "object"}))
        choices = chunk.value.get("choices")
        if not is_list(choices) or not choices or not is_object(choices[0]):
            return  # the chunk that tells the usage
        choice = elements(member(chunk.text, "choices") or "[]")[0]
        if is_object(choices[0].get("delta")):
            self._take_delta(choices[0]["delta"], member(choice, "delta") or "{}")
        if choices[0].get("finish_reason") is not None:
            self.finish = member(choice, "finish_reason")

    def text(self) -> str:
        if self.finish is None:
            raise sse.broken("it has no finish_reason" + (", though it says that it is done" if self.done else ""))
        message = self.message.pairs()
        if self.details:
            message["reasoning_details"] = array_text(_object(detail.pairs()) for detail in self.details.values())
        if self.calls:
            message["tool_calls"] = array_text(call.text() for call in self.calls.values())
        message.setdefault("role", '"assistant"')
        choice = _object({"index": "0", "message": _object(message), "finish_reason": self.finish})
        return _object({**self.top.pairs(), "choices": array_text([choice])})

    def _take_delta(self, delta: dict[str, Json], raw: str) -> None:
        self.message.take(raw, _TEXTS, frozenset({"tool_calls", "reasoning_details"}))
        for value, text in _listed(delta, raw, "tool_calls"):
            self._take_call(value, text)
        for value, text in _listed(delta, raw, "reasoning_details"):
            place = value.get("index", len(self.details))
            self.details.setdefault(place, _Pieces()).take(text, _DETAIL_TEXTS)

    def _take_call(self, value: dict[str, Json], raw: str) -> None:
        call = self.calls.setdefault(self._place(value), _Call())
        call.own.take(raw, frozenset(), frozenset({"index", "function"}))
        if is_object(value.get("function")):
            call.function.take(member(raw, "function") or "{}", frozenset({"arguments"}))

    def _place(self, value: dict[str, Json]) -> Json:
        """By `index`; of servers that leave it out, an id begins a call and what has none goes on with the last."""
        if "index" in value:
            return value["index"]
        if value.get("id") or not self.calls:
            return f"call {len(self.calls)}"
        return next(reversed(self.calls))


def _listed(delta: dict[str, Json], raw: str, key: str) -> list[tuple[dict[str, Json], str]]:
    given = delta.get(key)
    if not is_list(given):
        return []
    slices = elements(member(raw, key) or "[]")
    return [(value, text) for value, text in zip(given, slices, strict=True) if is_object(value)]


def _object(pairs: dict[str, str]) -> str:
    return object_text((f'"{key}"', value) for key, value in pairs.items())
