"""Holding an ended or forgotten run, so that nobody drives or changes it while its files go. Blocking."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ...storage.database import RunDatabase
from ...storage.runs import DATABASE, Placed
from ..services import Services


class Claim:
    """The run's lease, held under a name of its own: a run that this very engine drives is not to be had either.

    No connection stays open between its uses.
    """

    def __init__(self, database: RunDatabase | None, holder: str) -> None:
        """Raises RunBusy while somebody drives the run; InvalidData for a file that is no database."""
        self._database = database
        self._holder = holder
        self._epoch = 0
        if database is not None:
            try:
                self._epoch = database.acquire(holder)
            finally:
                database.close()

    def guarded(self) -> AbstractContextManager[object]:
        """Change the run's files; raises LeaseLost where another took the lease meanwhile."""
        return nullcontext() if self._database is None else _closing(self._database, self._epoch)

    def let_go(self) -> None:
        if self._database is not None and self._database.path.exists():
            self._database.release(self._holder, self._epoch)
            self._database.close()


UNHELD = Claim(None, "")
"""Of a run that nobody can drive: it has no database."""


def claim(services: Services, run: Placed) -> Claim:
    """Raises RunBusy; a run without a database is driven by nobody."""
    path = services.store.folder(run) / DATABASE
    if not path.exists():
        return UNHELD
    return Claim(RunDatabase(path, clock=services.clock), f"{services.holder}-housekeeping")


def is_driven(services: Services, run: Placed) -> bool:
    """Whether somebody holds the run's lease; raises InvalidData, StorageFailed."""
    database = RunDatabase(services.store.folder(run) / DATABASE, clock=services.clock)
    try:
        return database.lease() is not None
    finally:
        database.close()


@contextmanager
def _closing(database: RunDatabase, epoch: int) -> Generator[None]:
    try:
        with database.guarded(epoch):
            yield
    finally:
        database.close()
