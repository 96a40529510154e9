"""A program that plays a run which calls a tool of the shed, and kills itself while the call is under way.

`python -m tests.engine.mcp.killing FOLDER TOOL WHEN`; WHEN is `before`: the call's start is journalled, and the server
has not been asked; or `after`: the server has answered, and nothing of that is stored.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from treadle.storage.disk import RealDisk
from treadle.testkit.faults import FaultyDisk
from treadle.testkit.replies import call, calls

from ...scenarios.stage import Stage
from .shed import profile


class DeadlyDisk(RealDisk):
    def __init__(self, when: str) -> None:
        self._when = when

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        super().append(path, data)
        if self._when == "before" and path.name == "events.jsonl" and b'"tool_call_started"' in data:
            os.kill(os.getpid(), signal.SIGKILL)

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        if self._when == "after" and path.parent.name == "tool-results":
            os.kill(os.getpid(), signal.SIGKILL)
        super().replace(path, data)


async def play(folder: Path, tool: str, when: str) -> None:
    stage = Stage.found(folder)
    stage.disk = FaultyDisk(DeadlyDisk(when))
    await stage.play(calls(call(tool, text="fog")), profile=profile(tool))


if __name__ == "__main__":
    asyncio.run(play(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
