"""A run that was left behind goes on from its last checkpoint, if it goes on as it began."""

from __future__ import annotations

from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.state import RunState
from ..nodes.deps import Run, in_thread
from ..storage.folder import Log
from ..storage.runs import RunRecord
from .driving import Driving
from .opening import AskFor, open_run
from .origin import changes, refusal
from .services import Services
from .starting import created


async def resume(
    services: Services, driving: Driving, ask_for: AskFor, record: RunRecord, *, force: bool = False
) -> RunRecord:
    """Raises RunBusy while somebody else drives the run, JournalDamaged, StateIncompatible.

    And MachineChanged or ProfileChanged, unless `force` says to go on all the same: with the profile that the run
    folder has, on this machine.
    """
    if record.status.is_terminal:
        return record
    run = await in_thread(lambda: open_run(services, record, ask_for))
    try:
        if run.folder.record.status.is_terminal:  # the journal said so
            await in_thread(run.folder.close)
            return run.folder.record
        return await _go_on(services, driving, run, force=force)
    except BaseException:
        await in_thread(run.folder.close)
        raise


async def _go_on(services: Services, driving: Driving, run: Run, *, force: bool) -> RunRecord:
    folder = run.folder
    changed = await in_thread(lambda: changes(services, folder))
    if changed and not force:
        raise refusal(run.id, changed)
    state = await driving.saved(run)
    if state is not None:  # else the run is walked again from its start, and every event may be met again
        folder.ledger.forget_before(state.round - 1)
    told: dict[str, Json] = {"fromSeq": folder.journal.last_seq, "epoch": folder.epoch}
    if changed:
        told["forced"] = [each.what for each in changed]
    folder.resumed = True
    await run.record(created(folder.record), Log(EventType.RUN_RESUMED, told))
    driving.begin(run, None if state is not None else RunState(run_id=run.id))
    return folder.record
