"""What a journal tells of the states of real runs, beside what their graphs saved."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from treadle.engine.rewinding.journal_state import saved_state, settled_points, state_fault
from treadle.graph.build import build, compile_graph
from treadle.graph.events import Event
from treadle.graph.state import RunState, restore
from treadle.graph.table import Step
from treadle.nodes.steps import RETRY_STEPS, STEPS
from treadle.storage.database import RunDatabase
from treadle.storage.journal import Journal
from treadle.storage.saver import RunFolderSaver
from treadle.testkit.ports import CountingIds

from ...scenarios import words
from ...scenarios.catalogue import SCENARIOS, Scenario
from ...scenarios.stage import RUN, Stage

_ELSEWHERE = {"refused_start", "bare_graph", "cancel_while_waiting_to_retry"}
"""There is no run, or its graph saves in memory, or it is played on another stage."""
_OFTEN = {"several_calls_in_one_answer", "drift_corrected_after_a_retry"}


def journal(stage: Stage, run_id: str = RUN) -> list[Event]:
    path = stage.run_folder(run_id) / "events.jsonl"
    return Journal(path, run_id=run_id, disk=stage.disk, clock=stage.clock, ids=CountingIds()).read_all()


async def _saved(stage: Stage) -> list[tuple[RunState, str]]:
    """The states that the graph saved, and the steps it stood before, oldest first."""
    database = RunDatabase(stage.run_folder() / "run.sqlite", clock=stage.clock)
    graph = compile_graph(build(STEPS, RETRY_STEPS, None), RunFolderSaver(lambda _: database))  # type: ignore[arg-type]  # it is not driven
    found = [each async for each in graph.aget_state_history({"configurable": {"thread_id": RUN}})]
    database.close()
    return [(restore(dict(each.values)), each.next[0]) for each in reversed(found) if each.next and each.values]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in _OFTEN else pytest.mark.slow)
        for name in SCENARIOS
        if name not in _ELSEWHERE
    ],
)
def test_the_graph_saved_what_the_journal_tells(name: str, tmp_path: Path) -> None:
    stage, states = asyncio.run(_played(SCENARIOS[name], tmp_path))
    told = [(point.state, str(point.next)) for point in settled_points(stage.run_folder(), journal(stage), stage.disk)]
    settled = [(state, step) for state, step in states if step in (Step.CALL_MODEL, Step.DISPATCH_TOOLS)]

    # a commit's answer is saved before the dispatch that ends the round, or goes on, has been
    assert [each for each in settled if each not in told and each[0].outcome not in _PASSED] == []
    assert _fault(stage) is None


_PASSED = {"committed", "refused_by_rule"}


async def _played(scenario: Scenario, folder: Path) -> tuple[Stage, list[tuple[RunState, str]]]:
    stage = Stage(folder)
    async with asyncio.timeout(60):
        await scenario(stage)
    return stage, await _saved(stage)


def _fault(stage: Stage) -> str | None:
    return state_fault(stage.run_folder(), RUN, journal(stage), stage.disk, stage.clock)


async def test_a_state_that_is_ahead_of_its_journal_is_a_fault(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    shortened = [event for event in journal(stage) if event.seq <= 22]

    fault = state_fault(stage.run_folder(), RUN, shortened, stage.disk, stage.clock)

    assert fault is not None
    assert "no event leads to the saved state" in fault


def test_a_run_whose_graph_saved_nothing_has_no_saved_state(tmp_path: Path) -> None:
    assert saved_state(tmp_path, RUN, Stage(tmp_path).clock) is None
