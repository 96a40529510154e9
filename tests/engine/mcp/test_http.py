"""Runs that call the tools of a real MCP server over streamable HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from treadle.graph.errors import McpFailed
from treadle.testkit.replies import Reply, call, calls

from ...scenarios import words
from ...scenarios.stage import Stage
from .shed import SCRIPT, Shed, profile

pytestmark = pytest.mark.slow

ADD = calls(call("mcp.shed.add", a=1, b=2))
END = (words.WRITE, words.COMMIT_AND_FINISH)


@pytest.fixture
def shed(stage: Stage) -> Shed:
    return Shed(stage)


@pytest.fixture
def port(shed: Shed) -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    shed.put(url=f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "sk-canary"}, command=None, args=None)
    return port


async def test_a_run_calls_tools_over_http_and_again_when_a_server_that_died_is_back(
    stage: Stage, shed: Shed, port: int
) -> None:
    with ExitStack() as back:

        async def start_again() -> Reply:
            back.enter_context(_serving(shed, port))
            return ADD

        with _serving(shed, port) as first:
            async with stage.show(ADD, calls(call("mcp.shed.slow")), start_again, *END) as show:
                await show.start(profile=profile("mcp.shed.*"))
                await shed.until("slow", "begun")
                first.kill()
                first.wait()
                played = await show.end()

    told = [shed.result(place) for place in range(3)]
    assert [result.error_code for result in told] == [None, "mcp.server_unavailable", None]
    assert (told[0].structured, told[2].structured) == ({"total": 3}, {"total": 3})
    assert played.types[-1] == "run_completed"


async def test_a_cancel_over_http_reaches_the_server(stage: Stage, shed: Shed, port: int) -> None:
    with _serving(shed, port):
        async with stage.show(calls(call("mcp.shed.slow"))) as show:
            await show.start(profile=profile("mcp.shed.slow"))
            await shed.until("slow", "begun")
            await show.engine.cancel("run_1")
            played = await show.end()
            await shed.until("slow", "stopped")

    assert played.types[-1] == "run_cancelled"


async def test_a_server_that_does_not_listen_refuses_the_start(stage: Stage, shed: Shed, port: int) -> None:
    with pytest.raises(McpFailed, match="the MCP server shed can't be used") as refused:
        await stage.play(profile=profile("mcp.shed.*"))

    assert "sk-canary" not in refused.value.message


@contextmanager
def _serving(shed: Shed, port: int) -> Generator[subprocess.Popen[bytes]]:
    """The server, listening."""
    with (shed.folder / "http.log").open("ab") as log:
        server = subprocess.Popen([sys.executable, str(SCRIPT), str(shed.folder), str(port)], stdout=log, stderr=log)
    try:
        while not _listens(port):
            assert server.poll() is None
            time.sleep(0.02)
        yield server
    finally:
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
