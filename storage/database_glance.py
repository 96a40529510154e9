"""A look at a `run.sqlite` that changes nothing: for whoever reads a run that others drive, or that nobody may touch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..graph.ports import Clock
from . import leases
from .database import RunDatabase
from .leases import Lease

_FAULTS = 10
_NEWEST = "SELECT body FROM checkpoints WHERE thread = ? AND ns = '' ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Glance:
    """What stood in the file."""

    lease: Lease | None
    """The last one, whether it is live or not; None where nobody ever drove the run."""
    is_live: bool
    """Somebody drives the run."""
    newest_state: bytes | None
    """The graph's newest checkpoint, as the saver stored it; None where the graph saved nothing here."""
    faults: tuple[str, ...] = ()
    """What SQLite's own check says is wrong; empty where it was not asked."""


def glance(path: Path, run_id: str, clock: Clock, *, thorough: bool = False) -> Glance | None:
    """None where there is no file. `thorough` asks SQLite whether the file is whole, which reads all of it.

    Raises InvalidData for what is no database of ours.
    """
    if not path.is_file():
        return None
    database = RunDatabase(path, clock=clock)
    row = next(iter(database.rows(leases.SELECT)), None)
    saved = next(iter(database.rows(_NEWEST, (run_id,))), None)
    told = database.rows(f"PRAGMA integrity_check({_FAULTS})") if thorough else []
    return Glance(
        lease=None if row is None else Lease(*row[1:4]),
        is_live=database.lease() is not None,
        newest_state=None if saved is None else bytes(saved[0]),
        faults=tuple(str(line) for (line,) in told if line != "ok"),
    )
