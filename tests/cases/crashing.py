"""A run whose process dies, and the process after it that goes on."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.errors import RunBusy, TreadleError
from treadle.graph.jsontext import Json, dumps

from .driving import PATIENCE_S, drive, refused
from .faults import CaseFault, an_object, only
from .hosts import DEAD
from .observed import Observed
from .stage import RUN, Stage

REPOSITORY = Path(__file__).resolve().parents[2]

RESTART_S = 3600.0
"""Of the harness's time, from the crash to the resume: a dead driver's lease is over by then."""

_THENS = {"resume": 1, "resume_new_socket": 1, "resume_twice_concurrently": 2}
"""How many engines go on at once; a new process has a new socket anyway."""


@dataclass(frozen=True, slots=True)
class Crash:
    event: str
    call_id: str | None
    host_saved: bool
    engines: int


def crash_of(value: Json) -> Crash:
    held = an_object(value, "crash")
    only(held, ("after_event", "call_id", "host_saved", "then"), "crash")
    then = held.get("then", "resume")
    if then not in _THENS:
        raise CaseFault(f"crash.then is {then!r}; known are {', '.join(_THENS)}")
    return Crash(held["after_event"], held.get("call_id"), bool(held.get("host_saved")), _THENS[then])


async def die(stage: Stage, request: dict[str, Json], crash: Crash) -> None:
    """Run it in a process that dies at the event; raises CaseFault where it never comes."""
    spec = {
        "root": str(stage.root), "request": request, "event": crash.event, "callId": crash.call_id,
        "hostSaved": crash.host_saved,
    }  # fmt: skip
    file = stage.root / "mortal.json"
    file.write_bytes(dumps(spec))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.cases.mortal", str(file), cwd=REPOSITORY, stderr=asyncio.subprocess.PIPE
    )
    told = asyncio.ensure_future(process.communicate())
    used_up = asyncio.ensure_future(stage.upstream.used_up.wait())
    await asyncio.wait({told, used_up}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
    used_up.cancel()
    if not told.done():
        process.kill()
    _, said = await told
    if process.returncode != DEAD:
        words = said.decode("utf-8", "replace")[-2000:]
        raise CaseFault(f"the run never came to {crash.event}, where it should have died: {words}")


async def go_on(stage: Stage, engines: list[Engine], seen: Observed) -> None:
    """Resume the run with every one of the engines at once; one of them drives it, the others are told that it is busy."""
    stage.clock.seconds += RESTART_S
    seen.next_sent = len(stage.upstream.sent)
    driver = None
    went_each = await _resumed(engines)
    seen.facts["resumes_ok"] = sum(went is None for went in went_each)
    seen.facts["resumes_rejected"] = sum(isinstance(went, RunBusy) for went in went_each)
    for engine, went in zip(engines, went_each, strict=True):
        if went is None:
            driver = driver or engine
        elif not (len(engines) > 1 and isinstance(went, RunBusy)):
            refused(seen, went)
    if driver is not None:
        await drive(stage, driver, seen)


async def _resumed(engines: list[Engine]) -> list[TreadleError | None]:
    async def resume(engine: Engine) -> TreadleError | None:
        try:
            await engine.resume_run(RUN)
        except TreadleError as error:
            return error
        return None

    return await asyncio.gather(*(resume(engine) for engine in engines))
