"""The first step: the run and its frozen profile are there, and the journal says so."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..graph.errors import LeaseLost, RunBusy, RunCancelled, TreadleError
from ..graph.events import EventType
from ..graph.state import RunState, Update
from ..graph.table import Outcome
from ..storage.folder import Change, Log
from ..storage.runs import GENERATION_INTENT
from .deps import Deps, Run, in_thread


async def resolve_profile(state: RunState, deps: Deps) -> Update:
    """In graph mode the run is made here, from the start request that the state carries."""
    if state.start is None:
        return await _resolved(deps.run, asdict(RunState(run_id=state.run_id)))
    try:
        run = await deps.begin(state.start)
    except (LeaseLost, RunBusy):
        raise
    except TreadleError as error:
        return Update(Outcome.REFUSED, {**asdict(RunState()), "error": error.report()})
    return await _resolved(run, asdict(RunState(run_id=run.id)))


async def _resolved(run: Run, fresh: dict[str, Any]) -> Update:
    """`fresh` is the state of a run at its start: what an earlier run on the same thread left behind ends here."""
    if run.folder.record.status.is_terminal:
        return Update(Outcome.REFUSED, fresh)  # it has ended: nothing is done again
    try:
        run.cancel.check()
        await in_thread(lambda: run.folder.apply(*_events(run)))
        run.cancel.check()
    except RunCancelled:
        return Update(Outcome.CANCELLED, fresh)
    except (LeaseLost, RunBusy):
        raise
    except TreadleError as error:
        return Update(Outcome.BROKEN, {**fresh, "error": error.report()})
    return Update(Outcome.RESOLVED, fresh)


def _events(run: Run) -> list[Change]:
    profile = run.profile
    events: list[Change] = [Log(EventType.PROFILE_RESOLVED, {"profileId": profile.id, "source": profile.source})]
    if run.folder.has(GENERATION_INTENT):
        events.append(Log(EventType.GENERATION_INTENT_RECORDED, run.folder.read_json(GENERATION_INTENT)))
    return events
