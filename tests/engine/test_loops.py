"""A loop of tools against every provider's simulator, which refuses whatever its provider would: whole, and killed."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.testkit.replies import call
from treadle.testkit.simulators.registry import SIMULATORS, Simulator, payload_for
from treadle.testkit.turns import Turn, says

from ..scenarios import words
from ..scenarios.stage import RUN, Played, Stage, snapshot
from . import looping

ROOT = Path(__file__).resolve().parent.parent.parent
FORMATS = pytest.mark.parametrize("name", list(SIMULATORS))
QUICK_FORMATS = pytest.mark.parametrize("name", ["openai_responses", "claude_messages"])
"""One with a socket and one without; the slow loops are of all."""
REMEMBERS = "openai_responses"
"""The format whose provider keeps what went before as long as its socket lives."""


def script(rounds: int) -> list[Turn]:
    """Each turn thinks, speaks and calls twice; the last one commits and finishes."""
    turns = [
        says(
            f"Round {number}: 潮.",
            call("workspace.write_file", path=f"plan/{number}.md", content=f'"{number}" \\ 潮水\n' * 5),
            call("workspace.list_files"),
            reasoning=f"I think of {number}.",
        )
        for number in range(1, rounds)
    ]
    last = [call("workspace.write_file", path="output/main.md", content=words.DRAFT)]
    return [*turns, says("There.", *last, call("workspace.commit"), call("workspace.finish"), reasoning="It is done.")]


async def whole(folder: Path, server: Simulator) -> Played:
    stage = Stage(folder)
    async with Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids) as engine:
        await engine.start_run_with_prompt_snapshot(
            stage.request(promptSnapshot=snapshot("", **payload_for(server, custom_url=None)))
        )
        await engine.wait(RUN)
        return await stage.played(engine)


async def killed(folder: Path, server: Simulator, rounds: int) -> Played:
    payload = folder / "payload.json"
    folder.mkdir()
    payload.write_text(json.dumps({**payload_for(server), "custom_url": None}))
    program = [sys.executable, "-m", looping.__name__, str(folder / "run"), str(payload), str(rounds)]
    child = await asyncio.create_subprocess_exec(*program, cwd=ROOT)
    assert await child.wait() == 0
    stage = Stage.found(folder / "run")
    async with Engine(stage.root) as engine:
        return await stage.played(engine)


async def check(folder: Path, name: str, rounds: int) -> None:
    async with SIMULATORS[name](script(rounds)) as calm:
        unharmed = await whole(folder / "whole", calm)
    async with SIMULATORS[name](script(rounds)) as server:
        played = await killed(folder / "killed", server, rounds)

    assert (calm.refusals, server.refusals) == ([], [])
    assert played.record is not None and str(played.record.status) == "completed"
    assert played.types.count("run_resumed") == rounds - 1
    assert [kind for kind in played.types if kind not in ("run_resumed", "provider_session_replayed")] == unharmed.types
    assert (played.files, played.messages[-1]["mes"]) == (unharmed.files, words.DRAFT)
    assert len(server.requests) == len(calm.requests) == rounds
    if name == REMEMBERS:  # whose socket died with its process: all is told again
        assert played.types.count("provider_session_replayed") == rounds - 1
    else:
        assert [request.body for request in server.requests] == [request.body for request in calm.requests]


@QUICK_FORMATS
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
async def test_two_rounds_and_a_kill_between_them(tmp_path: Path, name: str) -> None:
    await check(tmp_path, name, 2)


@FORMATS
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
async def test_thirty_rounds_and_a_kill_between_every_two(tmp_path: Path, name: str) -> None:
    await check(tmp_path, name, 30)
