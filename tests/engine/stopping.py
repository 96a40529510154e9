"""A program that plays runs and is stopped in the middle of each (SIGSTOP), until it is told to go on (SIGCONT).

It reads lines from its input: `POINT FOLDER` plays a run on a stage in FOLDER, in a fork, up to POINT, one of POINTS;
when that stands still, `stopped` is printed, and whatever line comes next lets it go on. When it has ended, how it did
is printed: the run's status, or the code of the error that drove it off. Everything is imported once.

A run's clock stands at the new year, whatever the time, but for the seconds in a file `slept` in FOLDER.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

from treadle.engine.engine import Engine
from treadle.graph.errors import TreadleError
from treadle.graph.ports import WireReply, WireRequest
from treadle.testkit.replies import call, calls

from ..scenarios import words
from ..scenarios.hosts import SlowHost
from ..scenarios.script import ByRound
from ..scenarios.stage import RUN, Stage
from ..scenarios.wires import WiredClock, WiredDisk, Wires

STEPS: Final = (
    calls(
        call("workspace.write_file", path="output/main.md", content=words.DRAFT),
        call("workspace.write_file", path="persist/notes.md", content="The tide owns a kettle.\n"),
    ),
    calls(call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup")),
    words.COMMIT_AND_FINISH,
)
TEXT: Final = words.DRAFT.replace("kettle", "cup")
OUTCOME: Final = "outcome"
_READ_BY_THE_PATCH: Final = 3
"""The checkpoint of the first write reads the file before it, and the request of the second round."""


def stop() -> None:
    """Sent to this thread, which then takes no further step; sent to the process, the signal may come to it too late."""
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


async def stop_here() -> None:
    stop()


class Model(ByRound):
    """Stops the process when it is asked for the n-th time, before it answers; 0: never."""

    def __init__(self, stops_at: int = 0) -> None:
        super().__init__(*STEPS)
        self._stops_at = stops_at

    async def send(self, request: WireRequest) -> WireReply:
        reply = await super().send(request)
        if len(self.requests) == self._stops_at:
            stop()
        return reply


class Sleeper(WiredClock):
    def __init__(self, wires: Wires, folder: Path) -> None:
        super().__init__(wires)
        self._slept = folder / "slept"

    def now(self) -> float:
        return super().now() + self._seconds()

    def monotonic(self) -> float:
        return super().monotonic() + self._seconds()

    def _seconds(self) -> float:
        return float(self._slept.read_text()) if self._slept.exists() else 0.0


class HeldDisk(WiredDisk):
    """Stops the process, once, inside a change of the run's files: the guard is taken, and the file not yet written."""

    _stops = True

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        if self._stops and path.name == "main.md":
            self._stops = False
            stop()
        super().replace(path, data, durable=durable)


class Set:
    """What a run is played with; a point changes it."""

    def __init__(self, folder: Path) -> None:
        self._loop = asyncio.get_running_loop()
        self.stage = Stage(folder)
        self.disk = WiredDisk(self.stage.wires)
        self.model = Model()
        self.host = SlowHost(self.stage.host)

    def stop_thread(self) -> None:
        """Stop in a thread, when the event loop is at rest: the state of the step before may still be being saved."""
        for _ in range(3):
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop).result(30)
        stop()


def _in_call(made: Set) -> None:
    made.model = Model(stops_at=2)


def _before_the_effect(made: Set) -> None:
    """The patch has read what it changes, and nothing is journalled of it."""
    made.stage.wires.at_read("main.md", made.stop_thread, nth=_READ_BY_THE_PATCH)


def _before_the_state_is_saved(made: Set) -> None:
    made.stage.wires.at_event("model_completed", made.stop_thread, nth=2)


def _before_the_commit(made: Set) -> None:
    made.host = SlowHost(made.stage.host, commit=stop_here)


def _before_the_note(made: Set) -> None:
    made.host = SlowHost(made.stage.host, metadata=stop_here)


def _before_the_end(made: Set) -> None:
    made.stage.wires.at_event("persistent_state_metadata_updated", made.stop_thread)


def _inside_the_guard(made: Set) -> None:
    made.disk = HeldDisk(made.stage.wires)


POINTS: Final[dict[str, Callable[[Set], None]]] = {
    each.__name__.strip("_"): each
    for each in (
        _in_call, _before_the_effect, _before_the_state_is_saved, _before_the_commit, _before_the_note,
        _before_the_end, _inside_the_guard,
    )
}  # fmt: skip


async def play(point: str, folder: Path) -> str:
    made = Set(folder)
    POINTS[point](made)
    stage, clock = made.stage, Sleeper(made.stage.wires, folder)
    async with Engine(
        stage.root, made.host, transport=made.model, clock=clock, ids=stage.ids, disk=made.disk
    ) as engine:
        await engine.start_run_with_prompt_snapshot(stage.request())
        try:
            return str((await engine.wait(RUN)).status)
        except TreadleError as error:
            return error.error_code


def _played(point: str, folder: Path) -> None:
    child = os.fork()
    if child == 0:
        (folder / OUTCOME).write_text(asyncio.run(play(point, folder)))
        os._exit(0)
    _, status = os.waitpid(child, os.WUNTRACED)
    print("stopped" if os.WIFSTOPPED(status) else f"not stopped: {status}", flush=True)
    sys.stdin.readline()
    os.kill(child, signal.SIGCONT)
    _, status = os.waitpid(child, 0)
    print((folder / OUTCOME).read_text() if status == 0 else f"ended with {status}", flush=True)


if __name__ == "__main__":
    for runtime in ("treadle.graph.build", "treadle.nodes.steps", "treadle.storage.saver"):
        import_module(runtime)  # once, not in every fork
    while line := sys.stdin.readline().strip():
        place, _, where = line.partition(" ")
        _played(place, Path(where))
