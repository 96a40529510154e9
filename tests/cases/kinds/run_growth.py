"""`run_growth`: a run of many rounds, each of which writes, and how large the graph's own files become."""

from __future__ import annotations

import asyncio

from treadle.graph.jsontext import Json
from treadle.testkit.replies import Reply, call, calls

from ..driving import conclude, drive, start
from ..faults import CaseFault
from ..observed import Observed
from ..stage import Stage, profile, staged

_SIZES = frozenset(
    {
        "bytes", "bytes_per_round", "bytes_per_write", "bytes_each", "write_bytes", "write_bytes_per_round",
        "file_bytes", "content_bytes",
    }
)  # fmt: skip
KEYS = _SIZES | {"rounds"}

_PATHS = 10


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    rounds: int = given["rounds"]
    sizes = [value for key, value in given.items() if key in _SIZES]
    if len(sizes) != 1:
        raise CaseFault("run_growth must say once how many bytes a round writes")
    seen = Observed()
    async with staged([_write(number, sizes[0]) for number in range(rounds)]) as stage:
        engine = stage.engine()
        request = stage.request(profile=profile(max_rounds=rounds + 1, max_calls=rounds + 1))
        if await start(engine, request, seen):
            await drive(stage, engine, seen)
        await conclude(stage, engine, seen)
        await engine.close()
        seen.facts["checkpoint_bytes"] = _saver_bytes(stage)
    return seen


def _write(number: int, size: int) -> Reply:
    text = (f"Round {number}. " * (size // 8 + 1))[:size]
    return calls(call("workspace.write_file", path=f"output/part-{number % _PATHS}.md", content=text))


def _saver_bytes(stage: Stage) -> int:
    return sum(file.stat().st_size for file in stage.folder().glob("run.sqlite*"))
