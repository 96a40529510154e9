"""A cancel that comes in the middle of something: of a call, of the model's thinking, of a wait."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json

from .disks import Watch, WatchedDisk
from .driving import PATIENCE_S, cancel
from .faults import an_object, only
from .observed import Observed
from .stage import Stage

REACH_S = 0.05
"""Of real time: what is under way is held up so long, for the cancel to reach the run."""


class Strike:
    """Cancels the stage's run, once."""

    def __init__(self, stage: Stage, seen: Observed) -> None:
        self._stage = stage
        self._seen = seen
        self._loop = asyncio.get_running_loop()
        self._done = False
        self._accepted = threading.Event()
        self.engine: Engine | None = None

    def now(self) -> None:
        """From the loop's own thread."""
        if not self._done and self.engine is not None:
            self._done = True
            self._stage.begin(cancel(self.engine, self._seen, accepted=self._accepted.set))

    def from_thread(self) -> None:
        """In the middle of a change, whose thread goes on with nothing else before the cancel is accepted."""
        self._loop.call_soon_threadsafe(self.now)
        self._stage.clock.after_this_change(partial(self._accepted.wait, PATIENCE_S))

    async def in_time(self) -> None:
        self.now()
        await asyncio.sleep(REACH_S)


def watched(given: dict[str, Json], stage: Stage, strike: Strike) -> WatchedDisk:
    """A disk under which calls take as long as the case says, and one of them is struck."""
    loop = asyncio.get_running_loop()
    watches: list[Watch] = []
    struck = _cancel_of(given).get("during_tool")
    if struck is not None:
        watches.append(Watch("tool_call_started", strike.from_thread, struck))
    for call_id, milliseconds in an_object(given.get("tool_delay_ms", {}), "tool_delay_ms").items():

        def wait(seconds: float = milliseconds / 1000) -> None:
            asyncio.run_coroutine_threadsafe(stage.clock.sleep(seconds), loop).result()

        watches.append(Watch("tool_call_started", wait, call_id))
    return WatchedDisk(*watches)


def arrange(given: dict[str, Json], stage: Stage, strike: Strike) -> None:
    """Let it come while the model is asked, or at a time."""
    held = _cancel_of(given)
    asked = held.get("during_model_call")
    if asked:
        number: int = 1 if asked is True else asked
        stage.upstream.slowness[number] = held.get("reply_after_ms", 0) / 1000

        def on_request(arrived: int) -> None:
            if arrived == number:
                asyncio.get_running_loop().call_soon(strike.now)

        stage.upstream.hooks.append(on_request)
    if "after_ms" in held:
        stage.clock.at(stage.clock.seconds + held["after_ms"] / 1000, strike.in_time)


def _cancel_of(given: dict[str, Json]) -> dict[str, Json]:
    held = an_object(given.get("cancel", {}), "cancel")
    only(held, ("during_tool", "during_model_call", "reply_after_ms", "after_ms"), "cancel")
    return held
