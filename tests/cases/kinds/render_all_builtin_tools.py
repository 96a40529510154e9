"""`render_all_builtin_tools`: every built-in tool in one request of each format."""

from __future__ import annotations

import asyncio

from treadle.graph.jsontext import Json
from treadle.nodes.registry import specs

from ..loading import formats_of
from ..observed import Observed
from ..stage import staged
from .schema_render import request_with, tools_in

KEYS = frozenset({"provider_format", "provider_formats"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    names: dict[str, list[str]] = {}
    async with staged() as stage:
        for name in formats_of(given):
            names[name] = [tool["name"] for tool in tools_in(request_with(stage, name, specs()), name)]
    return Observed(facts={"names": names})
