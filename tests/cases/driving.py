"""A run is driven until it ends, or until it asks for an answer that the case does not hold."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treadle.engine.engine import Engine
from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json
from treadle.storage.runs import RunRecord

from .faults import CaseFault
from .observed import Observed, RunSeen
from .stage import RUN, STABLE_ID, Stage

PATIENCE_S = 30.0
"""Of real time: a run that does nothing for so long is stuck."""


async def start(engine: Engine, request: dict[str, Json], seen: Observed) -> bool:
    """Whether the run started; a refusal is kept in what was seen."""
    try:
        await engine.start_run_with_prompt_snapshot(request)
    except TreadleError as error:
        refused(seen, error)
        return False
    return True


def refused(seen: Observed, error: TreadleError) -> None:
    seen.errors.append(str(error))
    seen.codes.append(error.error_code)


async def drive(stage: Stage, engine: Engine, seen: Observed, *, run_id: str = RUN, stable_id: str = STABLE_ID) -> None:
    """Fill in how the run stood at its end, or where the list of answers was used up; then the harness ends it.

    Raises CaseFault for a run that is stuck.
    """
    folder = stage.folder(run_id, stable_id)
    ended = asyncio.ensure_future(engine.wait(run_id))
    used_up = asyncio.ensure_future(stage.upstream.used_up.wait())
    try:
        await _either(stage, ended, used_up)
        if used_up.done() and await stage.clock.ring():
            await asyncio.wait({ended}, timeout=PATIENCE_S)
        if not ended.done():
            seen.run = look(folder)
            if not used_up.done():
                raise CaseFault(f"the run is stuck after {seen.run.types[-1:]}, at status {seen.run.status}")
            await engine.cancel(run_id)
            await ended
            return
        await _ended(ended, seen)
        await stage.settle()
        seen.run = look(folder)
    finally:
        used_up.cancel()
        ended.cancel()
        await asyncio.gather(used_up, ended, return_exceptions=True)


async def cancel(
    engine: Engine, seen: Observed, run_id: str = RUN, *, accepted: Callable[[], None] | None = None
) -> None:
    """Cancel the run and measure, in real time, how long it takes to its end."""
    began = time.perf_counter()
    await engine.cancel(run_id)
    if accepted is not None:
        accepted()
    await engine.wait(run_id)
    seen.facts["cancel_latency_ms"] = (time.perf_counter() - began) * 1000


def look(folder: Path) -> RunSeen:
    """The run's folder as it stands."""
    record = json.loads((folder / "run.json").read_bytes())
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("run.sqlite")]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    return RunSeen(folder.name, record["status"], files)


async def conclude(stage: Stage, engine: Engine, seen: Observed) -> None:
    """What the chat and the server saw, and what can be read back of the first turn."""
    seen.sent = list(stage.upstream.sent)
    seen.chat = stage.seen_chat()
    seen.facts["run_dirs_created"] = len(stage.run_folders())
    if seen.run is not None and "model-responses/round-001.json" in seen.run.files:
        seen.facts["model_turn"] = await engine.read_model_turn(seen.run.id, 1)


async def _either(stage: Stage, *ends: asyncio.Future[Any]) -> None:
    """Until one is done, or no request has come for too long."""
    asked = -1
    while asked != len(stage.upstream.sent):
        asked = len(stage.upstream.sent)
        done, _ = await asyncio.wait(ends, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return


async def _ended(ended: asyncio.Future[RunRecord], seen: Observed) -> None:
    try:
        await ended
    except TreadleError as error:
        refused(seen, error)
