"""A run of which only the record and the journal are left says so to whoever asks for more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from treadle.engine.engine import Engine
from treadle.graph.errors import NotFound
from treadle.graph.jsontext import Json
from treadle.graph.status import RunStatus
from treadle.storage.run_deletion import begin_deletion
from treadle.storage.runs import RunSlimmed

from ...scenarios import words
from ...scenarios.stage import RUN, Stage

SLIM: dict[str, Json] = {"keepRecentTerminalRuns": 1, "keepFullRecentRuns": 0}
NONE: dict[str, Json] = {"keepRecentTerminalRuns": 0, "keepFullRecentRuns": 0}

Ask = Callable[[Engine], Awaitable[object]]


ASKED: list[Ask] = [
    lambda engine: engine.read_model_turn(RUN, 1),
    lambda engine: engine.read_workspace_file(RUN, "output/main.md"),
    lambda engine: engine.read_wire(RUN, 1),
]


@pytest.mark.parametrize("ask", ASKED)
async def test_what_is_gone_is_told_by_its_own_error(stage: Stage, ask: Ask) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.start()
        whole = await show.end()
        await ask(show.engine)
        result = await show.engine.retention.apply(SLIM)

        with pytest.raises(RunSlimmed, match=f"run {RUN} was slimmed at 2026-") as refused:
            await ask(show.engine)
        assert (result.slimmed, result.failures, refused.value.error_code) == (1, (), "agent.run_slimmed")
        assert (await show.engine.read_workspace_file(RUN, "events.jsonl")).text
        assert tuple(await show.engine.read_events(RUN, limit=500)) == whole.events
        (told,) = (await show.engine.list_runs()).to_json()["runs"]
    assert (told["commitCount"], told["status"]) == (1, "completed")
    assert told["slimmedAt"].startswith("2026-01-01T")


async def test_a_slimmed_run_is_still_attached_to_resumed_and_cancelled_as_one_that_ended(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.FINISH) as show:
        await show.start(presentation="background")
        await show.end()
        await show.engine.retention.apply(SLIM)
        again = await show.engine.start_run_with_prompt_snapshot(
            stage.request(show.model.base_url, presentation="background")
        )

        assert again.status == "completed"
        assert (await show.engine.resume_run(RUN)).status == "completed"
        assert (await show.engine.cancel(RUN)).status == "completed"


async def test_a_slimmed_run_is_never_driven_again_whatever_its_record_says(stage: Stage) -> None:
    await stage.play(words.WRITE, words.FINISH, presentation="background")
    async with stage.show() as show:
        record = await show.engine.read_run(RUN)
        odd = replace(record, status=RunStatus.CALLING_MODEL, slimmed_at="2026-01-01T00:00:00.000Z")
        show.engine.services.store.save(odd)

        with pytest.raises(RunSlimmed):
            await show.engine.resume_run(RUN)


async def test_a_deleted_run_is_not_found_and_its_name_is_free(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.FINISH, words.WRITE, words.FINISH) as show:
        await show.start(presentation="background")
        first = await show.end()
        result = await show.engine.retention.apply(NONE)

        assert (result.deleted, result.failures) == (1, ())
        with pytest.raises(NotFound, match="no run run_1"):
            await show.engine.read_events(RUN)
        await show.start(presentation="background")
        second = await show.end()
    assert second.types == first.types


async def test_a_run_of_a_half_deleted_ones_name_begins_from_nothing(stage: Stage) -> None:
    await stage.play(words.WRITE, words.FINISH, presentation="background")
    async with stage.show(words.LIST, words.FINISH) as show:
        store, disk = show.engine.services.store, show.engine.services.disk
        begin_deletion(store, disk, store.load(RUN).id)
        await show.start(presentation="background")
        played = await show.end()

    assert played.files == {}
    assert played.types[0] == "run_created"
    assert played.record is not None
    assert played.record.status == "completed"
