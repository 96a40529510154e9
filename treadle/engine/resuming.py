"""A run that was left behind goes on from its last checkpoint (DESIGN 5)."""

from __future__ import annotations

from ..graph.errors import TreadleError
from ..graph.events import TERMINAL_EVENTS, Event, EventType
from ..graph.state import RunState
from ..graph.status import RunStatus
from ..nodes.deps import Run, in_thread
from ..storage.folder import Log
from ..storage.runs import RunRecord
from .driving import Driving
from .opening import AskFor, open_run
from .services import Services
from .starting import created

STATUS_OF = {
    EventType.RUN_COMPLETED: RunStatus.COMPLETED,
    EventType.RUN_PARTIAL_SUCCESS: RunStatus.PARTIAL_SUCCESS,
    EventType.RUN_FAILED: RunStatus.FAILED,
    EventType.RUN_CANCELLED: RunStatus.CANCELLED,
}


async def resume(services: Services, driving: Driving, ask_for: AskFor, record: RunRecord) -> RunRecord:
    """Raises RunBusy while somebody else drives the run, JournalDamaged, StateIncompatible."""
    if record.status.is_terminal:
        return record
    run = await in_thread(lambda: open_run(services, record, ask_for))
    if await in_thread(lambda: _ended_already(run)):
        return run.folder.record
    try:
        return await _go_on(driving, run)
    except TreadleError:
        await in_thread(run.folder.close)
        raise


async def _go_on(driving: Driving, run: Run) -> RunRecord:
    folder = run.folder
    state = await driving.saved(run)
    told = {"fromSeq": folder.journal.last_seq, "epoch": folder.epoch}
    folder.resumed = True
    await run.record(created(folder.record), Log(EventType.RUN_RESUMED, told))
    driving.begin(run, None if state is not None else RunState(run_id=run.id))
    return folder.record


def _ended_already(run: Run) -> bool:
    """The journal has the terminal event and only the record lacks it: a crash came between the two."""
    ends: list[Event] = [event for event in run.folder.journal.read_all()[-3:] if event.type in TERMINAL_EVENTS]
    if not ends:
        return False
    run.folder.set_status_only(STATUS_OF[EventType(ends[0].type)])
    run.folder.close()
    return True
