"""`world_info`: calls of a run whose prompt snapshot holds the activated entries of its lore books."""

from __future__ import annotations

import asyncio

from treadle.graph.jsontext import Json, dumps

from ..observed import Observed
from ..session import asked_of, run_calls
from ..stage import files_of, staged

KEYS = frozenset(
    {"worldInfoActivation", "calls", "generation_type", "workspace", "workspace_b64", "mutate_world_file_to"}
)


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed(again=lambda: run(given))
    held = {key: given[key] for key in ("worldInfoActivation",) if key in given}
    async with staged() as stage:
        stage.lay_out(files_of(given, "workspace", "workspace_b64"))
        if "mutate_world_file_to" in given:
            worlds = stage.root / "worlds"  # beside the chats, where a user's books lie
            worlds.mkdir()
            book = given["mutate_world_file_to"]
            text = book if isinstance(book, str) else dumps(book).decode()

            def on_request(_number: int) -> None:
                (worlds / "world.json").write_text(text, "utf-8")

            stage.upstream.hooks.append(on_request)
        await run_calls(
            stage,
            asked_of(given["calls"]),
            seen,
            generation_type=given.get("generation_type", "normal"),
            snapshot=held,
        )
    return seen
