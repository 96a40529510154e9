"""Time and ids that a test decides: a run played twice with these writes the same bytes twice."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass

NEW_YEAR = 1767225600.0
"""2026-01-01T00:00:00Z."""


class CountingIds:
    """The number of the call, as 32 digits: `00…01`, `00…02`, … Safe for threads."""

    def __init__(self) -> None:
        self._given = 0
        self._lock = threading.Lock()

    def new(self) -> str:
        with self._lock:
            self._given += 1
            return f"{self._given:032x}"


@dataclass(frozen=True, slots=True)
class _Sleeper:
    due: float
    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event


class ManualClock:
    """Stands still until somebody sleeps (time is then past the sleep at once), or until `advance` is called.

    With `sleepers_wait`, a sleep lasts until `advance` has moved the time past its end. Safe for threads.
    """

    def __init__(self, now: float = NEW_YEAR, *, sleepers_wait: bool = False) -> None:
        self.slept: list[float] = []
        """Every sleep that was asked for, in seconds."""
        self._now = now
        self._sleepers_wait = sleepers_wait
        self._sleepers: list[_Sleeper] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    @property
    def sleeping(self) -> int:
        """How many wait for `advance`."""
        return len(self._sleepers)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if not self._sleepers_wait:
            self.advance(seconds)
            await asyncio.sleep(0)
            return
        sleeper = _Sleeper(self._now + seconds, asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._sleepers.append(sleeper)
        try:
            while self._now < sleeper.due:
                sleeper.woken.clear()
                await sleeper.woken.wait()
        finally:
            with self._lock:
                self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        """Move the time on and wake whoever has slept long enough; from any thread."""
        with self._lock:
            self._now += seconds
            due = [sleeper for sleeper in self._sleepers if sleeper.due <= self._now]
        for sleeper in due:
            sleeper.loop.call_soon_threadsafe(sleeper.woken.set)
