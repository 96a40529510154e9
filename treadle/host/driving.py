"""A run under the eyes of a person: it is followed to its end, and Ctrl-C cancels it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from ..graph.events import Event
from ..graph.table import Step
from .approving import Answers, Attendant
from .timeline import Timeline, row, told_by

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from ..storage.runs import RunRecord
    from ..views import TakenEdge

_PAGE = 500


async def drive(
    engine: Engine, run_id: str, timeline: Timeline | None, who: Answers, *, after_seq: int = 0
) -> RunRecord:
    """Follow a run that this engine drives to its end; the first Ctrl-C cancels it, the second leaves.

    Comes back before the end where a call waits for a person and nobody is here to answer.
    """
    cancelling: set[asyncio.Task[object]] = set()

    def cancel() -> None:
        print("treadle: cancelling; Ctrl-C again leaves at once", file=sys.stderr)
        cancelling.add(asyncio.ensure_future(engine.cancel(run_id)))

    attendant = Attendant(engine, run_id, who, timeline)
    with _first_interrupt(cancel):
        await _follow(engine, run_id, timeline, attendant, after_seq)
        if attendant.left is not None:
            return await engine.read_run(run_id)
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


async def _follow(engine: Engine, run_id: str, timeline: Timeline | None, attendant: Attendant, seen: int) -> None:
    waiting: deque[Event] = deque()
    try:
        if seen:  # a run that was left may stand at a question
            await attendant.look()
        async for edge in _until_left(engine.transitions(run_id), attendant):
            if timeline is not None:
                waiting += await all_events(engine, run_id, seen)
                seen = waiting[-1].seq if waiting else seen
                told = told_by(edge.step, edge.outcome, waiting)
                timeline.show(row(edge.step, edge.outcome, edge.elapsed_ms, told), edge.next)
            if edge.next == Step.AWAIT_APPROVAL or attendant.is_open:
                await attendant.look()
    finally:
        await attendant.close()


async def _until_left(edges: AsyncIterator[TakenEdge], attendant: Attendant) -> AsyncIterator[TakenEdge]:
    """The edges, as long as there is somebody to answer for the run."""
    while attendant.left is None:
        edge = await anext(edges, None)
        if edge is None:
            return
        yield edge


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
