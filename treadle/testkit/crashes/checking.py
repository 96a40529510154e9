"""The invariants: what must be true of a run that was killed and went on, beside one that was left alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Final

from ...graph.events import TERMINAL_EVENTS, EventType
from ...graph.jsontext import Json, is_list, is_object
from ...graph.status import STATUS_OF_END
from .left import Left

_ABOUT_CRASHES: Final = (EventType.RUN_RESUMED, EventType.JOURNAL_TAIL_REPAIRED)
_OF_THE_PLAYING: Final = frozenset({"elapsedMs", "providerState", "responseId", "providerMetadata", "createdAt"})
"""Keys whose values a playing does not share with another one."""
_LONGEST_DIFF: Final = 60


@dataclass(frozen=True, slots=True)
class Kill:
    """One death of the run's process."""

    where: str
    leaves_temporary: bool
    """Whether a file was being replaced just then."""
    unstored: tuple[int, int] | None
    """Round and attempt of an answer that the model may have been asked for, and that the journal did not have."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An invariant that does not hold."""

    invariant: str
    difference: str

    def __str__(self) -> str:
        return f"{self.invariant}:{self.difference}"


def check(whole: Left, found: Left, kills: Sequence[Kill], *, same_requests: bool = True) -> list[Fault]:
    """What is not with the run as it would be without the kills. `whole` is what the play leaves if left alone."""
    pairs: list[tuple[str, Json, Json]] = [
        ("every line of the journal is an event", [], list(found.damaged)),
        ("seq counts from 1 without a gap", list(range(1, len(found.events) + 1)), [e["seq"] for e in found.events]),
        ("event ids differ", [], _twice([event["id"] for event in found.events])),
        *_ends(found),
        ("each kill is told by one resume at most", True, found.types.count(EventType.RUN_RESUMED) <= len(kills)),
        ("the same events in the same order", _outcome(whole, 0), _outcome(found, len(kills))),
        ("the same files", _json(whole.files), _json(found.files)),
        ("the same outside", whole.outside, found.outside),
        ("each effect once", _counted(whole.effects), _counted(found.effects)),
        ("every answer was asked for", _keys(whole), _keys(found)),
        ("no stored answer is paid for twice", [], _paid_twice(found, kills)),
        ("no temporary file but of a write cut off", True, _explained(found, kills) or list(found.temporary)),
    ]
    if same_requests:
        pairs.append(("the same questions to the model", _questions(whole), _questions(found)))
    return [Fault(invariant, _unlike(wanted, got)) for invariant, wanted, got in pairs if wanted != got]


def unstored(found: Left) -> tuple[int, int] | None:
    """Round and attempt of the attempt that was begun and whose answer, or failure, is not journalled."""
    begun: tuple[int, int] | None = None
    for event in found.events:
        if event["type"] == EventType.MODEL_CALL_ATTEMPT_STARTED:
            begun = event["payload"]["round"], event["payload"]["attempt"]
        elif event["type"] in (EventType.MODEL_RESPONSE_STORED, EventType.MODEL_CALL_ATTEMPT_FAILED):
            begun = None
    return begun


def _ends(found: Left) -> Iterator[tuple[str, Json, Json]]:
    terminal = [kind for kind in found.types if kind in TERMINAL_EVENTS]
    yield "one terminal event", 1, len(terminal)
    yield "nothing of the run after its terminal event", found.types[-1:], terminal[-1:]
    status = str(STATUS_OF_END[EventType(terminal[-1])]) if terminal else None
    yield "records and journal tell one status", dict.fromkeys(found.statuses, status), _json(found.statuses)


def _outcome(found: Left, kills: int) -> list[Json]:
    """What the journal tells, without what only a crash makes it tell. A session is replayed once after each."""
    replays = 0
    told: list[Json] = []
    for event in found.events:
        kind = event["type"]
        if kind == EventType.PROVIDER_SESSION_REPLAYED and replays < kills:
            replays += 1
        elif kind not in _ABOUT_CRASHES:
            told.append({"type": kind, "payload": _lasting(event.get("payload"))})
    return told


def _lasting(payload: Json) -> Json:
    if not is_object(payload):
        return payload
    return {key: value for key, value in payload.items() if key not in _OF_THE_PLAYING}


def _keys(found: Left) -> list[Json]:
    keys = {question.key for question in found.asked}
    return [{"round": key[0], "attempt": key[1]} for key in sorted(keys)]


def _paid_twice(found: Left, kills: Sequence[Kill]) -> list[Json]:
    """The answers that were asked for more often than kills made necessary: one that was not stored is asked again."""
    lost = Counter(kill.unstored for kill in kills)
    asked = Counter(question.key for question in found.asked)
    return [
        {"round": key[0], "attempt": key[1], "asked": count, "allowed": 1 + lost[key]}
        for key, count in sorted(asked.items())
        if count > 1 + lost[key]
    ]


def _questions(found: Left) -> list[Json]:
    bodies = {(question.key, question.body) for question in found.asked}
    return [{"round": key[0], "attempt": key[1], "body": body} for key, body in sorted(bodies)]


def _explained(found: Left, kills: Sequence[Kill]) -> bool:
    return len(found.temporary) <= sum(kill.leaves_temporary for kill in kills)


def _counted(effects: Counter[tuple[str, str, str]]) -> list[Json]:
    """Once each: the same content may be written twice by a run that is left alone, too."""
    return [{"kind": kind, "path": path, "sha256": sha, "times": n} for (kind, path, sha), n in sorted(effects.items())]


def _twice(values: list[Json]) -> Json:
    return [value for value, count in Counter(values).items() if count > 1]


def _json(value: object) -> Json:
    return value


def _unlike(wanted: Json, got: Json) -> str:
    before, after = (_lines(value) for value in (wanted, got))
    diff = list(unified_diff(before, after, "expected", "found", n=1, lineterm=""))
    more = [f"… and {len(diff) - _LONGEST_DIFF} more lines"] if len(diff) > _LONGEST_DIFF else []
    return "".join(f"\n  {line}" for line in [*diff[2:_LONGEST_DIFF], *more])


def _lines(value: Json) -> list[str]:
    items = value if is_list(value) else [value]
    lines: list[str] = []
    for item in items:
        is_flat = not is_object(item) or "payload" not in item
        text = json.dumps(item, ensure_ascii=False, indent=None if is_flat and is_list(value) else 1, default=str)
        lines += text.split("\n")
    return lines
