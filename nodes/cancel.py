"""The signal that stops a run: raised once, seen at the next check or at once by what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from ..graph.errors import RunCancelled

T = TypeVar("T")


class CancelSignal:
    """Readable from any thread; raised on the loop."""

    def __init__(self) -> None:
        self._raised = False
        self._waiting: set[asyncio.Task[Any]] = set()
        self._stops: set[Callable[[], object]] = set()

    @property
    def is_raised(self) -> bool:
        return self._raised

    def raise_(self) -> None:
        """Raise the signal and drop whatever is being waited for; a second time changes nothing."""
        self._raised = True
        for task in list(self._waiting):
            task.cancel()
        for stop in list(self._stops):
            stop()

    def check(self) -> None:
        """Raises RunCancelled once the signal is up."""
        if self._raised:
            raise RunCancelled

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Generator[None]:
        """While it is open, `stop` is called when the signal goes up, or at once where it is up; it may be twice.

        For what a thread waits for; `stop` is called on the loop's thread or on this one.
        """
        self._stops.add(stop)
        try:
            if self._raised:
                stop()
            yield
        finally:
            self._stops.discard(stop)

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """The work's result, or RunCancelled the moment the signal goes up; the work is then cancelled.

        A cancel of the caller itself passes through untouched.
        """
        if self._raised:
            work.close()
            raise RunCancelled
        task = asyncio.ensure_future(work)
        self._waiting.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self._raised and not _caller_is_cancelled():
                raise RunCancelled from None
            task.cancel()
            raise
        finally:
            self._waiting.discard(task)


def _caller_is_cancelled() -> bool:
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0
