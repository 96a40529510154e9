"""`chat_file`: calls of a run over a chat file that is given byte for byte."""

from __future__ import annotations

import asyncio

from treadle.graph.jsontext import Json

from ..observed import Observed
from ..session import asked_of, run_calls
from ..stage import files_of, staged

KEYS = frozenset({"file_text", "calls", "generation_type", "workspace", "workspace_b64"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed(again=lambda: run(given))
    async with staged(chat=given["file_text"].encode("utf-8", "surrogatepass")) as stage:
        stage.lay_out(files_of(given, "workspace", "workspace_b64"))
        asked = asked_of(given["calls"])
        await run_calls(stage, asked, seen, generation_type=given.get("generation_type", "normal"))
        seen.chat = stage.seen_chat()
    return seen
