"""A stage whose data root names one MCP server, the shed, and profiles that use it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.messages import ToolResult, tool_result
from treadle.graph.profiles.resolved import SEED_TOOLS, default_writer
from treadle.storage.mcp_servers import FILE

from ...scenarios.stage import Stage

SCRIPT = Path(__file__).with_name("server.py")


class Shed:
    """The server's folder, and what it left there; it is started by the engine."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.folder = stage.root.parent / "shed"
        self.folder.mkdir()
        self.put()

    def put(self, name: str = "shed", **settings: Json) -> None:
        """Write the settings file, with this one server."""
        document = servers({name: {**self.command(), **settings}})
        path = self.stage.root / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dumps(document))

    def command(self) -> dict[str, Json]:
        return {"command": sys.executable, "args": [str(SCRIPT), str(self.folder)]}

    @property
    def notes(self) -> list[str]:
        return self._lines("notes")

    @property
    def living(self) -> list[int]:
        """The processes that were started and are still there."""
        return [pid for pid in map(int, self._lines("pid")) if _lives(pid)]

    @property
    def starts(self) -> int:
        return len(self._lines("pid"))

    async def until(self, name: str, text: str) -> None:
        """Wait until the server has written that."""
        async with asyncio.timeout(30):
            while self._lines(name) != [text]:
                await asyncio.sleep(0.01)

    async def gone(self) -> None:
        """Wait until no process is left."""
        async with asyncio.timeout(30):
            while self.living:
                await asyncio.sleep(0.01)

    def result(self, place: int = 0) -> ToolResult:
        """What the model was told, call by call of MCP tools."""
        files = sorted(
            (self.stage.run_folder() / "tool-results").glob("*.json"), key=lambda path: path.stat().st_mtime_ns
        )
        results = [tool_result(_json(path)) for path in files]
        return [result for result in results if result.name.startswith("mcp.")][place]

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


def servers(held: dict[str, Json]) -> dict[str, Json]:
    return {"schemaVersion": 1, "kind": "treadle.mcpServers", "servers": held}


def profile(*names: str, **tools: Json) -> Json:
    """The built-in profile with these tools beside its own; `tools` are keys of its `tools` block."""
    document = default_writer().to_json()
    document["tools"] |= {"allow": [*SEED_TOOLS, *names], **tools}
    return document


def _json(path: Path) -> Json:
    return loads(path.read_bytes())


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
