"""The first step: the run and its frozen profile are there, and the journal says so."""

from __future__ import annotations

from ..graph.errors import InvalidInput, NotFound
from ..graph.events import EventType
from ..graph.state import RunState, Update
from ..graph.table import Outcome
from ..storage.folder import Change, Log
from ..storage.runs import GENERATION_INTENT
from .deps import Deps, Run, in_thread


async def resolve_profile(state: RunState, deps: Deps) -> Update:
    """In graph mode the run is made here, from the start request that the state carries."""
    if state.start is None:
        return await _resolved(deps.run, {})
    try:
        run = await deps.begin(state.start)
    except (InvalidInput, NotFound) as error:
        return Update(Outcome.REFUSED, {"start": None, "error": error.report()})
    return await _resolved(run, {"start": None, "run_id": run.id})


async def _resolved(run: Run, changes: dict[str, object]) -> Update:
    run.cancel.check()
    await in_thread(lambda: run.folder.apply(*_events(run)))
    run.cancel.check()
    return Update(Outcome.RESOLVED, changes)


def _events(run: Run) -> list[Change]:
    profile = run.profile
    events: list[Change] = [Log(EventType.PROFILE_RESOLVED, {"profileId": profile.id, "source": profile.source})]
    if run.folder.has(GENERATION_INTENT):
        events.append(Log(EventType.GENERATION_INTENT_RECORDED, run.folder.read_json(GENERATION_INTENT)))
    return events
