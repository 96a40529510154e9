"""`journal_write`: one event with a payload, written and read back."""

from __future__ import annotations

import asyncio

from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json, is_list, is_object

from ..driving import refused
from ..leaving import entry, journal_at
from ..observed import Observed, RunSeen
from ..stage import staged

KEYS = frozenset({"payload", "type"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed(sent=[])
    async with staged() as stage:
        path = stage.root / "events.jsonl"
        journal = journal_at(stage, path)
        journal.append([entry("run_created")])
        before = path.read_bytes()
        try:
            journal.append([entry(given.get("type", "status_changed"), given["payload"])])
        except (TreadleError, ValueError) as error:
            seen.errors.append(str(error))
            if isinstance(error, TreadleError):
                refused(seen, error)
        written = path.read_bytes()
        again = journal_at(stage, path).read_all()
        seen.run = RunSeen("run", "created", {"events.jsonl": written})
        seen.facts["lines_added"] = written.count(b"\n") - before.count(b"\n")
        seen.facts["roundtrip_equal"] = len(again) > 1 and same(again[-1].payload, given["payload"])
    return seen


def same(one: Json, other: Json) -> bool:
    """Equal in type too, all the way down: 1 is not 1.0, 0.0 is not -0.0, and keys keep their order."""
    if type(one) is not type(other):
        return False
    if is_object(one) and is_object(other):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return repr(one) == repr(other)
