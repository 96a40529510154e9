"""Runs of the bare graph: no engine drives them, and what they did is told in the graph's own stream."""

from __future__ import annotations

from . import words
from .bare import drive
from .stage import Played, Stage


async def refused_start(stage: Stage) -> Played:
    """The prompt has no messages: there is no run, and the graph says why in its state."""
    state, edges = await drive(stage, promptSnapshot={"chatCompletionPayload": {}})
    return Played((), edges, None, stage.chat.read_text("utf-8"), {}, state=state)


async def bare_graph(stage: Stage) -> Played:
    """The same run as an engine's."""
    state, edges = await drive(stage, words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.engine() as engine:
        stage.edges[state["run_id"]] = list(edges)
        return await stage.played(engine, state["run_id"])
