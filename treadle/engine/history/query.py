"""What a caller may ask of the list of runs; everything is checked before anything is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...graph.errors import InvalidInput
from ...graph.identity import ChatRef, chat_ref, stable_chat_id
from ...graph.jsontext import Json, is_object
from ...graph.status import RunStatus

PAGE_RUNS = 50
MOST_RUNS = 200


@dataclass(frozen=True, slots=True)
class RunCursor:
    """A place in the list: after this run, which is not listed again."""

    created_at: str
    run_id: str

    def to_json(self) -> dict[str, Json]:
        return {"createdAt": self.created_at, "runId": self.run_id}


@dataclass(frozen=True, slots=True)
class RunQuery:
    """What is None is not asked for."""

    chat_ref: ChatRef | None
    stable_chat_id: str | None
    statuses: frozenset[RunStatus] | None
    before: RunCursor | None
    limit: int


def run_query(
    ref: ChatRef | Json, stable: str | None, statuses: Iterable[str] | None, before: RunCursor | Json, limit: int | None
) -> RunQuery:
    """Raises InvalidInput, naming the field."""
    return RunQuery(
        ref if ref is None or isinstance(ref, ChatRef) else chat_ref(ref),
        None if stable is None else stable_chat_id(_text(stable, "stableChatId")),
        _statuses(statuses),
        before if before is None or isinstance(before, RunCursor) else _cursor(before),
        _limit(limit),
    )


def _limit(limit: int | None) -> int:
    if limit is None:
        return PAGE_RUNS
    if type(limit) is not int or not 1 <= limit <= MOST_RUNS:
        raise InvalidInput(
            f"limit must be an integer from 1 to {MOST_RUNS}, not {limit!r}", code="agent.run_history_limit_invalid"
        )
    return limit


def _statuses(given: Iterable[str] | None) -> frozenset[RunStatus] | None:
    """None where there is none: an empty list filters nothing."""
    if isinstance(given, str):
        raise InvalidInput(f"statuses must be a list of statuses, not {given!r}")
    statuses: set[RunStatus] = set()
    for name in given or ():
        try:
            statuses.add(RunStatus(name))
        except ValueError as error:
            raise InvalidInput(f"statuses: {name!r} is not one of {', '.join(RunStatus)}") from error
    return frozenset(statuses) or None


def _cursor(given: Json) -> RunCursor:
    if not is_object(given):
        raise _bad_cursor("must be an object {createdAt, runId}")
    unknown = sorted(given.keys() - {"createdAt", "runId"})
    if unknown:
        raise _bad_cursor(f"has an unknown field {unknown[0]}; give back a list's nextCursor as it is")
    for name in ("createdAt", "runId"):
        value = given.get(name)
        if not isinstance(value, str) or not value.strip():
            raise _bad_cursor(f"needs {name}: a non-blank string")
    return RunCursor(given["createdAt"], given["runId"])


def _bad_cursor(what: str) -> InvalidInput:
    return InvalidInput(f"before {what}", code="agent.run_history_cursor_invalid")


def _text(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {value!r}")
    return value
