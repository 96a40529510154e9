"""The events of a Responses turn over a WebSocket: which one ends it, what it says, and the answer that it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...graph.jsontext import Json, is_object, loads
from ..errors import provider_says
from ..wire import Body, Unreadable, array_text, member, members, object_text, to_bytes, value_of

_ANSWERS = ("response.completed", "response.done", "response.incomplete")
_ENDS = (*_ANSWERS, "response.failed", "response.cancelled", "error")
_ITEM = "response.output_item.done"


class Listener:
    """Told each frame of a turn as it comes; true for the one that ends it, or that is no JSON.

    What belongs to another response than the one that was created, or to the one built on, ends nothing.
    """

    def __init__(self, previous: str | None) -> None:
        self._previous = previous
        self._created: str | None = None
        self._last: dict[str, Json] = {}
        self.frames = 0

    def __call__(self, frame: bytes) -> bool:
        self.frames += 1
        try:
            event = loads(frame)
        except ValueError:
            return True
        if not is_object(event):
            return False
        if event.get("type") == "response.created":
            self._created = response_id(event)
        if not ends(event) or self._is_stale(response_id(event)):
            return False
        self._last = event
        return True

    @property
    def answered(self) -> str | None:
        """The id of the answer that the turn ended with; None where it ended in a fault."""
        return response_id(self._last) if self._last.get("type") in _ANSWERS else None

    @property
    def fault(self) -> tuple[str, str]:
        """The provider's code and message; blank where the turn ended in an answer."""
        return ("", "") if self._last.get("type") in _ANSWERS else provider_says(_error(self._last))

    @property
    def headers(self) -> Mapping[str, str]:
        """What an error event tells as the headers of its refusal, names in lower case."""
        told = self._last.get("headers")
        held = told.items() if is_object(told) and self._last.get("type") == "error" else ()
        return {name.lower(): value for name, value in held if isinstance(value, str)}

    def _is_stale(self, found: str | None) -> bool:
        if found is None:
            return False
        return found == self._previous if self._created is None else found != self._created


def ends(event: Json) -> bool:
    """Whether the event ends a turn."""
    return is_object(event) and event.get("type") in _ENDS


def response_id(event: dict[str, Json]) -> str | None:
    response = event.get("response")
    found = response.get("id") if is_object(response) else None
    return found if isinstance(found, str) and found.strip() else None


def answer(events: Sequence[str]) -> Body:
    """The response in the last of the events, or the error event itself; raises Unreadable.

    A response without its output gets the items that were told before it, as they were told.
    """
    event = value_of(events[-1])
    if not ends(event):
        raise Unreadable("events without the one that ends an answer")
    if event["type"] == "error":
        return Body(to_bytes(events[-1]), event)
    response, text = event.get("response"), member(events[-1], "response")
    if not is_object(response) or text is None:
        raise Unreadable("an event that ends an answer without holding it")
    if event["type"] not in _ANSWERS or response.get("output"):
        return Body(to_bytes(text), response)
    items = _items(events[:-1])
    return _with_output(text, items) if items else Body(to_bytes(text), response)


def _error(event: dict[str, Json]) -> Json:
    response = event.get("response")
    return {"error": response.get("error")} if is_object(response) else event


def _items(events: Sequence[str]) -> list[str]:
    """The finished items, each exactly as written, in the order of their places."""
    found: dict[int, str] = {}
    for event in events:
        if _ITEM not in event:
            continue
        value = value_of(event)
        item = member(event, "item") if is_object(value) and value.get("type") == _ITEM else None
        if item is None:
            continue
        place = value.get("output_index")
        found[place if isinstance(place, int) else len(found)] = item
    return [found[place] for place in sorted(found)]


def _with_output(response: str, items: Sequence[str]) -> Body:
    pairs = [(held.raw_key, held.raw) for held in members(response) if held.key != "output"]
    text = object_text([*pairs, ('"output"', array_text(items))])
    value: dict[str, Json] = value_of(text)
    return Body(to_bytes(text), value)
