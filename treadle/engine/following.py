"""What all who follow runs in this process share: one wake-up a run, and one reading of a page that several want.

A thousand followers of a run then cost it one hop to the event loop and one parsed page at a time, not a thousand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..graph.events import Event
from ..nodes.deps import in_thread
from ..storage.journal import Journal
from ..storage.journal_lines import page_size
from .driving import Driving
from .services import Services

ReadPage = Callable[[str, int, int], Awaitable[list[Event]]]
"""The events of a run after a seq, at most so many."""

_BREATH_SECONDS = 500e-6
"""What each follower adds to the pause between two wake-ups, so that the run keeps most of the event loop's time."""


class _Wanted(NamedTuple):
    run_id: str
    after_seq: int
    limit: int


class Following:
    """A `Source` of subscriptions; for one event loop."""

    def __init__(self, services: Services, driving: Driving, read: ReadPage) -> None:
        self._services = services
        self._driving = driving
        self._read = read
        self._readings: dict[_Wanted, asyncio.Task[list[Event]]] = {}
        """Not begun yet: whoever wants the same page may still join."""
        self._rooms: dict[Journal, _Room] = {}

    async def page(self, run_id: str, after_seq: int, limit: int) -> list[Event]:
        """The events are shared by all who asked: they are not to be changed."""
        wanted = _Wanted(run_id, after_seq, page_size(limit))
        reading = self._readings.get(wanted)
        if reading is None:
            reading = self._readings[wanted] = asyncio.ensure_future(self._reading(wanted))
        return await asyncio.shield(reading)

    async def ended(self, run_id: str) -> bool:
        """Of a run that is driven from here its journal tells the end, and nothing is asked of the disk."""
        if self._driving.active(run_id) is not None:
            return False
        return (await in_thread(lambda: self._services.store.load(run_id))).status.is_terminal

    def wake(self, run_id: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` on the event loop soon after each append by this process; returns how to stop."""
        active = self._driving.active(run_id)
        if active is None:
            return _nothing
        journal = active.run.folder.journal
        room = self._rooms.get(journal)
        if room is None:
            room = self._rooms[journal] = _Room(journal, lambda: self._rooms.pop(journal))
        return room.enter(callback)

    async def _reading(self, wanted: _Wanted) -> list[Event]:
        await asyncio.sleep(0)  # those who were woken together ask in one turn of the loop
        del self._readings[wanted]  # from here on an append may come too late for this reading
        return await self._read(*wanted)


class _Room:
    """The followers of one journal; it is there as long as anybody is in it."""

    def __init__(self, journal: Journal, emptied: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._emptied = emptied
        self._due = False
        self._not_before = 0.0
        self._leave_journal = journal.subscribe(self._appended)

    def enter(self, callback: Callable[[], None]) -> Callable[[], None]:
        token = object()
        self._callbacks[token] = callback

        def leave() -> None:
            if self._callbacks.pop(token, None) is not None and not self._callbacks:
                self._leave_journal()
                self._emptied()

        return leave

    def _appended(self, _events: list[Event]) -> None:
        """On the appending thread."""
        if not self._due:
            self._due = True
            self._loop.call_soon_threadsafe(self._wake_soon)

    def _wake_soon(self) -> None:
        wait = self._not_before - self._loop.time()
        if wait > 0:
            self._loop.call_later(wait, self._wake)
        else:
            self._wake()

    def _wake(self) -> None:
        self._due = False  # first: what is appended from here on wakes again
        self._not_before = self._loop.time() + len(self._callbacks) * _BREATH_SECONDS
        for callback in tuple(self._callbacks.values()):
            callback()


def _nothing() -> None:
    """There is nothing to stop."""
