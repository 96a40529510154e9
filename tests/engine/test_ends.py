"""A run ends once: as its journal says, whatever breaks or comes too late, and whoever asks again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

import pytest

from treadle.graph.errors import InvalidData, RunLeft, StorageFailed
from treadle.graph.events import TERMINAL_EVENTS
from treadle.graph.status import RunStatus
from treadle.storage.database import RunDatabase
from treadle.storage.runs import DATABASE
from treadle.testkit.ports import CountingIds
from treadle.testkit.replies import Reply

from ..scenarios import words
from ..scenarios.bare import drive
from ..scenarios.catalogue import HAPPY_PATH
from ..scenarios.hosts import never
from ..scenarios.stage import RUN, Played, Stage

STEPS = (words.WRITE, words.COMMIT_AND_FINISH)


@pytest.mark.parametrize("asked", ["resume_run", "cancel"])
async def test_an_end_that_only_the_journal_tells_is_settled_and_nothing_follows_it(stage: Stage, asked: str) -> None:
    """A crash came between the terminal event and the record."""
    before = await stage.play(*STEPS)
    stage.forget_the_end()
    async with stage.show() as show:
        handle = await getattr(show.engine, asked)(RUN)
        after = await show.end()

    assert after.record is not None
    assert handle.status is after.record.status is RunStatus.COMPLETED
    assert after.events == before.events
    assert after.requests == before.requests
    assert _is_free(stage)


async def test_a_graph_settles_it_too(stage: Stage) -> None:
    before = await stage.play(*STEPS)
    stage.forget_the_end()
    state, _ = await drive(stage)
    async with stage.engine() as engine:
        after = await stage.played(engine)

    assert after.record is not None
    assert state["outcome"] == after.record.status == "completed"
    assert after.events == before.events
    assert _is_free(stage)


async def test_an_end_that_the_journal_does_not_take_becomes_a_failure(stage: Stage) -> None:
    stage.disk.fail("append", containing=b'"run_completed"', times=1)
    played = await stage.play(words.WRITE, words.FINISH, presentation="background")

    assert played.record is not None
    assert played.record.status is RunStatus.FAILED
    assert _ends(played) == ["run_failed"]
    assert played.events[-1].payload["code"] == "journal.append_failed"


RECORDS = pytest.mark.parametrize("record", ["runs/*/run.json", "index/runs/*.json"])


@RECORDS
async def test_an_end_whose_record_could_not_be_saved_is_saved_again_and_told_once(stage: Stage, record: str) -> None:
    stage.disk.fail("replace", when=record, containing=b'"status": "completed"', times=1)
    played = await stage.play(*STEPS)

    assert played.record is not None
    assert played.record.status is RunStatus.COMPLETED
    assert _ends(played) == ["run_completed"]


@RECORDS
async def test_an_end_whose_record_can_not_be_saved_at_all_is_settled_by_a_resume(stage: Stage, record: str) -> None:
    stage.disk.fail("replace", when=record, containing=b'"status": "completed"')
    async with stage.show(*STEPS) as show:
        await show.start()
        with suppress(StorageFailed):
            await show.engine.wait(RUN)
    stage.disk.heal()
    async with stage.show() as show:
        handle = await show.engine.resume_run(RUN)
        played = await stage.played(show.engine)

    assert handle.status is RunStatus.COMPLETED
    assert _ends(played) == ["run_completed"]


async def test_an_end_that_only_the_record_tells_is_no_end_once_the_journal_can_be_written(stage: Stage) -> None:
    stage.disk.fail("append", when="events.jsonl", containing=b'"tool_call_requested"')
    stage.disk.fail("append", when="events.jsonl", containing=b'"run_failed"')
    stopped = await stage.play(*STEPS)
    stage.disk.heal()
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        await show.resume()
        played = await show.end()

    assert stopped.record is not None
    assert stopped.record.status is RunStatus.FAILED
    assert _ends(stopped) == []
    assert [kind for kind in played.types if kind != "run_resumed"] == HAPPY_PATH
    assert played.record is not None
    assert played.record.status is RunStatus.COMPLETED


async def test_a_commit_that_was_made_and_can_not_be_told_leaves_the_run_to_be_resumed(stage: Stage) -> None:
    stage.disk.fail("append", when="events.jsonl", containing=b'"chat_commit_completed"', times=1)
    async with stage.show(*STEPS) as show:
        await show.start()
        with pytest.raises(RunLeft, match="No space left on device; make the disk writable, then resume the run"):
            await show.engine.wait(RUN)
    before = stage.chat.read_bytes()
    async with stage.show() as show:
        await show.resume()
        played = await show.end()

    assert [kind for kind in played.types if kind != "run_resumed"] == HAPPY_PATH
    assert len(stage.chat.read_bytes().splitlines()) == len(before.splitlines())


async def test_a_fault_in_somebodys_code_after_a_commit_is_a_partial_success(stage: Stage) -> None:
    async def fault() -> Reply:
        raise ZeroDivisionError("a fault")

    played = await stage.play(words.WRITE, words.COMMIT, words.WRITE_CODA, words.COMMIT_CODA, fault)

    told = played.events[-1].payload
    assert _ends(played) == ["run_partial_success"]
    assert (told["code"], told["preservedCommitCount"]) == ("agent.internal_error", 2)
    assert [(kept["path"], kept["round"]) for kept in told["preservedCommits"]] == [
        ("output/main.md", 2),
        ("output/coda.md", 4),
    ]


async def test_two_resumes_at_once_are_one(stage: Stage) -> None:
    await _leave(stage)
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        handles = await asyncio.gather(*(show.engine.resume_run(RUN) for _ in range(2)))
        played = await show.end()

    assert {handle.run_id for handle in handles} == {RUN}
    assert played.types.count("run_resumed") == 1
    assert played.requests == 2 + 1
    assert _ends(played) == ["run_completed"]


async def test_a_resume_and_a_cancel_at_once_come_one_after_the_other(stage: Stage) -> None:
    await _leave(stage)
    async with stage.show(never) as show:
        await asyncio.gather(show.engine.resume_run(RUN), show.engine.cancel(RUN))
        played = await show.end()

    assert _ends(played) == ["run_cancelled"]
    assert played.types.count("run_cancel_requested") == 1


async def test_a_cancel_that_comes_while_a_commit_is_prepared_lets_no_request_out(stage: Stage) -> None:
    async with stage.show(*STEPS) as show:
        reading = partial(stage.wires.at_read, "main.md", show.cancel_now)
        stage.wires.at_event("context_tool_result_hydrated", reading)
        await show.start()
        played = await show.end()

    assert played.types[-4:] == ["run_cancel_requested", "status_changed", "status_changed", "run_cancelled"]
    assert "chat_commit_requested" not in played.types
    assert "tool_call_started" in played.types[played.types.index("context_tool_result_hydrated") :]


async def test_a_start_that_the_journal_refuses_leaves_the_run_to_whoever_goes_on_with_it(stage: Stage) -> None:
    stage.disk.fail("append", containing=b'"run_created"', times=1)
    async with stage.show() as show:
        with pytest.raises(StorageFailed):
            await show.start()
    state, _ = await drive(stage, *STEPS)

    assert state["outcome"] == "completed"
    assert await _types(stage) == HAPPY_PATH


class Faltering(CountingIds):
    """It has a fault in its own code, which it shows once."""

    def __init__(self) -> None:
        super().__init__()
        self._whole = False

    def new(self) -> str:
        if not self._whole:
            self._whole = True
            raise ZeroDivisionError("a fault")
        return super().new()


async def test_a_start_that_meets_a_fault_in_somebodys_code_does_so_too(stage: Stage) -> None:
    stage.ids = Faltering()
    async with stage.show() as show:
        with pytest.raises(ZeroDivisionError):
            await show.start()
    state, _ = await drive(stage, *STEPS)

    assert state["outcome"] == "completed"
    assert await _types(stage) == HAPPY_PATH


async def test_a_run_whose_record_can_not_be_read_is_let_go(stage: Stage) -> None:
    """The lease was taken, then the record is read once more."""
    await _leave(stage)
    async with stage.show() as show:
        stage.disk.fail("read", when="run.json", skip=1, times=1)
        with pytest.raises(StorageFailed):
            await show.engine.resume_run(RUN)

    assert _is_free(stage)


async def test_a_run_whose_journal_holds_an_odd_payload_is_refused_and_let_go(stage: Stage) -> None:
    await _leave(stage)
    journal = stage.run_folder() / "events.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"argumentsRef"', b'"argumentsAre"'))
    async with stage.show() as show:
        with pytest.raises(InvalidData):
            await show.engine.resume_run(RUN)

    assert _is_free(stage)


async def test_a_run_that_was_cancelled_before_its_first_event_still_begins_with_it(stage: Stage) -> None:
    stage.disk.fail("append", containing=b'"run_created"', times=1)
    async with stage.show() as show:
        with pytest.raises(StorageFailed):
            await show.start()
    async with stage.show() as show:
        await show.engine.cancel(RUN)

    assert await _types(stage) == ["run_created", "run_cancel_requested", "status_changed", "run_cancelled"]


async def _leave(stage: Stage) -> None:
    """The run's engine was closed while the model was asked for its second answer."""
    async with stage.show(words.WRITE, never) as show:
        await show.start()
        await show.asked(2)


def _is_free(stage: Stage) -> bool:
    database = RunDatabase(stage.run_folder() / DATABASE, clock=stage.clock)
    try:
        return database.lease() is None
    finally:
        database.close()


def _ends(played: Played) -> list[str]:
    return [kind for kind in played.types if kind in TERMINAL_EVENTS]


async def _types(stage: Stage) -> list[str]:
    async with stage.engine() as engine:
        return (await stage.played(engine)).types
