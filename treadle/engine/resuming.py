"""A run that was left behind goes on from its last checkpoint, if it goes on as it began."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ..graph.errors import JournalAppendFailed, StorageFailed
from ..graph.events import TERMINAL_EVENTS, EventType
from ..graph.jsontext import Json, is_object
from ..graph.state import RunState, StateIncompatible
from ..nodes.deps import Run, in_thread
from ..storage.folder import Log
from ..storage.journal import read_journal
from ..storage.runs import EVENTS, RunRecord
from .beginning import changes, refusal
from .driving import Driving
from .opening import AskFor, open_run
from .rewinding.rebuilding import rebuilt, set_damaged_aside
from .services import Services
from .starting import created


async def resume(
    services: Services, driving: Driving, ask_for: AskFor, record: RunRecord, *, force: bool = False
) -> RunRecord:
    """Raises RunBusy while somebody else drives the run, JournalDamaged, StateIncompatible.

    And MachineChanged or ProfileChanged. With `force` it goes on all the same: with the profile that the run folder has,
    on this machine; and a saved state that can't be read is told anew by the journal.
    """
    if record.status.is_terminal and await in_thread(lambda: _is_told(services, record)):
        await in_thread(lambda: services.store.settle(record))
        return record
    if force:
        await in_thread(lambda: set_damaged_aside(services, record))
    run = await in_thread(lambda: open_run(services, record, ask_for))
    try:
        if run.folder.record.status.is_terminal:  # the journal said so
            await in_thread(run.folder.close)
            return run.folder.record
        return await _go_on(services, driving, run, force=force)
    except BaseException:
        await in_thread(run.folder.close)
        raise


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a run goes on: at its newest checkpoint, unless one of these says otherwise."""

    state: RunState | None = None
    """From the first step, each of which finds what it has done."""
    checkpoint_id: str | None = None
    is_told_anew: bool = False
    """By force: the saved state is lost or can't be read, and the journal told it."""


async def _go_on(services: Services, driving: Driving, run: Run, *, force: bool) -> RunRecord:
    folder = run.folder
    changed = await in_thread(lambda: changes(services, folder))
    if changed and not force:
        raise refusal(run.id, changed)
    start = await _start(driving, run, force=force)
    told: dict[str, Json] = {"fromSeq": folder.journal.last_seq, "epoch": folder.epoch}
    forced = [*(str(each.what) for each in changed), *(["state"] if start.is_told_anew else [])]
    if forced:
        told["forced"] = forced
    folder.resumed = True
    await run.record(created(folder.record), Log(EventType.RUN_RESUMED, told))
    driving.begin(run, start.state, start.checkpoint_id)
    return folder.record


async def _start(driving: Driving, run: Run, *, force: bool) -> _Start:
    saved = None
    try:
        saved = await driving.saved(run)
    except StateIncompatible:
        if not force:
            raise
    if saved is not None:
        run.folder.ledger.forget_before(saved.round - 1)
        return _Start(checkpoint_id=await driving.before_error(run) if _is_refusal(saved.error) else None)
    # a fork can't walk from the first step: the commits that it would come by are another run's
    point = await in_thread(lambda: rebuilt(run)) if force or run.is_fork else None
    if point is None:  # the run is walked again from its start, and every event may be met again
        return _Start(RunState(run_id=run.id))
    await driving.place(run, point)
    run.folder.ledger.forget_before(point.state.round - 1)
    return _Start(is_told_anew=force)


def _is_told(services: Services, record: RunRecord) -> bool:
    """Whether the journal has the end that the record tells: on a full disk the record may be all that could be written."""
    journal, before = services.store.folder(record) / EVENTS, sys.maxsize
    while page := read_journal(journal, before_seq=before, disk=services.disk):
        if any(event.type in TERMINAL_EVENTS for event in page):
            return True
        before = page[0].seq
    return False


def _is_refusal(error: Json) -> bool:
    """The disk refused, and then the run's end as well: that is no end, so what was refused is tried again."""
    return is_object(error) and error.get("code") in (StorageFailed.code, JournalAppendFailed.code)
