"""A run goes on from its journal where what its graph saved can't be read."""

from __future__ import annotations

import pytest

from treadle.engine.asking import Asking
from treadle.engine.driving import Driving
from treadle.engine.opening import open_run
from treadle.engine.resuming import resume
from treadle.engine.rewinding.rebuilding import rebuilt, set_damaged_aside
from treadle.graph.errors import InvalidData, RunFailed
from treadle.graph.jsontext import Json
from treadle.graph.ports import Ask
from treadle.graph.state import RunState
from treadle.graph.table import Step as GraphStep
from treadle.nodes.deps import Run
from treadle.nodes.derived_state import Derived

from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.script import Script, Step
from ...scenarios.stage import RUN, Played, Stage


async def test_a_run_without_its_database_stands_where_its_journal_says(stage: Stage) -> None:
    await _leave(stage, words.WRITE, words.COMMIT, never)
    _lose_the_database(stage)

    point = await _rebuilt(stage)

    assert point is not None
    assert (point.next, point.state.round, point.state.calls_made) == (GraphStep.CALL_MODEL, 2, 2)
    assert (point.state.commit_count, point.state.checkpoint_count) == (1, 2)


async def test_a_run_that_was_not_begun_is_not_rebuilt(stage: Stage) -> None:
    await _leave(stage, never)
    stage.forget_after("workspace_initialized")

    assert await _rebuilt(stage) is None


async def test_a_lost_state_is_placed_and_the_run_repeats_nothing(stage: Stage) -> None:
    await _leave(stage, words.WRITE, words.COMMIT, never)
    _lose_the_database(stage)

    played, steps = await _forced(stage, words.FINISH)

    _ended_once(played)
    assert steps == ["call_model", "dispatch_tools", "finish"]


async def test_a_state_of_another_version_is_refused_and_goes_on_by_force(stage: Stage) -> None:
    await _leave(stage, words.WRITE, words.COMMIT, never)
    await _save_as_version(stage, 99)
    async with stage.show() as show:
        with pytest.raises(RunFailed, match="state version 99"):
            await show.resume()

    played, _ = await _forced(stage, words.FINISH)

    _ended_once(played)


async def test_a_damaged_database_is_set_aside_by_force_and_not_without(stage: Stage) -> None:
    await _leave(stage, words.WRITE, words.COMMIT, never)
    _lose_the_database(stage)
    (stage.run_folder() / "run.sqlite").write_bytes(b"no database at all" * 100)
    async with stage.show() as show:
        with pytest.raises(InvalidData, match=r"run\.sqlite is damaged"):
            await show.resume()

    played, _ = await _forced(stage, words.FINISH)

    _ended_once(played)
    assert (stage.run_folder() / "run.sqlite.damaged").read_bytes().startswith(b"no database")
    assert [event.payload["forced"] for event in played.events if event.type == "run_resumed"] == [["state"]]


async def test_a_database_that_can_be_read_is_left_where_it_is(stage: Stage) -> None:
    await _leave(stage, never)
    async with stage.engine() as engine:
        record = await engine.read_run(RUN)

        assert not set_damaged_aside(engine.services, record)

    assert (stage.run_folder() / "run.sqlite").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "event", ["model_response_stored", "tool_result_stored", "workspace_file_written", "chat_commit_requested"]
)
async def test_what_was_under_way_is_finished_and_nothing_is_done_twice(stage: Stage, event: str) -> None:
    await _leave(stage, words.WRITE, words.COMMIT, never)
    stage.forget_after(event)

    played, _ = await _forced(stage, *([words.COMMIT] if "commit" not in event else []), words.FINISH)

    _ended_once(played)


async def _leave(stage: Stage, *steps: Step) -> None:
    async with stage.show(*steps) as show:
        await show.start()
        await show.asked(len(steps))


async def _rebuilt(stage: Stage) -> Derived | None:
    async with stage.engine() as engine:
        run = open_run(engine.services, await engine.read_run(RUN), _nobody)
        try:
            return rebuilt(run)
        finally:
            run.folder.close()


async def _forced(stage: Stage, *steps: Step) -> tuple[Played, list[str]]:
    """Resume by force, and see the run to its end; the steps that were taken."""
    async with stage.engine(Script(*steps), stage.host) as engine:
        driving = Driving(engine.services, lambda _: None)
        asking = Asking(stage.host, driving.run)
        await resume(engine.services, driving, asking.for_run, await engine.read_run(RUN), force=True)
        active = driving.active(RUN)
        assert active is not None
        assert active.task is not None
        await active.task
        await driving.close()
        return await stage.played(engine), [edge.step for edge in active.edges]


def _lose_the_database(stage: Stage) -> None:
    for file in stage.run_folder().glob("run.sqlite*"):
        file.unlink()


async def _save_as_version(stage: Stage, version: int) -> None:
    async with stage.engine() as engine:
        driving = Driving(engine.services, lambda _: None)
        run = open_run(engine.services, await engine.read_run(RUN), _nobody)
        await driving.place(run, Derived(RunState(v=version, run_id=RUN), GraphStep.CALL_MODEL, 1))
        run.folder.close()


def _nobody(_run: Run) -> Ask:
    async def ask(kind: str, payload: dict[str, Json]) -> dict[str, Json]:
        raise AssertionError((kind, payload))

    return ask


def _ended_once(played: Played) -> None:
    assert played.types[-1] == "run_completed"
    assert len(played.messages) == 3
    for once in ("chat_commit_requested", "workspace_file_written", "run_completed"):
        assert played.types.count(once) == 1
    assert played.types.count("model_response_stored") == 3
