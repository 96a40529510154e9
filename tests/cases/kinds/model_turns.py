"""`model_turns`: a run over a list of upstream answers, with whatever befalls it meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json, dumps, loads
from treadle.storage.runs import PROMPT_SNAPSHOT
from treadle.testkit.replies import Reply

from ..cancelling import Strike, arrange, watched
from ..crashing import crash_of, die, go_on
from ..driving import PATIENCE_S, conclude, drive, look, start
from ..faults import a_list, an_object, only
from ..observed import Observed
from ..stage import RUN, Stage, files_of, profile, staged
from ..upstream import FOREVER, reply_of

KEYS = frozenset(
    {
        "provider_format", "turns", "files", "files_b64", "crash", "cancel", "retry", "before_turn_2",
        "force_full_replay", "tool_delay_ms", "max_rounds",
    }
)  # fmt: skip


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    turns = [reply_of(turn, f"turns[{place}]") for place, turn in enumerate(a_list(given.get("turns"), "turns"))]
    seen = Observed()
    async with staged(turns) as stage:
        stage.upstream.is_forgetful = bool(given.get("force_full_replay"))
        stage.lay_out(files_of(given, "files", "files_b64"))
        request = stage.request(
            provider_format=given.get("provider_format", "openai_compatible"),
            profile=profile(retry=given.get("retry"), max_rounds=given.get("max_rounds")),
        )
        strike = Strike(stage, seen)
        engine = strike.engine = stage.engine(watched(given, stage, strike))
        arrange(given, stage, strike)
        if "crash" in given:
            crash = crash_of(given["crash"])
            await die(stage, request, crash)
            seen.run = look(stage.folder())
            await go_on(stage, [engine, *(stage.engine() for _ in range(1, crash.engines))], seen)
        elif "before_turn_2" in given:
            engine = await _change_before_turn_2(given, stage, engine, request, seen)
        elif await start(engine, request, seen):
            await drive(stage, engine, seen)
        await conclude(stage, engine, seen)
    return seen


async def _change_before_turn_2(
    given: dict[str, Json], stage: Stage, engine: Engine, request: dict[str, Json], seen: Observed
) -> Engine:
    """The second request is not let through: the run is left, its settings are changed, and it goes on."""
    change = an_object(given["before_turn_2"], "before_turn_2")
    only(change, ("set_payload_model",), "before_turn_2")
    arrived = asyncio.Event()

    def on_request(number: int) -> Reply | None:
        if number < 2:
            return None
        stage.upstream.hooks.remove(on_request)
        arrived.set()
        return FOREVER

    stage.upstream.hooks.append(on_request)
    if not await start(engine, request, seen):
        return engine
    ended = asyncio.ensure_future(engine.wait(RUN))
    second = asyncio.ensure_future(arrived.wait())
    await asyncio.wait({ended, second}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
    second.cancel()
    if arrived.is_set():
        await engine.close()
        _set_model(stage.folder() / PROMPT_SNAPSHOT, change["set_payload_model"])
        engine = stage.engine()
        await engine.resume_run(RUN)
    await asyncio.gather(ended, return_exceptions=True)
    await drive(stage, engine, seen)
    return engine


def _set_model(snapshot: Path, model: str) -> None:
    document = loads(snapshot.read_bytes())
    document["chatCompletionPayload"]["model"] = model
    snapshot.write_bytes(dumps(document))
