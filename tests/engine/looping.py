"""A program that plays a run against a model that is there already, and kills itself between every two rounds.

`python -m tests.engine.looping FOLDER PAYLOAD.json ROUNDS`: each round is played by a process of its own. All but the
last kill themselves when they are about to tell of the next round; everything is imported once, then forked.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json, loads
from treadle.storage.disk import RealDisk

from ..scenarios.stage import RUN, Stage, snapshot

LEASE_IS_OVER_S = 60.0


class DeadlyDisk(RealDisk):
    """Kills the process before a round is told of."""

    def __init__(self, round_number: int) -> None:
        self._mark = b'"type":"model_request_created","payload":{"round":%d,' % round_number

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        if path.name == "events.jsonl" and self._mark in data:
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(path, data)


async def play(folder: Path, payload: dict[str, Json], round_number: int, disk: RealDisk) -> None:
    stage = Stage(folder, found=round_number > 1)
    stage.clock.advance(LEASE_IS_OVER_S * round_number)
    async with Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids, disk=disk, wire_log="full") as engine:
        if round_number == 1:
            await engine.start_run_with_prompt_snapshot(stage.request(promptSnapshot=snapshot("", **payload)))
        else:
            await engine.resume_run(RUN)
        await engine.wait(RUN)


def main(folder: Path, payload: Path, rounds: int) -> None:
    asked = loads(payload.read_bytes())
    for round_number in range(1, rounds + 1):
        child = os.fork()
        if child == 0:
            disk = DeadlyDisk(round_number + 1) if round_number < rounds else RealDisk()
            asyncio.run(play(folder, asked, round_number, disk))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if killed is not (round_number < rounds):
            sys.exit(f"round {round_number} of {rounds} ended otherwise than it should: {status}")


if __name__ == "__main__":
    for runtime in ("treadle.graph.build", "treadle.nodes.steps", "treadle.storage.saver"):
        import_module(runtime)  # once, not in every fork
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
