"""`run_script`: a caller's steps, one after another, as fast as they come."""

from __future__ import annotations

import asyncio

from treadle.engine.engine import Engine
from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json, is_object

from ..driving import PATIENCE_S, conclude, look, refused, start
from ..faults import CaseFault, a_list, only, step_of
from ..observed import Observed
from ..stage import RUN, Stage, files_of, profile, staged
from ..upstream import reply_of
from ..wording import chat_completions

KEYS = frozenset({"steps", "turns", "model_reply", "provider_format", "files", "files_b64", "retry", "max_rounds"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    turns = [reply_of(turn, f"turns[{place}]") for place, turn in enumerate(given.get("turns") or [])]
    if "model_reply" in given:
        turns += chat_completions(given["model_reply"])
    seen = Observed()
    async with staged(turns) as stage:
        stage.lay_out(files_of(given, "files", "files_b64"))
        engine = stage.engine()
        request = stage.request(
            provider_format=given.get("provider_format", "openai_compatible"),
            profile=profile(retry=given.get("retry"), max_rounds=given.get("max_rounds")),
        )
        for place, step in enumerate(a_list(given["steps"], "steps")):
            name, argument = step_of(step, f"steps[{place}]")
            await _step(stage, engine, request, name, argument if is_object(argument) else {}, seen)
        if stage.folder().is_dir():
            seen.run = look(stage.folder())
        await conclude(stage, engine, seen)
    return seen


async def _step(
    stage: Stage, engine: Engine, request: dict[str, Json], name: str, argument: dict[str, Json], seen: Observed
) -> None:
    match name:
        case "start":
            await start(engine, request | argument, seen)
        case "cancel":
            only(argument, ("immediately", "after_ms"), "cancel")
            if not argument.get("immediately"):
                await asyncio.sleep(argument.get("after_ms", 20) / 1000)
            try:
                await engine.cancel(RUN)
            except TreadleError as error:
                refused(seen, error)
        case "wait_terminal":
            try:
                await asyncio.wait_for(engine.wait(RUN), PATIENCE_S)
            except TimeoutError as error:
                raise CaseFault(f"the run does not end; it is at {look(stage.folder()).types[-1:]}") from error
        case other:
            raise CaseFault(f"steps holds {other!r}, which the runner does not know")
