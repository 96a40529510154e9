"""The harness's clock: a wait moves it instead of lasting, and what is due meanwhile happens at its time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

DAWN = 1767225600.0
"""2026-01-01T00:00:00Z."""

Alarm = Callable[[], Awaitable[None]]


class HarnessClock:
    """Both readings are the same number; real time never moves it."""

    def __init__(self, seconds: float = DAWN) -> None:
        self.seconds = seconds
        self._alarms: list[tuple[float, Alarm]] = []
        self._ringing: set[asyncio.Future[None]] = set()
        self._due = threading.local()

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        act: Callable[[], object] | None = self._due.__dict__.pop("act", None)
        if act is not None:
            act()
        return self.seconds

    def after_this_change(self, act: Callable[[], object]) -> None:
        """Let this thread do `act` when it has let its run's folder go: it asks for the time then."""
        self._due.act = act

    async def sleep(self, seconds: float) -> None:
        until = self.seconds + seconds
        for at, alarm in sorted(self._alarms, key=lambda entry: entry[0]):
            if at <= until:
                self._alarms.remove((at, alarm))
                self.seconds = max(self.seconds, at)
                await self._ring(alarm)
        self.seconds = max(self.seconds, until)
        await asyncio.sleep(0)

    def at(self, seconds: float, alarm: Alarm) -> None:
        """Run `alarm` when a wait gets to that time."""
        self._alarms.append((seconds, alarm))

    async def ring(self) -> bool:
        """Let the time come that the last alarm is set for; False where none is set."""
        if not self._alarms:
            return False
        await self.sleep(max(at for at, _ in self._alarms) - self.seconds)
        return True

    async def _ring(self, alarm: Alarm) -> None:
        """The alarm goes on although the wait that it rings in is cancelled."""
        ringing = asyncio.ensure_future(alarm())
        self._ringing.add(ringing)
        ringing.add_done_callback(self._ringing.discard)
        await asyncio.shield(ringing)
