"""Retention by itself: a first pass a while after the engine's start, then now and then, until the engine closes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from ...graph.errors import TreadleError
from ...nodes.deps import in_thread
from ..services import Services

FIRST_AFTER_SECONDS = 45.0
EVERY_SECONDS = 30 * 60.0
RETRY_AFTER_SECONDS = 60.0

Pass = Callable[[threading.Event], None]
"""One pass over the runs; it stops before the next run once the event is set. Blocking."""


class Automation:
    """Begins only where the settings file says so when the engine starts; each pass asks it again."""

    def __init__(self, services: Services, make_pass: Pass) -> None:
        self._services = services
        self._make_pass = make_pass
        self._stopped = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self.last_error: TreadleError | None = None
        """Why the last pass, or the look into the settings file, came to nothing."""

    async def begin(self) -> None:
        try:
            enabled = (await in_thread(self._services.retention)).auto_prune_enabled
        except TreadleError as error:  # who only reads runs needs no settings; whoever starts one is told
            self.last_error = error
            return
        self._stopped.clear()
        if enabled and self._task is None:
            self._task = asyncio.create_task(self._go_on(), name="treadle retention")

    async def close(self) -> None:
        """The run that is under way is finished, and no other is begun."""
        self._stopped.set()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _go_on(self) -> None:
        wait = FIRST_AFTER_SECONDS
        while True:
            await self._services.clock.sleep(wait)
            wait = EVERY_SECONDS if await self._passed() else RETRY_AFTER_SECONDS

    async def _passed(self) -> bool:
        under_way = asyncio.ensure_future(in_thread(lambda: self._make_pass(self._stopped)))
        try:
            await asyncio.shield(under_way)
        except TreadleError as error:
            self.last_error = error
            return False
        except asyncio.CancelledError:
            await under_way
            raise
        self.last_error = None
        return True
