"""`start_run`: whether a start call is taken, and what it then sends."""

from __future__ import annotations

import asyncio

from treadle.graph.jsontext import Json

from ..driving import conclude, drive, start
from ..faults import CaseFault, an_object, only
from ..observed import Observed
from ..stage import Stage, staged

KEYS = frozenset({"messages", "payload_patch", "options", "provider_format"})

_FIELDS = frozenset(
    {
        "chatRef", "stableChatId", "generationType", "profileId", "profile", "generationIntent", "presentation",
        "persistBaseStateId", "frozenRunInputSnapshot", "runId", "options", "promptSnapshot",
    }
)  # fmt: skip
_OPTIONS = frozenset({"stream", "autoCommit"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed(next_sent=0)
    async with staged() as stage:
        engine = stage.engine()
        if await start(engine, _request(stage, given), seen):
            await drive(stage, engine, seen)
        await conclude(stage, engine, seen)
    return seen


def _request(stage: Stage, given: dict[str, Json]) -> dict[str, Json]:
    """The payload is patched key by key; an option is a field of the start call, or one of its `options`."""
    request = stage.request(given.get("messages"), provider_format=given.get("provider_format", "openai_compatible"))
    request["promptSnapshot"]["chatCompletionPayload"] |= an_object(given.get("payload_patch", {}), "payload_patch")
    options = an_object(given.get("options", {}), "options")
    only(options, _FIELDS | _OPTIONS, "options")
    if "runId" in options:
        raise CaseFault("options.runId: the runner names the run itself")
    request |= {key: value for key, value in options.items() if key in _FIELDS}
    held = {key: value for key, value in options.items() if key in _OPTIONS}
    return request | ({"options": {**(request.get("options") or {}), **held}} if held else {})
