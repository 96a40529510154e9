"""What the journal already tells of each effect: asked before an effect is made or an event is written again.

An event's key is its type with whatever of round, call, attempt, commit, checkpoint and update id its payload holds,
so a step that is run again from its first line finds what it did.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..graph.events import REWINDS, Event, EventType
from ..graph.jsontext import Json, is_object

Key = tuple[object, ...]

_REPEATABLE = frozenset(
    {
        EventType.STATUS_CHANGED,
        EventType.RUN_RESUMED,
        EventType.RUN_FORKED,
        EventType.RUN_CANCEL_REQUESTED,
        EventType.JOURNAL_TAIL_REPAIRED,
        *REWINDS,
    }
)


class Ledger:
    """This run's events by key, filed by round so that what no step looks back at can be forgotten.

    An event that names no round belongs to the round under way when it came. What came before the first round stays.
    """

    def __init__(self) -> None:
        self._events: dict[Key, Event] = {}
        self._by_round: dict[int, list[Key]] = {}
        self._round = 0

    def __len__(self) -> int:
        return len(self._events)

    def add(self, events: Iterable[Event]) -> None:
        for event in events:  # a run that is opened again adds all that it ever told
            if event.type in _REPEATABLE:
                continue
            held: dict[str, Json] = event.payload if is_object(event.payload) else {}
            key = _key(event.type, held)
            told = held.get("round")
            at = told if isinstance(told, int) else self._round
            self._round = max(self._round, at)
            self._events[key] = event
            self._by_round.setdefault(at, []).append(key)

    def has(self, event_type: EventType, payload: Json) -> bool:
        """Whether this very event is in the journal already; never for one that may stand there several times."""
        return _key(event_type, payload if is_object(payload) else {}) in self._events

    def find(self, event_type: EventType, **parts: object) -> Event | None:
        """The event with just these parts (`round=3, callId="c1"`), or None."""
        return self._events.get(_key(event_type, parts))

    def told(self, event_type: EventType) -> list[Event]:
        """The events of a type that are not forgotten, as they came."""
        return [event for event in tuple(self._events.values()) if event.type == event_type]

    def forget_before(self, round_number: int) -> None:
        """The run stands in the round after this one at the earliest: no step looks back more than one."""
        for old in [number for number in self._by_round if 0 < number < round_number]:
            for key in self._by_round.pop(old):
                self._events.pop(key, None)


def key_of(event_type: str, payload: Json) -> Key | None:
    """The event's key; None for events that may stand in a journal several times."""
    return None if event_type in _REPEATABLE else _key(event_type, payload if is_object(payload) else {})


def _key(event_type: EventType | str, held: dict[str, Json]) -> Key:
    got = held.get
    return (  # written out: every event's way leads through here
        event_type, got("round"), got("callId"), got("attempt"), got("nextAttempt"), got("commitId"),
        got("checkpointId"), got("updateId"), got("commitCount"),
    )  # fmt: skip
