"""A round begins: the transcript is brought up to date and the model is asked, for the first time in this round."""

from __future__ import annotations

from dataclasses import replace

from ..graph.events import EventType
from ..graph.state import RunState, Update
from ..graph.status import RunStatus
from ..storage.folder import Change, Enter, Log
from .assemble_context import request_summary
from .attempt import attempt
from .deps import Deps, Run
from .rounds import close_rounds


async def call_model(state: RunState, deps: Deps) -> Update:
    run = deps.run
    run.cancel.check()
    asking = replace(state, round=state.round + 1, attempt=1)
    return await attempt(asking, deps, lambda: _opening(run, asking.round))


def _opening(run: Run, round_number: int) -> list[Change]:
    close_rounds(run, round_number - 1)
    run.cancel.check()
    created = {"round": round_number, "request": request_summary(run)}
    return [
        Enter(RunStatus.CALLING_MODEL, unless=(EventType.MODEL_REQUEST_CREATED, created)),
        Log(EventType.MODEL_REQUEST_CREATED, created),
    ]
