"""Following a run's journal, from here or from another process: every event once, in order."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from ..graph.errors import InvalidInput, TreadleError
from ..graph.events import TERMINAL_EVENTS, Event
from ..storage.journal_lines import page_size

Handler = Callable[[Event], None]
OnError = Callable[[Exception], None]

DEFAULT_INTERVAL_MS = 500
PAGE = 100


class Source(Protocol):
    """Where a subscription gets its events."""

    async def page(self, run_id: str, after_seq: int, limit: int) -> list[Event]: ...

    async def ended(self, run_id: str) -> bool: ...

    def wake(self, run_id: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` on the event loop soon after each append by this process; returns how to stop."""
        ...


class Subscription:
    """An async iterator that ends after the terminal event; or, with a handler, calls until unsubscribed."""

    def __init__(self, source: Source, run_id: str, after_seq: int, interval_ms: float, limit: int) -> None:
        if not run_id.strip():
            raise InvalidInput("runId must not be blank")
        usable = math.isfinite(interval_ms) and interval_ms >= 100
        self._source = source
        self._run_id = run_id
        self._after = after_seq
        self._cursor = after_seq - 1 if after_seq > 0 else after_seq
        """One before: the event that was seen last may be the one that ended the run."""
        self._limit = page_size(limit)
        self._interval = (interval_ms if usable else DEFAULT_INTERVAL_MS) / 1000
        self._stopped = False
        self._awake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events(stop_at_terminal=True)

    def unsubscribe(self) -> None:
        """No event is delivered after this; calling it again changes nothing."""
        self._stopped = True
        self._awake.set()

    def call(self, handler: Handler, on_error: OnError | None) -> None:
        """Deliver to `handler` from now on; what it raises goes to `on_error`, else to the loop's exception handler."""
        if not callable(handler):
            raise InvalidInput("handler must be callable")
        self._task = asyncio.create_task(self._deliver(handler, on_error))

    async def _deliver(self, handler: Handler, on_error: OnError | None) -> None:
        report = on_error or _report
        async for event in self._events(stop_at_terminal=False, on_error=report):
            try:
                handler(event)
            except Exception as error:  # noqa: BLE001 - a stranger's code: its faults go to its own error handler
                report(error)

    async def _events(self, *, stop_at_terminal: bool, on_error: OnError | None = None) -> AsyncIterator[Event]:
        stop_waking = self._source.wake(self._run_id, self._awake.set)
        try:
            over = False
            while not self._stopped:
                self._awake.clear()
                page = await self._page(on_error)
                for event in page:
                    if self._stopped:
                        return
                    self._cursor = event.seq
                    if event.seq > self._after:
                        yield event
                    if stop_at_terminal and event.type in TERMINAL_EVENTS:
                        return
                if len(page) == self._limit:
                    continue  # there may be more
                if over and not page:  # it had ended before this page was read: there is nothing more
                    return
                over = stop_at_terminal and await self._source.ended(self._run_id)
                if not over:
                    await self._sleep()
        finally:
            stop_waking()

    async def _page(self, on_error: OnError | None) -> list[Event]:
        try:
            return await self._source.page(self._run_id, self._cursor, self._limit)
        except TreadleError as error:
            if on_error is None:
                raise
            on_error(error)
            return []

    async def _sleep(self) -> None:
        timer = asyncio.get_running_loop().call_later(self._interval, self._awake.set)
        try:
            await self._awake.wait()
        finally:
            timer.cancel()


def _report(error: Exception) -> None:
    asyncio.get_running_loop().call_exception_handler(
        {"message": "a subscription's handler failed", "exception": error}
    )
