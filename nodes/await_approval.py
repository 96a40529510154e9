"""A call that needs a person's word waits here, alone: nothing stands in this step but the question."""

from __future__ import annotations

from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.state import RunState, Update
from ..graph.table import Outcome
from ..storage.folder import Log
from .deps import Deps, Run


async def await_approval(state: RunState, deps: Deps) -> Update:
    run = deps.run
    call = state.calls[state.call_index]
    asked: dict[str, Json] = {"round": state.round, "callId": call["id"], "name": call["name"]}
    answer = await run.cancel.guard(_answer(run, asked))
    told = {**asked, "reason": answer["reason"]} if answer.get("reason") else asked
    approved = bool(answer.get("approved"))
    await run.record(Log(EventType.TOOL_CALL_APPROVED if approved else EventType.TOOL_CALL_DENIED, told))
    return Update(Outcome.DECIDED)


async def _answer(run: Run, asked: dict[str, Json]) -> dict[str, Json]:
    return await run.ask("approval", asked)
