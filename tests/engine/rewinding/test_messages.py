"""A run's message in the chat is put back as it was at a checkpoint, through its host, and both are journalled."""

from __future__ import annotations

import asyncio

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.engine.engine import Engine
from treadle.engine.rewinding.records import MessageRolledBack
from treadle.graph.errors import HostFailed
from treadle.graph.jsontext import dumps
from treadle.graph.ports import MessageRewind
from treadle.graph.status import RunStatus
from treadle.host.chat_folder import ChatFolderHost
from treadle.testkit.replies import call, calls

from ...scenarios import words
from ...scenarios.stage import RUN, Stage
from ...storage.chats.samples import QUESTION
from .plays import ended, last_seq, tail

PLAY = (words.WRITE, words.COMMIT, words.WRITE_CODA, calls(call("workspace.commit", path="output/coda.md", mode="append"), call("workspace.finish")))  # fmt: skip
WROTE, COMMITTED, WROTE_CODA, COMMITTED_CODA = (f"cp_{number:06d}" for number in range(1, 5))


async def test_the_commits_up_to_the_checkpoint_make_the_message(stage: Stage) -> None:
    await ended(stage, *PLAY)
    files = stage.files()
    async with stage.engine(host=stage.host) as engine:
        for checkpoint, shown, commits in (
            (COMMITTED, [words.DRAFT], 1),
            (COMMITTED_CODA, [words.DRAFT + words.CODA], 2),
            (WROTE_CODA, [words.DRAFT], 1),
            (WROTE, [], 0),
        ):
            done = await engine.rollback(RUN, checkpoint, "committed-message")
            played = await stage.played(engine)

            assert [message["mes"] for message in played.messages[2:]] == shown
            assert isinstance(done, MessageRolledBack)
            assert (done.message_id, len(done.commit_ids)) == ("2" if shown else None, commits)
            assert played.record is not None
            assert played.record.status is RunStatus.COMPLETED
    assert stage.files() == files


async def test_the_journal_tells_of_each(stage: Stage, snapshot: SnapshotAssertion) -> None:
    await ended(stage, *PLAY)
    async with stage.engine(host=stage.host) as engine:
        end = await last_seq(engine)
        await engine.rollback(RUN, COMMITTED, "committed-message")
        stage.chat.write_bytes(stage.chat.read_bytes() + dumps(QUESTION) + b"\n")
        with pytest.raises(HostFailed, match="Later messages answer message 2"):
            await engine.rollback(RUN, WROTE, "committed-message")
        stage.chat.write_bytes(b"".join(stage.chat.read_bytes().splitlines(keepends=True)[:-1]))
        await engine.rollback(RUN, WROTE, "committed-message")

        assert await tail(engine, end) == snapshot


async def test_a_text_that_a_person_changed_is_kept(stage: Stage) -> None:
    await ended(stage, *PLAY)
    stage.chat.write_text(stage.chat.read_text("utf-8").replace("tide", "moon"), "utf-8")
    before = stage.chat.read_bytes()
    async with stage.engine(host=stage.host) as engine:
        with pytest.raises(HostFailed) as refused:
            await engine.rollback(RUN, COMMITTED, "committed-message")

    assert refused.value.error_code == "commit.cursor_integrity"
    assert stage.chat.read_bytes() == before


class Silent(ChatFolderHost):
    """Does what it is asked, or nothing, and never answers."""

    asked: asyncio.Event
    works = True

    async def rewind_message(self, request: MessageRewind) -> str | None:
        if self.works:
            await super().rewind_message(request)
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    ("checkpoint", "works"),
    [
        (WROTE, True),
        (COMMITTED, True),
        pytest.param(WROTE, False, marks=pytest.mark.slow),
        pytest.param(COMMITTED, False, marks=pytest.mark.slow),
    ],
)
async def test_a_request_whose_answer_was_lost_is_made_again_under_its_id(
    stage: Stage, checkpoint: str, works: bool
) -> None:
    await ended(stage, *PLAY)
    await _lose_the_answer(stage, checkpoint, works=works)
    async with stage.engine(host=stage.host) as engine:
        await engine.rollback(RUN, checkpoint, "committed-message")
        played = await stage.played(engine)

    assert [event.type for event in played.events[-2:]] == [
        "committed_message_rollback_requested",
        "committed_message_rollback_completed",
    ]
    assert played.events[-1].payload["rollbackId"] == played.events[-2].payload["rollbackId"]
    assert [message["mes"] for message in played.messages[2:]] == ([] if checkpoint == WROTE else [words.DRAFT])


async def test_it_is_answered_before_another_one_is_made(stage: Stage) -> None:
    await ended(stage, *PLAY)
    await _lose_the_answer(stage, COMMITTED, works=True)
    async with stage.engine(host=stage.host) as engine:
        await engine.rollback(RUN, COMMITTED_CODA, "committed-message")
        played = await stage.played(engine)

    told = [(event.type.rsplit("_", 1)[1], event.payload["checkpointId"]) for event in played.events[-4:]]
    assert told == [
        ("requested", COMMITTED), ("completed", COMMITTED), ("requested", COMMITTED_CODA), ("completed", COMMITTED_CODA),
    ]  # fmt: skip
    assert played.messages[-1]["mes"] == words.DRAFT + words.CODA


async def _lose_the_answer(stage: Stage, checkpoint: str, *, works: bool) -> None:
    host = Silent(stage.chat.parent.parent, clock=stage.clock)
    host.asked, host.works = asyncio.Event(), works
    engine = Engine(stage.root, host, clock=stage.clock, ids=stage.ids)
    asking = asyncio.create_task(engine.rollback(RUN, checkpoint, "committed-message"))
    await host.asked.wait()
    asking.cancel()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()  # the rollback itself does not end with who waits for it
    await asyncio.gather(asking, return_exceptions=True)
    await engine.close()
    stage.clock.advance(3600)  # as a process that is gone does not let go of its lease
