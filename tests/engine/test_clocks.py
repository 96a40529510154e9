"""A run under a clock that is set back, set ahead, or stands still: what was, and in which order, is told by numbers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.graph.errors import RunBusy
from treadle.host.chat_folder import ChatFolderHost
from treadle.storage.leases import LEASE_MS
from treadle.storage.persist import newest_state_id
from treadle.testkit.replies import Reply

from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.script import ByRound
from ..scenarios.stage import RUN, Played, Stage
from ..scenarios.wires import WiredClock, Wires

DAY = 86_400.0
JUMPS = {"set back a day": -DAY, "set ahead a day": DAY, "standing still": 0.0}


class SetClock(WiredClock):
    """It stands still, but for whoever sets its time of day."""

    def __init__(self, wires: Wires) -> None:
        super().__init__(wires)
        self.set_by = 0.0

    def now(self) -> float:
        return super().now() + self.set_by


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_run_is_told_in_its_order_however_the_clock_is_set(
    jump: str, stage: Stage, snapshot: SnapshotAssertion
) -> None:
    clock = _set(stage)

    async def set_and_commit() -> Reply:
        clock.set_by += JUMPS[jump]
        return words.COMMIT_AND_FINISH

    played = await stage.play(words.WRITE, set_and_commit)

    assert _timeline(played) == snapshot


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_run_that_was_left_goes_on_under_another_time(jump: str, stage: Stage) -> None:
    clock = _set(stage)
    async with stage.show(words.WRITE, words.COMMIT, never) as show:
        await show.start()
        await show.asked(3)
    clock.set_by += JUMPS[jump]
    async with stage.show(words.FINISH) as show:
        await show.resume()
        played = await show.end()

    assert [event.seq for event in played.events] == list(range(1, len(played.events) + 1))
    assert played.types.count("run_resumed") == 1
    assert played.types[-1] == "run_completed"


@pytest.mark.parametrize("jump", JUMPS)
async def test_nobody_takes_a_run_over_because_the_clock_was_set(jump: str, stage: Stage) -> None:
    clock = _set(stage)
    async with stage.show(words.WRITE, never) as show:
        await show.start()
        await show.asked(2)
        clock.set_by += JUMPS[jump]
        async with stage.engine() as other:
            with pytest.raises(RunBusy):
                await other.resume_run(RUN)


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_dead_process_holds_its_run_no_longer_for_a_clock_that_was_set(jump: str, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    clock = _set(stage)
    dead = stage.engine(ByRound(words.WRITE, never))
    await dead.start_run_with_prompt_snapshot(stage.request())
    model = dead.services.transport
    assert isinstance(model, ByRound)
    async with asyncio.timeout(30):
        while len(model.requests) < 2:
            await asyncio.sleep(0.002)
    clock.set_by += JUMPS[jump]
    clock.advance(LEASE_MS / 1000)
    async with stage.engine(ByRound(words.WRITE, words.COMMIT_AND_FINISH), stage.host) as other:
        await other.resume_run(RUN)
        record = await other.wait(RUN)
    await dead.close()

    assert str(record.status) == "completed"


async def test_the_newest_persistent_state_is_the_last_one_that_was_promoted(stage: Stage) -> None:
    clock = _set(stage)
    for run_id, notes in (("run_9", words.WRITE_NOTES), ("run_1", words.WRITE_OTHER_NOTES)):
        async with stage.show(notes, words.FINISH) as show:
            await show.start(presentation="background", runId=run_id)
            played = await show.end(run_id)
        clock.set_by -= DAY

    assert played.record is not None
    assert played.record.persist_base_state_id == "run_9"
    assert newest_state_id(stage.run_folder("run_1").parent.parent) == "run_1"


def _set(stage: Stage) -> SetClock:
    """A clock of that kind for the stage and its host."""
    clock = stage.clock = SetClock(stage.wires)
    stage.host = ChatFolderHost(stage.root.parent / "chats", clock=clock, disk=stage.disk)
    return clock


def _timeline(played: Played) -> str:
    """A line an event, then what of the time is told to others."""
    events = [f"{event.seq:3} {event.timestamp} {event.type}" for event in played.events]
    message = played.messages[-1]
    assert played.record is not None
    record = f"run {played.record.created_at} .. {played.record.updated_at}"
    return "\n".join([*events, record, f"message {message['send_date']}"])
