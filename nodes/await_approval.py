"""A call that needs a person's word waits here, alone: nothing stands in this step but the question."""

from __future__ import annotations

from ..graph.jsontext import Json
from ..graph.state import RunState, Update
from ..graph.table import Outcome
from .approval import decided, deciding, decision_of, question
from .deps import Deps, Run, in_thread


async def await_approval(state: RunState, deps: Deps) -> Update:
    """Asks once: an answer that is journalled holds, however often the step is run."""
    run = deps.run
    call = state.calls[state.call_index]
    if decided(run, state.round, call["id"]) is None:
        asked = question(state.round, call["id"], call["name"])
        decision = decision_of(await run.cancel.guard(_answer(run, asked)), run.tools[call["name"]])
        changes = await in_thread(lambda: deciding(run, asked, decision))
        await run.record(*changes, durable=True, unless_cancelling=True)
    run.cancel.check()
    return Update(Outcome.DECIDED)


async def _answer(run: Run, asked: dict[str, Json]) -> dict[str, Json]:
    return await run.ask("approval", asked)
