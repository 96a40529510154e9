"""Engines side by side, engines that are closed, and what a fault in somebody's code does to a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from treadle.graph.errors import NotFound, RunBusy, TreadleError
from treadle.graph.ports import WireReply, WireRequest
from treadle.graph.status import RunStatus
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer

from ..scenarios import words
from ..scenarios.hosts import SlowHost, never
from ..scenarios.script import Script
from ..scenarios.stage import RUN, Stage


async def test_several_engines_work_in_one_process(tmp_path: Path) -> None:
    async def alone(name: str) -> RunStatus:
        played = await Stage(tmp_path / name).play(words.WRITE, words.COMMIT_AND_FINISH)
        assert played.record is not None
        return played.record.status

    ends = await asyncio.gather(*(alone(name) for name in "abcd"))

    assert ends == [RunStatus.COMPLETED] * 4


async def test_one_engine_drives_many_runs_at_once(stage: Stage) -> None:
    def background(number: int) -> dict[str, str]:
        return {"runId": f"run_{number}", "presentation": "background"}

    async with stage.show(*[words.LIST] * 8, *[words.FINISH] * 8) as show:
        await asyncio.gather(*(show.start(**background(number)) for number in range(8)))
        ends = [await show.engine.wait(f"run_{number}") for number in range(8)]

    assert [record.status for record in ends] == [RunStatus.COMPLETED] * 8


async def test_a_closed_engine_leaves_a_run_that_goes_on_in_another(stage: Stage) -> None:
    async with stage.show(words.WRITE, never) as first:
        await first.start()
        await first.asked(2)
    left = stage.run_folder() / "run.json"
    status = json.loads(left.read_text())["status"]
    async with stage.show(words.COMMIT_AND_FINISH) as second:
        await second.resume()
        played = await second.end()

    assert status == "calling_model"
    assert played.types.count("run_resumed") == 1
    assert [kind for kind in played.types if kind != "run_resumed"][-1] == "run_completed"
    assert played.messages[-1]["mes"] == words.DRAFT


async def test_an_engine_may_be_closed_at_any_moment(stage: Stage) -> None:
    """Even before the run's first step: its lease is free at once, and another engine goes on."""
    async with stage.show() as first:
        await first.start()
        waiting = asyncio.create_task(first.engine.wait(RUN))
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as second:
        await second.resume()
        played = await second.end()

    assert (await waiting).status is RunStatus.CREATED
    assert played.types[-1] == "run_completed"


async def test_an_engine_may_be_closed_while_a_run_ends(stage: Stage) -> None:
    for number in range(10):
        async with stage.show(words.FINISH) as show:
            await show.start(runId=f"run_{number}", presentation="background")
            async for _ in show.engine.subscribe(f"run_{number}"):
                pass
        async with stage.show() as show:
            await show.engine.resume_run(f"run_{number}")


async def test_closing_twice_is_once(stage: Stage) -> None:
    async with stage.show(never) as show:
        await show.start()
        await show.engine.close()
        await show.engine.close()


async def test_a_run_that_somebody_drives_is_not_driven_twice(stage: Stage) -> None:
    async with stage.show(never) as first, stage.show() as second:
        await first.start()
        await first.asked(1)
        with pytest.raises(RunBusy) as refused:
            await second.engine.resume_run(RUN)
        again = await first.engine.resume_run(RUN)

    assert refused.value.error_code == "agent.run_busy"
    assert again.status is RunStatus.CALLING_MODEL


async def test_a_run_that_was_left_by_a_crash_is_free_when_its_lease_is_over(stage: Stage) -> None:
    """The first engine is still there, but it has been asleep: what it does then changes nothing."""
    async with stage.show(words.WRITE, never) as sleeper, stage.show(words.COMMIT_AND_FINISH) as taker:
        await sleeper.start()
        await sleeper.asked(2)
        stage.clock.advance(31)
        await taker.resume()
        played = await taker.end()
        with pytest.raises(TreadleError):
            await sleeper.engine.cancel(RUN)

    assert played.types[-1] == "run_completed"
    assert "run_cancel_requested" not in played.types


async def test_a_cancel_from_another_engine_is_obeyed_by_the_one_that_drives(stage: Stage) -> None:
    async with stage.show(never) as first, stage.show() as second:
        await first.start()
        await first.asked(1)
        handle = await second.engine.cancel(RUN)
        record = await asyncio.wait_for(first.engine.wait(RUN), 5)
        played = await stage.played(second.engine)

    assert handle.status is RunStatus.CALLING_MODEL
    assert record.status is RunStatus.CANCELLED
    assert played.types[-5:] == [
        "run_cancel_requested", "status_changed", "model_call_attempt_failed", "status_changed", "run_cancelled",
    ]  # fmt: skip


async def test_a_run_that_ended_is_neither_cancelled_nor_resumed(stage: Stage) -> None:
    before = await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        cancelled = await show.engine.cancel(f" {RUN} ")
        resumed = await show.engine.resume_run(RUN)
        after = await stage.played(show.engine)

    assert cancelled.status is resumed.status is RunStatus.COMPLETED
    assert after.events == before.events


async def test_cancelling_twice_is_once(stage: Stage) -> None:
    async with stage.show(never) as show:
        await show.start()
        await show.asked(1)
        await asyncio.gather(*(show.engine.cancel(RUN) for _ in range(3)))
        played = await show.end()

    assert played.types.count("run_cancel_requested") == 1
    assert played.types.count("run_cancelled") == 1


async def test_a_cancel_closes_the_connection_to_the_model(stage: Stage) -> None:
    async with stage.show(words.WRITE.after(60), over_http=True) as show:
        await show.start()
        await show.asked(1)
        await show.engine.cancel(RUN)
        await show.engine.wait(RUN)
        assert isinstance(show.model, ChatCompletionsServer)
        async with asyncio.timeout(5):
            while show.model.aborted == 0:
                await asyncio.sleep(0.005)


class Bug(Script):
    """A transport with a fault in its own code."""

    async def send(self, request: WireRequest) -> WireReply:
        return WireReply(1 // 0, {}, request.body)


async def test_a_fault_in_somebodys_code_ends_the_run_and_whoever_follows_it_is_told(stage: Stage) -> None:
    async with stage.engine(Bug(), stage.host) as engine:
        await engine.start_run_with_prompt_snapshot(stage.request())
        async with asyncio.timeout(20):
            told = [event async for event in engine.subscribe(RUN)]
            record = await engine.wait(RUN)

    assert record.status is RunStatus.FAILED
    assert told[-1].type == "run_failed"
    assert told[-1].payload["code"] == "agent.internal_error"
    assert "ZeroDivisionError" in told[-1].payload["message"]


async def test_a_fault_in_a_host_ends_the_run_too(stage: Stage) -> None:
    async def fault() -> None:
        raise KeyError("a fault")

    async with stage.show(words.WRITE, words.COMMIT, host=SlowHost(stage.host, commit=fault)) as show:
        await show.start()
        async with asyncio.timeout(20):
            told = [event async for event in show.engine.subscribe(RUN)]

    assert told[-1].payload["code"] == "agent.internal_error"


async def test_a_journal_that_can_not_be_written_fails_the_run_and_nothing_further_is_done(stage: Stage) -> None:
    stage.disk.fail("append", when="events.jsonl", containing=b'"tool_call_requested"')
    stage.disk.fail("append", when="events.jsonl", containing=b'"run_failed"')
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.start()
        played = await show.end()

    assert played.record is not None
    assert played.record.status is RunStatus.FAILED
    assert played.types[-1] == "model_completed"
    assert played.files == {}


async def test_the_edges_of_a_run_that_ended_are_no_longer_told(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        assert [edge async for edge in show.engine.transitions(RUN)] == []


async def test_waiting_for_a_run_that_is_not_there_says_so(stage: Stage) -> None:
    async with stage.show() as show:
        with pytest.raises(NotFound):
            await show.engine.wait("run_x")


async def test_what_an_engine_holds_of_a_run_goes_with_the_run(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH, remote=True) as show:
        await show.start()
        asked = await show.until("chat_commit_requested")
        await show.engine.resolve_agent_chat_commit(RUN, asked.payload["commitId"], message_id="2")
        held = show.engine.remembered
        asked = await show.until("persistent_state_metadata_update_requested")
        await show.engine.resolve_persistent_state_metadata_update(RUN, asked.payload["updateId"])
        await show.engine.wait(RUN)
        await show.engine.cancel(RUN)

        assert (held > 0, show.engine.remembered) == (True, 0)


@pytest.mark.slow
async def test_two_hundred_runs_leave_nothing_behind_in_an_engine(stage: Stage) -> None:
    async with stage.show(*[words.FINISH] * 200) as show:
        for number in range(200):
            await show.start(runId=f"run_{number}", presentation="background")
            await show.engine.wait(f"run_{number}")

        assert show.engine.remembered == 0
