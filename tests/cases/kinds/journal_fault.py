"""`journal_fault`: the disk fails in the middle of an append to the journal."""

from __future__ import annotations

import asyncio
import errno

from treadle.graph.jsontext import Json, dumps
from treadle.storage.disk import RealDisk
from treadle.testkit.faults import FaultyDisk

from ..driving import conclude, drive, start
from ..faults import CaseFault, an_object, only
from ..observed import Observed
from ..stage import files_of, staged
from ..wording import chat_completions

KEYS = frozenset({"fault", "model_reply", "files", "files_b64"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed()
    async with staged(chat_completions(given["model_reply"])) as stage:
        stage.lay_out(files_of(given, "files", "files_b64"))
        engine = stage.engine(_disk(given["fault"]))
        if await start(engine, stage.request(), seen):
            await drive(stage, engine, seen)
        await conclude(stage, engine, seen)
    return seen


def _disk(value: Json) -> FaultyDisk:
    fault = an_object(value, "fault")
    only(fault, ("errno", "after_bytes", "on_event"), "fault")
    number = getattr(errno, fault["errno"], None)
    if not isinstance(number, int):
        raise CaseFault(f"there is no errno {fault['errno']!r}")
    disk = FaultyDisk(RealDisk())
    disk.fail(
        "append",
        when="events.jsonl",
        containing=b'"type":' + dumps(fault["on_event"]),
        error=number,
        after_bytes=fault["after_bytes"],
    )
    return disk
