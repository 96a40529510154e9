"""Services over a shelf of runs, with a clock that stands still: what retention and forgetting are tried on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treadle.engine.services import Services
from treadle.graph.jsontext import Json, dumps
from treadle.graph.ports import ChatHost
from treadle.storage.connections import SETTINGS
from treadle.storage.database import RunDatabase
from treadle.storage.run_index import RunIndex
from treadle.storage.runs import DATABASE, RunRecord
from treadle.testkit.ports import CountingIds, ManualClock

from ...storage.run_shelf import RunShelf


@dataclass
class Desk:
    shelf: RunShelf
    services: Services
    clock: ManualClock

    @classmethod
    def at(cls, root: Path, *, host: ChatHost | None = None) -> Desk:
        shelf, clock = RunShelf(root), ManualClock(sleepers_wait=True)
        return cls(shelf, Services(root, host, clock=clock, ids=CountingIds(), disk=shelf.disk), clock)

    def driven(self, record: RunRecord, holder: str = "somebody") -> RunDatabase:
        """Somebody holds the run's lease from now on."""
        database = RunDatabase(self.shelf.store.folder(record) / DATABASE, clock=self.clock)
        database.acquire(holder)
        database.close()
        return database

    def settings(self, **retention: Json) -> None:
        document = {"schemaVersion": 1, "kind": "tauritavern.llmSettings", "retention": retention}
        self.shelf.disk.replace(self.shelf.data_root / SETTINGS, dumps(document))

    def listed(self) -> list[str]:
        """The ids of all runs, as a process sees them that comes anew."""
        look = RunIndex(self.shelf.store.root, self.shelf.disk).look()
        assert look.damaged == ()
        return [entry.id for entry in look.entries]

    def names(self, record: RunRecord) -> list[str]:
        folder = self.shelf.store.folder(record)
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
