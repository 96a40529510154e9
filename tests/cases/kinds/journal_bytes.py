"""`journal_bytes`: a run's whole journal, given byte for byte, and what is then done with it."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json, is_object

from ..driving import conclude, drive, look, refused
from ..faults import CaseFault, a_list, an_object, only, step_of
from ..leaving import entry, journal_at, leave_a_run
from ..observed import Observed
from ..stage import Stage, staged

KEYS = frozenset({"bytes_b64", "then"})

RUN_ID = "run_test"
"""The id in the events of such cases."""

_PAGE = {"afterSeq": "after_seq", "beforeSeq": "before_seq", "limit": "limit"}


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed()
    async with staged() as stage:
        path = await leave_a_run(stage, RUN_ID)
        path.write_bytes(base64.b64decode(given["bytes_b64"], validate=True))
        engine = stage.engine()
        reads: list[Json] = []
        for place, step in enumerate(a_list(given["then"], "then")):
            name, argument = step_of(step, f"then[{place}]")
            try:
                await _step(stage, engine, path, name, argument, reads, seen)
            except TreadleError as error:
                refused(seen, error)
        seen.run = look(path.parent)
        seen.facts["read_seqs"] = reads[-1] if reads else None
        await conclude(stage, engine, seen)
        seen.next_sent = 0
    return seen


async def _step(
    stage: Stage, engine: Engine, path: Path, name: str, argument: Json, reads: list[Json], seen: Observed
) -> None:
    match name:
        case "append":
            event_type = argument["type"] if is_object(argument) else argument
            payload = argument.get("payload") if is_object(argument) else None
            await asyncio.to_thread(lambda: journal_at(stage, path, RUN_ID).append([entry(event_type, payload)]))
        case "read":
            reads.append(None)
            reads[-1] = [event.seq for event in await engine.read_events(RUN_ID, **page_of(argument))]
        case "resume":
            await engine.resume_run(RUN_ID)
            await drive(stage, engine, seen, run_id=RUN_ID)
        case other:
            raise CaseFault(f"then holds a step {other!r} that the runner does not know")


def page_of(argument: Json) -> dict[str, Json]:
    """The arguments of a page, in Python's spelling."""
    held = an_object(argument, "a read")
    only(held, _PAGE, "a read")
    return {_PAGE[key]: value for key, value in held.items()}
