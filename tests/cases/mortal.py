"""A process that runs an engine and dies, as a crash would, right after an event is durable: `python -m … SPEC.json`.

The spec: `{root, request, event, callId, hostSaved}`. It exits with `DEAD`, or with 0 where the event never came.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from treadle.graph.jsontext import Json

from .clock import HarnessClock
from .disks import Watch, WatchedDisk
from .hosts import DEAD, RecordingHost
from .stage import engine_at


async def live(spec: dict[str, Json]) -> None:
    hosts: list[RecordingHost] = []

    def die() -> None:
        if spec["hostSaved"]:
            hosts[0].doomed = True
        else:
            os._exit(DEAD)

    disk = WatchedDisk(Watch(spec["event"], die, spec["callId"]))
    engine, host = engine_at(Path(spec["root"]), HarnessClock(), disk)
    hosts.append(host)
    async with engine:
        handle = await engine.start_run_with_prompt_snapshot(spec["request"])
        await engine.wait(handle.run_id)


if __name__ == "__main__":
    asyncio.run(live(json.loads(Path(sys.argv[1]).read_bytes())))
