"""`events`: a journal of many events, read in pages and followed while it grows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.errors import TreadleError
from treadle.graph.events import Event
from treadle.graph.jsontext import Json, is_object
from treadle.storage.journal import Journal

from ..driving import look, refused
from ..faults import CaseFault, a_list, only, shown, step_of
from ..leaving import entry, journal_at, leave_a_run
from ..observed import Observed
from ..stage import RUN, Stage, staged
from .journal_bytes import page_of

KEYS = frozenset({"total", "calls", "append_while_polling", "subscribe", "handler_throws_at_seq", "unsubscribe_twice"})

_QUIET_S = 0.35
"""Longer than a poll: what is not delivered by then is not delivered."""
_ADDED = 5
"""Events that are appended meanwhile, where the case does not say how many."""


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed(sent=[])
    async with staged() as stage:
        path = await leave_a_run(stage)
        journal = _filled(stage, path, given["total"])
        engine = stage.engine()
        adding = _Adding(journal, given.get("append_while_polling"))
        pages: list[Json] = []
        for place, call in enumerate(a_list(given.get("calls") or [], "calls")):
            pages.append(await _called(engine, call, f"calls[{place}]", pages, adding, seen))
        seen.facts["pages"] = pages
        seen.facts["seqs"] = [seq for page in pages if page is not None for seq in page]
        if given.keys() & {"subscribe", "handler_throws_at_seq", "unsubscribe_twice"}:
            await _follow(engine, journal, given, adding, seen)
        seen.run = look(path.parent)
    return seen


class _Adding:
    """Appends, one event after each page, for as long as there are any left to append."""

    def __init__(self, journal: Journal, wanted: Json) -> None:
        self._journal = journal
        if wanted is not None and not isinstance(wanted, int):
            raise CaseFault(f"append_while_polling must be a number or true, not {shown(wanted)}")
        self.left = _ADDED if wanted is True else wanted or 0

    def add(self) -> None:
        if self.left:
            self.left -= 1
            self._journal.append([entry("status_changed", {"added": True})])


def _filled(stage: Stage, path: Path, total: int) -> Journal:
    path.unlink()
    journal = journal_at(stage, path)
    journal.append([entry("run_created"), *(entry("status_changed", {"n": n}) for n in range(2, total + 1))])
    return journal


async def _called(engine: Engine, call: Json, where: str, pages: list[Json], adding: _Adding, seen: Observed) -> Json:
    """The seqs that the call gave; None where it was refused."""
    name, argument = step_of(call, where)
    try:
        match name:
            case "readEvents":
                return _seqs(await engine.read_events(RUN, **page_of(argument)))
            case "page_to_end":
                return await _to_the_end(engine, pages, argument, adding)
            case other:
                raise CaseFault(f"{where} is {other!r}, which the runner does not know")
    except TreadleError as error:
        refused(seen, error)
        return None


async def _to_the_end(engine: Engine, pages: list[Json], argument: Json, adding: _Adding) -> list[int]:
    more = page_of(argument) if is_object(argument) else {}
    found: list[int] = []
    last = max((page[-1] for page in pages if page), default=0)
    while page := _seqs(await engine.read_events(RUN, **{**more, "after_seq": last})):
        found += page
        last = page[-1]
        adding.add()
    return found


async def _follow(engine: Engine, journal: Journal, given: dict[str, Json], adding: _Adding, seen: Observed) -> None:
    delivered: list[int] = []
    throws_at = given.get("handler_throws_at_seq")

    def handler(event: Event) -> None:
        delivered.append(event.seq)
        if event.seq == throws_at:
            raise RuntimeError("the handler fails, as the case says")

    subscribe = given.get("subscribe")
    options = subscribe if is_object(subscribe) else {}
    only(options, ("afterSeq", "limit", "intervalMs"), "subscribe")
    faults: list[Exception] = []
    subscription = engine.subscribe(
        RUN,
        handler,
        after_seq=options.get("afterSeq", 0),
        limit=options.get("limit", 100),
        interval_ms=options.get("intervalMs", 100),
        on_error=faults.append,
    )
    while adding.left:
        await asyncio.sleep(0.02)
        adding.add()
    await _until(lambda: bool(delivered) and delivered[-1] >= journal.last_seq)
    for _ in range(2 if given.get("unsubscribe_twice") else 1):
        subscription.unsubscribe()
    before = len(delivered)
    journal.append([entry("status_changed", {"late": True})])
    await asyncio.sleep(_QUIET_S)
    seen.facts["delivered"] = delivered[:before]
    seen.facts["after_unsubscribe_calls"] = len(delivered) - before


async def _until(done: Callable[[], bool], seconds: float = 5.0) -> None:
    """Until it is done, or nothing more can be expected."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        await asyncio.sleep(0.02)


def _seqs(events: list[Event]) -> list[int]:
    return [event.seq for event in events]
