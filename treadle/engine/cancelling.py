"""Cancel a run, wherever it is driven: here, in another process, or nowhere."""

from __future__ import annotations

from ..graph.errors import RunBusy
from ..graph.events import EventType
from ..graph.status import RunStatus
from ..nodes.deps import Run, in_thread
from ..storage.database import RunDatabase
from ..storage.folder import Enter, Log
from ..storage.runs import DATABASE, RunRecord
from .driving import CANCEL_MARK, Driving, cancel_active
from .opening import AskFor, open_run
from .services import Services
from .starting import created


async def cancel_run(services: Services, driving: Driving, ask_for: AskFor, run_id: str) -> RunRecord:
    """The run's record after the request; a run that ended is not touched."""
    active = driving.active(run_id)
    if active is not None:
        await cancel_active(active.run)
        return active.run.folder.record
    record = await in_thread(lambda: services.store.load(run_id))
    if record.status.is_terminal:
        return record
    try:
        run = await in_thread(lambda: open_run(services, record, ask_for))
    except RunBusy:
        await in_thread(lambda: _leave_word(services, record))
        return record
    return await in_thread(lambda: _end_here(run))


def _leave_word(services: Services, record: RunRecord) -> None:
    """Whoever holds the lease sees the mark within a second."""
    database = RunDatabase(services.store.folder(record) / DATABASE, clock=services.clock, connect=services.connect)
    try:
        database.mark(CANCEL_MARK, "requested")
    finally:
        database.close()


def _end_here(run: Run) -> RunRecord:
    """Nobody drives the run: its terminal events are written from here, without a `cancelling` between."""
    try:
        if run.folder.record.status.is_terminal:  # its journal had the end already
            return run.folder.record
        run.folder.apply(
            created(run.folder.record),
            Log(EventType.RUN_CANCEL_REQUESTED, None),
            Enter(RunStatus.CANCELLED),
            Log(EventType.RUN_CANCELLED, None),
            durable=True,
        )
        return run.folder.record
    finally:
        run.folder.close()
