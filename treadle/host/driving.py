"""A run under the eyes of a person: it is followed to its end, and Ctrl-C cancels it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from ..graph.events import Event
from .timeline import Timeline, row, told_by

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from ..storage.runs import RunRecord

_PAGE = 500


async def drive(engine: Engine, run_id: str, timeline: Timeline | None, *, after_seq: int = 0) -> RunRecord:
    """Follow a run that this engine drives to its end; the first Ctrl-C cancels it, the second leaves."""
    cancelling: set[asyncio.Task[object]] = set()

    def cancel() -> None:
        print("treadle: cancelling; Ctrl-C again leaves at once", file=sys.stderr)
        cancelling.add(asyncio.ensure_future(engine.cancel(run_id)))

    with _first_interrupt(cancel):
        if timeline is not None:
            await _follow(engine, run_id, timeline, after_seq)
        record = await engine.wait(run_id)
        await asyncio.gather(*cancelling)
    return record


async def all_events(engine: Engine, run_id: str, after_seq: int = 0) -> list[Event]:
    events: list[Event] = []
    while True:
        page = await engine.read_events(run_id, after_seq=after_seq, limit=_PAGE)
        events += page
        if len(page) < _PAGE:
            return events
        after_seq = page[-1].seq


async def _follow(engine: Engine, run_id: str, timeline: Timeline, seen: int) -> None:
    waiting: deque[Event] = deque()
    async for edge in engine.transitions(run_id):
        waiting += await all_events(engine, run_id, seen)
        seen = waiting[-1].seq if waiting else seen
        timeline.show(
            row(edge.step, edge.outcome, edge.elapsed_ms, told_by(edge.step, edge.outcome, waiting)), edge.next
        )


@contextmanager
def _first_interrupt(act: Callable[[], None]) -> Generator[None]:
    """Call `act` in the loop at the first Ctrl-C; the second is Python's own KeyboardInterrupt."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        loop.call_soon_threadsafe(act)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
