"""A run that was begun and left: its folder is whole, nobody drives it, and its journal can be another one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from treadle.graph.jsontext import Json
from treadle.storage.disk import RealDisk
from treadle.storage.journal import Entry, Journal
from treadle.testkit.replies import Reply

from .driving import PATIENCE_S
from .faults import CaseFault
from .stage import RUN, Stage
from .upstream import FOREVER


class CountedIds:
    """Ids that count, so that what is written can be known beforehand."""

    def __init__(self) -> None:
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return f"{self._count:032x}"


async def leave_a_run(stage: Stage, run_id: str = RUN) -> Path:
    """Start a run and leave it while its first request waits, uncounted; the path of its journal."""
    arrived = asyncio.Event()

    def on_request(_number: int) -> Reply:
        stage.upstream.hooks.remove(on_request)
        arrived.set()
        return FOREVER

    stage.upstream.hooks.append(on_request)
    engine = stage.engine()
    await engine.start_run_with_prompt_snapshot({**stage.request(), "runId": run_id})
    try:
        await asyncio.wait_for(arrived.wait(), PATIENCE_S)
    except TimeoutError as error:
        raise CaseFault("the run never asked its model") from error
    await engine.close()
    return stage.folder(run_id) / "events.jsonl"


def journal_at(stage: Stage, path: Path, run_id: str = RUN) -> Journal:
    return Journal(path, run_id=run_id, disk=RealDisk(), clock=stage.clock, ids=CountedIds())


def entry(event_type: str, payload: Json = None) -> Entry:
    return Entry(event_type, {} if payload is None else payload)
