"""A run whose saved state is lost, damaged or of another machine: its state is told anew by its journal."""

from __future__ import annotations

from ...graph.errors import InvalidData
from ...nodes.deps import Run
from ...nodes.derived_state import Derived
from ...storage.database import RunDatabase
from ...storage.disk import storage_failed
from ...storage.runs import DATABASE, RunRecord
from ..services import Services
from .journal_state import journal_state

_PARTS = ("", "-wal", "-shm")
_ASIDE = ".damaged"


def rebuilt(run: Run) -> Derived | None:
    """The state and the step that the opened run goes on from; None where it begins anew. Blocking.

    It is the last settled point: what was under way is done again, and what the journal has of it is not repeated.
    Raises InvalidData where an event or the stored answer is damaged or missing.
    """
    return journal_state(run.folder.path, run.folder.journal.read_all(), run.folder.disk)


def set_damaged_aside(services: Services, record: RunRecord) -> bool:
    """Rename a `run.sqlite` that can't be read to `run.sqlite.damaged`; False where it can be. Blocking.

    Who drives the run is not known then: it is for the caller to know that nobody does.
    """
    folder = services.store.folder(record)
    database = RunDatabase(folder / DATABASE, clock=services.clock)
    try:
        database.lease()
    except InvalidData:
        database.close()
    else:
        database.close()
        return False
    try:
        for part in _PARTS:
            path = folder / f"{DATABASE}{part}"
            if path.exists():
                services.disk.move(path, folder / f"{DATABASE}{_ASIDE}{part}")
    except OSError as error:
        raise storage_failed(error, f"setting the {DATABASE} of run {record.id} aside") from error
    return True
