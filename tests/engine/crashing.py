"""A program that plays a run and kills itself at a point of its journal.

`python -m tests.engine.crashing PLAY FOLDER POINT…` leaves one stage below FOLDER for each point: `at-<point>`; PLAY is
one of PLAYS. A point is a seq, `12`: killed as soon as that event is written, whatever else was to be written with it; or `12+`: killed when it
is about to write on, so that whatever follows the event is done and not told. Everything is imported once; each run is
played, and killed, in a fork of its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Final

from treadle.engine.engine import Engine
from treadle.graph.errors import NotFound
from treadle.graph.events import EventType
from treadle.graph.jsontext import Json
from treadle.graph.ports import WireReply, WireRequest
from treadle.storage.disk import RealDisk
from treadle.testkit.replies import Call, Reply, call, calls

from ..scenarios import words
from ..scenarios.people import CODA, END, WRITE, asking
from ..scenarios.script import ByRound
from ..scenarios.stage import RUN, Stage

PATCH: Final = {"path": "output/main.md"}
ASKED = "asked.log"


@dataclass(frozen=True, slots=True)
class Play:
    """What the model says, and what a person says of the calls that wait for one."""

    steps: tuple[Reply, ...]
    profile: Json = None
    answers: Mapping[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])


PLAYS = {
    "alone": Play(
        (
            calls(
                call("workspace.write_file", path="output/main.md", content=words.DRAFT),
                call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup"),
                call("workspace.write_file", path="persist/notes.md", content="The tide owns a cup.\n"),
            ),
            words.COMMIT,
            calls(
                call("workspace.write_file", path="output/coda.md", content=words.CODA),
                call("workspace.commit", path="output/coda.md", mode="append"),
                call("workspace.finish"),
            ),
        )
    ),
    "asked": Play(
        (
            calls(
                WRITE,
                Call("workspace.apply_patch", {**PATCH, "old_string": "tide", "new_string": "moon"}, id="patch"),
                CODA,
            ),
            END,
        ),
        asking("mutating"),
        {
            "write": {"approved": True},
            "patch": {"approved": True, "edited_arguments": {**PATCH, "old_string": "kettle", "new_string": "cup"}},
            "coda": {"approved": False, "reason": "no coda"},
            "commit": {"approved": True, "edited_arguments": {"path": "output/main.md", "reason": "a person's"}},
        },
    ),
}


class Model(ByRound):
    """Notes each request in a file, which outlives the process."""

    def __init__(self, name: str, log: Path) -> None:
        super().__init__(*PLAYS[name].steps)
        self._log = log

    async def send(self, request: WireRequest) -> WireReply:
        with self._log.open("a") as log:
            log.write("asked\n")
        return await super().send(request)


class WholeDisk(RealDisk):
    """Notes after how many events each write to the journal ended."""

    def __init__(self) -> None:
        self.written = 0
        self.pauses: list[int] = []

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        super().append(path, data)
        if path.name == "events.jsonl":
            self.written += data.count(b"\n")
            self.pauses.append(self.written)


class DeadlyDisk(RealDisk):
    """Kills the process at a point of the journal."""

    def __init__(self, point: str) -> None:
        self._left = int(point.rstrip("+"))
        self._late = point.endswith("+")

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        if path.name != "events.jsonl":
            return super().append(path, data)
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        lines = data.splitlines(keepends=True)
        super().append(path, b"".join(lines if self._late else lines[: self._left]))
        self._left -= len(lines)
        if self._left <= 0 and not self._late:
            os.kill(os.getpid(), signal.SIGKILL)
        return None


async def play(name: str, folder: Path, disk: RealDisk) -> None:
    stage = Stage(folder)
    model = Model(name, folder / ASKED)
    async with Engine(stage.root, stage.host, transport=model, clock=stage.clock, ids=stage.ids, disk=disk) as engine:
        await engine.start_run_with_prompt_snapshot(stage.request(profile=PLAYS[name].profile))
        await attended(name, engine)


async def attended(name: str, engine: Engine) -> None:
    """See the run to its end; a person answers each question that stands, and those that were answered are not asked."""
    async for event in engine.subscribe(RUN):
        if event.type == EventType.TOOL_CALL_AWAITING_APPROVAL:
            call_id = event.payload["callId"]
            with suppress(NotFound):
                await engine.approve_tool_call(RUN, call_id, **PLAYS[name].answers[call_id])
    await engine.wait(RUN)


def main(name: str, folder: Path, points: list[str]) -> None:
    for point in points:
        child = os.fork()
        if child == 0:
            asyncio.run(play(name, folder / f"at-{point}", DeadlyDisk(point)))
            os._exit(3)  # it should not have come to this
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"the run that was to be killed at {point} was not: {status}")


if __name__ == "__main__":
    for runtime in ("treadle.graph.build", "treadle.nodes.steps", "treadle.storage.saver"):
        import_module(runtime)  # once, not in every fork
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
