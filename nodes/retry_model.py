"""The steps inside the retry sub-graph: wait, then try again."""

from __future__ import annotations

from dataclasses import replace

from ..graph.events import EventType
from ..graph.state import RunState, Update
from ..graph.table import Outcome
from ..storage.folder import Change, Log
from .attempt import attempt
from .deps import Deps, Run
from .rounds import close_rounds


async def backoff(state: RunState, deps: Deps) -> Update:
    """The wait that the profile sets, or the longer one that the server asked for; a cancel ends it at once."""
    run = deps.run
    scheduled = {"round": state.round, "nextAttempt": state.attempt + 1, "intervalMs": state.wait_ms}
    await run.record(Log(EventType.MODEL_CALL_RETRY_SCHEDULED, scheduled))
    await run.cancel.guard(_wait(deps, state.wait_ms))
    return Update(Outcome.WAITED)


async def try_again(state: RunState, deps: Deps) -> Update:
    run = deps.run
    run.cancel.check()
    return await attempt(replace(state, attempt=state.attempt + 1), deps, lambda: _opening(run, state.round))


def _opening(run: Run, round_number: int) -> list[Change]:
    close_rounds(run, round_number - 1)
    run.cancel.check()
    return []


async def _wait(deps: Deps, milliseconds: int) -> None:
    await deps.clock.sleep(milliseconds / 1000)
