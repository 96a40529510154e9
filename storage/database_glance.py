"""A look at a `run.sqlite` that changes nothing: for whoever reads a run that others drive, or that nobody may touch."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..graph.errors import InvalidData
from .database import VERSION, Lease

_FAULTS = 10
_NEWEST = "SELECT body FROM checkpoints WHERE thread = ? AND ns = '' ORDER BY id DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Glance:
    """What stood in the file."""

    lease: Lease | None
    """The last one, whether it is live or not; None where nobody ever drove the run."""
    newest_state: bytes | None
    """The graph's newest checkpoint, as the saver stored it; None where the graph saved nothing here."""
    faults: tuple[str, ...] = ()
    """What SQLite's own check says is wrong; empty where it was not asked."""

    def is_live(self, now_ms: int) -> bool:
        """Whether somebody drives the run; `now_ms` counts from the epoch."""
        return self.lease is not None and self.lease.expires_ms > now_ms


def glance(path: Path, run_id: str, *, thorough: bool = False) -> Glance | None:
    """None where there is no file. `thorough` asks SQLite whether the file is whole, which reads all of it.

    Raises InvalidData for what is no database of ours.
    """
    try:
        with _opened(path) as connection:
            return None if connection is None else _looked(connection, run_id, thorough=thorough)
    except sqlite3.Error as error:
        raise InvalidData(f"{path.name} can't be read: {error}") from error


def _looked(connection: sqlite3.Connection, run_id: str, *, thorough: bool) -> Glance:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        if version == 0 and not connection.execute("SELECT 1 FROM sqlite_schema").fetchall():
            return Glance(None, None)  # made, and left before its tables were
        raise InvalidData(f"run.sqlite is of version {version}; this Treadle reads version {VERSION}")
    row = connection.execute("SELECT holder, epoch, expires_ms FROM lease").fetchone()
    saved = connection.execute(_NEWEST, (run_id,)).fetchone()
    told = connection.execute(f"PRAGMA integrity_check({_FAULTS})").fetchall() if thorough else []
    faults = tuple(str(line) for (line,) in told if line != "ok")
    return Glance(None if row is None else Lease(*row), None if saved is None else bytes(saved[0]), faults)


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection | None]:
    """A file that nobody has open is read as it lies: to open it otherwise would leave files beside it."""
    if not path.is_file():
        yield None
        return
    log = path.with_name(f"{path.name}-wal")
    alone = not log.exists() or log.stat().st_size == 0
    address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    with closing(sqlite3.connect(address, uri=True, timeout=1.0)) as connection:
        yield connection
