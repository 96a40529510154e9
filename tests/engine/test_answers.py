"""A host that is elsewhere answers a commit: once, for the run it belongs to, and while somebody waits for it."""

from __future__ import annotations

import pytest

from treadle.graph.errors import TreadleError

from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.stage import RUN, Show, Stage


async def _asked_for_a_commit(stage: Stage, show: Show) -> str:
    await show.start()
    event = await show.until("chat_commit_requested")
    commit_id: str = event.payload["commitId"]
    return commit_id


async def test_a_commit_is_resolved_once_by_the_run_it_belongs_to(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT, never, remote=True) as show:
        commit_id = await _asked_for_a_commit(stage, show)
        await show.start(runId="run_2", presentation="background")
        refusals = [
            await _refusal(show, RUN, " "),
            await _refusal(show, "", commit_id),
            await _refusal(show, RUN, "commit_x"),
            await _refusal(show, "run_2", commit_id),
        ]
        await show.engine.resolve_agent_chat_commit(RUN, commit_id, message_id="2")
        await show.until("chat_commit_completed")
        refusals.append(await _refusal(show, RUN, commit_id))

    assert refusals == [
        "agent.chat_commit_resolve_invalid",
        "agent.chat_commit_resolve_invalid",
        "agent.chat_commit_not_pending",
        "agent.chat_commit_run_mismatch",
        "agent.chat_commit_not_pending",
    ]


async def test_a_host_that_answers_after_the_cancel_is_told_that_nobody_waits(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT, remote=True) as show:
        commit_id = await _asked_for_a_commit(stage, show)
        await show.engine.cancel(RUN)
        await show.engine.wait(RUN)
        refusal = await _refusal(show, RUN, commit_id)
        played = await show.end()

    assert refusal == "agent.chat_commit_not_pending"
    assert played.types[-1] == "run_cancelled"


async def test_a_remote_host_may_refuse(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT, remote=True) as show:
        commit_id = await _asked_for_a_commit(stage, show)
        await show.engine.resolve_agent_chat_commit(RUN, commit_id, error=" the chat is locked ")
        played = await show.end()

    failed = next(event for event in played.events if event.type == "chat_commit_failed")
    assert failed.payload["message"] == "the chat is locked"
    assert played.events[-1].payload["code"] == "agent.chat_commit_failed"


async def _refusal(show: Show, run_id: str, commit_id: str) -> str:
    with pytest.raises(TreadleError) as refused:
        await show.engine.resolve_agent_chat_commit(run_id, commit_id, message_id="2")
    return refused.value.error_code
