"""Taking a run's files away, wholly or but for its record and journal: a crash anywhere leaves what can be finished."""

from __future__ import annotations

from dataclasses import replace

from ...graph.errors import InvalidData, RunBusy, TreadleError
from ...storage.disk import storage_failed
from ...storage.run_deletion import begin_deletion, finish_deletion
from ...storage.run_index import IndexEntry
from ...storage.runs import timestamp
from ..services import Services
from .claim import Claim, claim
from .survey import DATABASES, Obstacle, heavy, obstacle


def slim(services: Services, run: IndexEntry) -> None:
    """Keep the record and the journal alone. The record says so first, so that readers know why the rest is gone.

    Raises RunBusy, InvalidData where the run must stay as it is, StorageFailed.
    """
    held = claim(services, run)
    try:
        with held.guarded():
            _check(services, run)
            record = services.store.load(run.id)
            since = record.slimmed_at or timestamp(services.clock.now())
            services.store.save(replace(record, slimmed_at=since))
            _remove(services, run, [name for name in heavy(services.store.folder(run)) if name not in DATABASES])
        _remove(services, run, DATABASES)  # the lease is in it, and nothing is left to hold
    except BaseException:
        _let_go(held)
        raise


def delete(services: Services, run: IndexEntry) -> None:
    """Remove the run, its index file and its summary; the chat's persistent files stay. Raises as `slim`."""
    held = claim(services, run)
    try:
        with held.guarded():
            _check(services, run)
            begin_deletion(services.store, services.disk, run.id)
    except BaseException:
        _let_go(held)
        raise
    finish_deletion(services.store, services.disk, run.id)


def _check(services: Services, run: IndexEntry) -> None:
    """Again, now that nobody else changes the run."""
    blocked = obstacle(services, run)
    if blocked is None:
        return
    if blocked.obstacle is Obstacle.ACTIVE_RUN:
        raise RunBusy(blocked.message)
    raise InvalidData(blocked.message)


def _remove(services: Services, run: IndexEntry, names: list[str] | tuple[str, ...]) -> None:
    folder = services.store.folder(run)
    try:
        for name in names:
            services.disk.remove(folder / name)
    except OSError as error:
        raise storage_failed(error, f"slimming run {run.id}") from error


def _let_go(held: Claim) -> None:
    """What went wrong is told, not that the lease then could not be given back: it ends by itself."""
    try:
        held.let_go()
    except TreadleError:
        return
