"""`tool_calls`: calls in order against a workspace, in one session."""

from __future__ import annotations

import asyncio

from treadle.graph.jsontext import Json

from ..observed import Observed
from ..session import asked_of, run_calls
from ..stage import files_of, staged

KEYS = frozenset({"workspace", "workspace_b64", "calls", "generation_type"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed(again=lambda: run(given))
    async with staged() as stage:
        stage.lay_out(files_of(given, "workspace", "workspace_b64"))
        await run_calls(stage, asked_of(given["calls"]), seen, generation_type=given.get("generation_type", "normal"))
    return seen
