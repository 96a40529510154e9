"""Runs that were left behind after so many rounds, and the models that wait with them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from work import Laps, instant_model, start_request

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json
from treadle.graph.ports import ModelTransport, WireReply, WireRequest


class Waiting:
    """Lets so many answers come; whoever asks for another waits for ever."""

    def __init__(self, inner: ModelTransport, answers: int) -> None:
        self._inner = inner
        self._left = answers
        self.reached = asyncio.Event()
        self.reached_at = 0.0

    async def send(self, request: WireRequest) -> WireReply:
        if self._left == 0:
            self.reached_at = time.perf_counter()
            self.reached.set()
            await asyncio.Event().wait()
        self._left -= 1
        return await self._inner.send(request)

    async def close(self) -> None:
        """Nothing is open."""


async def leave(root: Path, rounds: int) -> str:
    """A run whose engine was closed while it waited for the answer after so many rounds; its id."""
    model = Waiting(instant_model(rounds, Laps()), rounds)
    async with Engine(root, None, transport=model, wire_log="off") as engine:
        handle = await engine.start_run_with_prompt_snapshot(_request(rounds, f"left-{rounds}"))
        await model.reached.wait()
    return handle.run_id


async def resumed_ms(root: Path, run_id: str) -> float:
    """From `resume_run` until the model is asked, in an engine that has driven a run before; the run is left again."""
    warm = 2
    model = Waiting(instant_model(warm, Laps()), warm + 1)
    async with Engine(root, None, transport=model, wire_log="off") as engine:
        handle = await engine.start_run_with_prompt_snapshot(_request(warm, None))
        await engine.wait(handle.run_id)
        began = time.perf_counter()
        await engine.resume_run(run_id)
        await model.reached.wait()
        return (model.reached_at - began) * 1e3


def run_folder(root: Path, run_id: str) -> Path:
    return next(root.glob(f"*/*/chats/*/runs/{run_id}"))


def _request(rounds: int, run_id: str | None) -> dict[str, Json]:
    return start_request(rounds) | ({} if run_id is None else {"runId": run_id})
