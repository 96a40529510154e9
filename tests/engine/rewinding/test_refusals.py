"""What is refused: nothing is written then, and the error says what to do."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.engine.engine import Engine
from treadle.graph.errors import InvalidInput, NotFound, RunBusy, TreadleError

from ...scenarios import words
from ...scenarios.hosts import SlowHost, never
from ...scenarios.people import asking
from ...scenarios.stage import RUN, Stage
from .plays import MAIN_1, MAIN_2, WRITE_ALL, cut_after, ended, last_seq, left


async def test_a_run_that_is_driven_here_or_elsewhere_is_busy(stage: Stage) -> None:
    async with stage.show(WRITE_ALL, never) as show, stage.engine() as other:
        await show.start()
        await show.asked(2)
        for engine in (show.engine, other):
            for scope in ("workspace", "committed-message"):
                with pytest.raises(RunBusy):
                    await engine.rollback(RUN, MAIN_1, scope)


async def test_a_step_that_was_begun_is_ended_first(stage: Stage) -> None:
    await _left_at(stage, "tool_call_completed", 2)
    before = stage.files()
    async with stage.engine() as engine:
        end = await last_seq(engine)
        with pytest.raises(InvalidInput, match="resume it, so that this is ended, and roll back then") as refused:
            await engine.rollback(RUN, MAIN_1)

        assert refused.value.error_code == "agent.rollback_step_begun"
        assert "in the middle of the call call_7cc7bb59 (workspace.write_file)" in refused.value.message
        assert await last_seq(engine) == end
    assert stage.files() == before


@pytest.mark.parametrize(("last", "nth"), [("checkpoint_created", 2), ("chat_commit_recorded", 1)])
async def test_between_its_steps_a_run_may_be_rolled_back(stage: Stage, last: str, nth: int) -> None:
    await _left_at(stage, last, nth)
    async with stage.engine() as engine:
        await engine.rollback(RUN, MAIN_1)

    assert stage.files() == {"output/main.md": words.DRAFT}


async def test_a_call_that_waits_for_a_person_was_not_begun(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.WRITE_CODA) as show:
        await show.start(profile=asking("mutating"))
        asked = await show.until("tool_call_awaiting_approval")
        await show.engine.approve_tool_call(RUN, asked.payload["callId"], True)
        await show.until("tool_call_awaiting_approval", nth=2)
    async with stage.engine() as engine:
        await engine.rollback(RUN, MAIN_1)


async def test_the_refusals_say_what_to_do(stage: Stage, snapshot: SnapshotAssertion) -> None:
    await left(stage, WRITE_ALL)
    other = Stage(stage.root.parent / "other")
    await ended(other, words.WRITE, words.TALK)
    chatless = Stage(stage.root.parent / "chatless")
    await ended(chatless, words.WRITE, words.COMMIT_AND_FINISH)
    said = [
        await _refusal(stage, "cp_000009"),
        await _refusal(stage, "first"),
        await _refusal(stage, MAIN_1, "chat"),
        await _refusal(stage, MAIN_1, "committed-message"),
        await _refusal(stage, MAIN_1, run_id="run_9"),
        await _refusal(other, MAIN_2),
        await _refusal(other, MAIN_1, "committed-message"),
        await _refusal(chatless, MAIN_1, "committed-message", with_host=False),
    ]

    assert said == snapshot


async def test_a_host_that_can_not_put_messages_back_is_named(stage: Stage) -> None:
    await ended(stage, words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.engine(host=SlowHost(stage.host)) as engine:
        with pytest.raises(InvalidInput, match="rewind_message"):
            await engine.rollback(RUN, MAIN_1, "committed-message")


async def test_a_content_that_is_kept_nowhere_is_named_and_nothing_is_changed(stage: Stage) -> None:
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    for content in (stage.run_folder() / "checkpoints" / "content").iterdir():
        content.unlink()
    before = stage.files()
    async with stage.engine() as engine:
        end = await last_seq(engine)
        with pytest.raises(TreadleError, match=r"output/main\.md can't be put back") as refused:
            await engine.rollback(RUN, MAIN_1)

        assert refused.value.error_code == "agent.content_not_kept"
        assert await last_seq(engine) == end
    assert stage.files() == before


async def test_a_run_without_checkpoints_says_so(stage: Stage) -> None:
    await ended(stage, words.TALK)
    async with stage.engine() as engine:
        with pytest.raises(NotFound, match="it has none yet"):
            await engine.rollback(RUN, MAIN_1)


async def _left_at(stage: Stage, last: str, nth: int) -> None:
    """As if the process had been killed right after the nth event of a type."""
    await ended(stage, words.WRITE, words.WRITE_CODA, words.COMMIT_AND_FINISH)
    cut_after(stage, last, nth)
    stage.forget_the_end()


async def _refusal(
    stage: Stage, checkpoint: str, scope: str = "workspace", *, run_id: str = RUN, with_host: bool = True
) -> str:
    async with Engine(stage.root, stage.host if with_host else None, clock=stage.clock, ids=stage.ids) as engine:
        with pytest.raises(TreadleError) as refused:
            await engine.rollback(run_id, checkpoint, scope)  # type: ignore[arg-type]  # a caller's own text
    return str(refused.value)
