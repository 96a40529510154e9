"""The process is killed while a tool of a real MCP server is called: the call is made again only where it may be.

And a profile whose wildcards a run has spelled out is still the profile that it began under.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.engine.beginning import ProfileChanged
from treadle.graph.jsontext import Json, loads

from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.stage import RUN, Stage
from . import killing
from .shed import Shed, profile

ROOT = Path(__file__).resolve().parents[3]
END = (words.WRITE, words.COMMIT_AND_FINISH)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")]


@pytest.fixture
def shed(stage: Stage) -> Shed:
    return Shed(stage)


@pytest.mark.parametrize(
    ("tool", "when", "settings", "notes", "code"),
    [
        ("mcp.shed.note", "before", {}, [], "mcp.effect_unknown"),
        ("mcp.shed.note", "after", {}, ["fog"], "mcp.effect_unknown"),
        ("mcp.shed.set", "before", {}, ["fog"], None),
        ("mcp.shed.set", "after", {}, ["fog", "fog"], None),
        ("mcp.shed.note", "after", {"idempotentTools": ["note"]}, ["fog", "fog"], None),
    ],
)
async def test_a_call_that_was_under_way_is_made_again_only_if_its_tool_is_declared_repeatable(
    stage: Stage, shed: Shed, tool: str, when: str, settings: dict[str, Json], notes: list[str], code: str | None
) -> None:
    shed.put(**settings)
    command = [sys.executable, "-m", killing.__name__, str(stage.root.parent), tool, when]
    killed = await asyncio.to_thread(lambda: subprocess.run(command, cwd=ROOT, check=False, timeout=120))
    await shed.gone()
    before = shed.notes
    stage.clock.advance(3600)  # the lease of the dead is over
    async with stage.show(*END) as show:
        await show.resume()
        await show.asked(1)
        told = loads(show.model.requests[0].body)["messages"][-1]
        played = await show.end()

    assert killed.returncode == -signal.SIGKILL
    assert before == (["fog"] if when == "after" else [])
    assert shed.notes == notes
    assert shed.result().error_code == code
    assert told["role"] == "tool"
    assert ("Whether it was carried out is not known" in told["content"]) == (code is not None)
    assert [kind for kind in played.types if kind.startswith("tool_")][:4] == [
        "tool_call_requested", "tool_call_started", "tool_result_stored", "tool_call_failed" if code else "tool_call_completed",
    ]  # fmt: skip
    assert played.types[-1] == "run_completed"
    await shed.gone()


async def test_wildcards_that_a_run_has_spelled_out_are_no_change_of_its_profile(stage: Stage, shed: Shed) -> None:
    asked: Json = {**profile("mcp.shed.*"), "id": "mine"}
    async with stage.show(never) as show:
        await show.engine.profiles.save(asked)
        await show.start(profileId="mine")
        await show.asked(1)
    async with stage.show(never) as show:
        await show.resume()
        await show.asked(1)
        asked["tools"]["allow"][-1] = "mcp.shed.note"
        await show.engine.profiles.save(asked)
    async with stage.show() as show:
        with pytest.raises(ProfileChanged) as refused:
            await show.engine.resume_run(RUN)

    last = len(asked["tools"]["allow"]) - 1
    assert f"changed since, at $.tools.allow[{last}]" in refused.value.message
    assert (
        loads((stage.run_folder() / "input" / "asked_profile.json").read_bytes())["tools"]["allow"][-1] == "mcp.shed.*"
    )
