"""The repairs of a data root. Each looks again under the lock that it needs, and does nothing where all is well.

What belongs to a run is changed only with its lease; what is not certain is left to a person. Blocking.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import assert_never

from ....graph.errors import TreadleError
from ....graph.events import TERMINAL_EVENTS, EventType
from ....graph.status import STATUS_OF_END
from ....storage.database import RunDatabase
from ....storage.disk import storage_failed
from ....storage.persist import settle
from ....storage.runs import DATABASE, EVENTS, at_status, run_record
from ...services import Services
from ..evidence import RECORD, folder_of, parsed, read_file
from ..journal_lines import scan
from .problem import Kind, Repair


def carry_out(services: Services, repair: Repair) -> TreadleError | None:
    """Do the repair; what kept it from being done, if anything did: the run is driven again, the disk refuses."""
    try:
        with _held(services, repair):
            _done(services, repair)
    except TreadleError as error:
        return error
    except OSError as error:
        return storage_failed(error, f"repairing {repair.path}")
    return None


def _done(services: Services, repair: Repair) -> None:
    match repair.kind:
        case Kind.REBUILD_INDEX:
            _rebuild_index(services, repair)
        case Kind.END_RECORD:
            _end_record(services, repair)
        case Kind.FINISH_PROMOTION:
            settle((services.data_root / repair.path).parent.parent, services.disk)
        case Kind.REMOVE_FILE:
            _remove(services, repair)
        case _ as never:
            assert_never(never)


@contextmanager
def _held(services: Services, repair: Repair) -> Generator[None]:
    """The lease of the run that the repair changes, under a name of its own: this engine may drive the run itself."""
    folder = None if repair.run_id is None else folder_of(services, repair.run_id)
    if folder is None or repair.kind is Kind.FINISH_PROMOTION or not (folder / RECORD).exists():
        yield  # it belongs to no run, or to what never became one; a promotion has the chat's own lock
        return
    holder = f"{services.holder}-doctor"
    database = RunDatabase(folder / DATABASE, clock=services.clock)
    try:
        epoch = database.acquire(holder)
        try:
            with database.guarded(epoch):
                yield
        finally:
            database.release(holder, epoch)
    finally:
        database.close()


def _rebuild_index(services: Services, repair: Repair) -> None:
    assert repair.run_id is not None
    services.disk.copy(folder_of(services, repair.run_id) / RECORD, services.data_root / repair.path)


def _end_record(services: Services, repair: Repair) -> None:
    assert repair.run_id is not None
    folder = folder_of(services, repair.run_id)
    record = run_record(parsed(read_file(services, folder / RECORD, RECORD), RECORD))
    found = scan(read_file(services, folder / EVENTS, EVENTS), record.id)
    end = next((line.event for line in found.lines if line.event.type in TERMINAL_EVENTS), None)
    if end is not None and not any(finding.is_fault for finding in found.findings):
        status = STATUS_OF_END[EventType(end.type)]
        if record.status is not status:
            services.store.save(at_status(record, status, services.clock.now()))


def _remove(services: Services, repair: Repair) -> None:
    path = services.data_root / repair.path
    if path.is_relative_to(services.store.root / "index") and any(
        services.store.root.glob(f"chats/*/runs/{path.stem}")
    ):
        return  # the run is there again
    services.disk.remove(path)
