"""The `run.sqlite` of one run folder: who drives the run, what was asked of it, and the rows of its graph checkpoints.

Law 1: whoever changes a run holds its lease; each change on disk is made inside `guarded`, which fails once another took over.
Law 2: one connection and one lock in a process, so no commit ever carries half of another thread's work.
Law 3: reading never makes the file, and needs nothing that can be written.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from ..graph.errors import InvalidData, LeaseLost, RunBusy, StorageFailed, TreadleError
from ..graph.ports import Clock
from . import leases
from .leases import Boot, Lease, LeaseClock, boot_of_this_machine

PATIENCE_S = 5.0
"""How long a change waits for another one to end."""
VERSION = 2
COPY_LOG_AT = 256
"""Commits after which `guarded` copies the log into the file; SQLite's own way would stop the event loop for it."""
COPY_LOG_AT_LATEST = 2048
"""Commits after which the graph's saver does it, where nobody uses `guarded`."""

_TABLES = """;
CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE receipts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoints (
    seq INTEGER PRIMARY KEY, thread TEXT NOT NULL, ns TEXT NOT NULL, id TEXT NOT NULL, parent TEXT, run TEXT,
    carries INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (thread, ns, id));
CREATE TABLE writes (
    thread TEXT NOT NULL, ns TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL, path TEXT NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (thread, ns, id, task)) WITHOUT ROWID;
"""


Connect = Callable[[Path, float], sqlite3.Connection]
"""Opens a file that waits so many seconds for its lock: a port, so that a test sees each commit, or makes one fail."""


def plain_connection(path: Path, patience_s: float) -> sqlite3.Connection:
    """A connection for any thread that begins and ends its transactions itself; raises sqlite3.Error."""
    return connection_of(sqlite3.Connection, path, patience_s)


def connection_of(kind: type[sqlite3.Connection], path: Path, patience_s: float) -> sqlite3.Connection:
    """As `plain_connection`, by a connection of one's own kind."""
    return sqlite3.connect(path, timeout=patience_s, isolation_level=None, check_same_thread=False, factory=kind)


class RunDatabase:
    """Opened at its first use, by any thread; blocking, so call it in a thread (the graph's saver is the exception).

    Every method raises RunBusy when another keeps the file locked for `patience_s`, StorageFailed when the disk refuses,
    InvalidData when the file is no database of ours. `lasting`: each commit waits for the platter.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        patience_s: float = PATIENCE_S,
        boot: Boot = boot_of_this_machine,
        lasting: bool = False,
        connect: Connect = plain_connection,
    ) -> None:
        self.path = path
        self._file = _File(path, patience_s, "FULL" if lasting else "NORMAL", connect)
        self._leases = LeaseClock(clock, boot)
        self._held: int | None = None

    def acquire(self, holder: str) -> int:
        """Take the lease; the answer is the new epoch. Raises RunBusy while another holder's lease is live."""
        with _Change(self._file) as connection:
            row = connection.execute(leases.SELECT).fetchone()
            live = self._leases.live(row)
            if live is not None and live.holder != holder:
                raise RunBusy(details={"holder": live.holder, "expiresMs": live.expires_ms})
            epoch = 1 if row is None else int(row[2]) + 1
            connection.execute(leases.TAKE, (holder, epoch, *self._leases.expiry()))
        self._held = epoch
        return epoch

    def renew(self, holder: str, epoch: int) -> None:
        """Keep the lease for another 30 s; raises LeaseLost once another has taken it."""
        with _Change(self._file, copy_log_at=COPY_LOG_AT) as connection:
            if not connection.execute(leases.RENEW, (*self._leases.expiry(), holder, epoch)).rowcount:
                raise LeaseLost

    def release(self, holder: str, epoch: int) -> None:
        """Let go, so that another may drive at once; changes nothing if another does already."""
        with _Change(self._file) as connection:
            connection.execute(leases.RELEASE, (holder, epoch))

    def lease(self) -> Lease | None:
        """The live lease; None where nobody drives the run."""
        return self._leases.live(next(iter(self.rows(leases.SELECT)), None))

    def guarded(self, epoch: int) -> AbstractContextManager[object]:
        """Make one change on disk as the run's driver; raises LeaseLost, and the body is not run, if it no longer is.

        Until the body ends nobody can take the run over. `mark` and `put_receipt` in the body, and a `guarded` inside
        it, belong to the same commit; an error in the body undoes them. Do not await in the body.
        """
        return _Change(self._file, epoch, copy_log_at=COPY_LOG_AT)

    def mark(self, name: str, value: str) -> None:
        """Leave word for whoever drives the run; anybody may."""
        with _Change(self._file) as connection:
            connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", (name, value))

    def mark_once(self, name: str, value: str) -> bool:
        """As `mark`, but the first word holds: False, with nothing changed, where there is one."""
        with _Change(self._file) as connection:
            return bool(connection.execute("INSERT OR IGNORE INTO marks VALUES (?, ?)", (name, value)).rowcount)

    def marked(self, name: str) -> str | None:
        row = self._one("SELECT value FROM marks WHERE name = ?", name)
        return row[0] if row else None

    def put_receipt(self, key: str, value: str) -> None:
        """Record what an effect gave; the same again changes nothing, another value raises InvalidData."""
        with _Change(self._file) as connection:
            row = connection.execute("SELECT value FROM receipts WHERE key = ?", (key,)).fetchone()
            if row and row[0] != value:
                raise InvalidData(f"There is another receipt for {key}.")
            if not row:
                connection.execute("INSERT INTO receipts VALUES (?, ?)", (key, value))

    def receipt(self, key: str) -> str | None:
        row = self._one("SELECT value FROM receipts WHERE key = ?", key)
        return row[0] if row else None

    def saving(self) -> AbstractContextManager[sqlite3.Connection]:
        """The graph's saver changes its rows: one commit; raises LeaseLost if this object's lease went to another.

        A database whose lease this object never took is open to any saver.
        """
        return _Change(self._file, self._held, copy_log_at=COPY_LOG_AT_LATEST, joins=False)

    def save_row(self, insert: str, row: Sequence[object]) -> None:
        """As `saving`, for the one row that most steps save: in one statement, where a transaction takes four.

        `insert` is an `INSERT … SELECT ?, …` without a WHERE clause: that is the fence.
        """
        fence, held = ("", ()) if self._held is None else (" WHERE ? IN (SELECT epoch FROM lease)", (self._held,))
        try:
            with self._file.locked() as connection:
                if connection.in_transaction:
                    raise _inside_guarded()
                if not connection.execute(insert + fence, (*row, *held)).rowcount:
                    raise LeaseLost
                self._file.count(1, COPY_LOG_AT_LATEST)
        except sqlite3.Error as error:
            raise _failure(error, self.path) from error

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a SELECT; none where there is no file yet. Nothing is written for it, nor kept open."""
        try:
            with self._file.lock:
                if self._file.connection is not None:
                    return self._file.connection.execute(sql, parameters).fetchall()
                if not self.path.exists():
                    return []
                with closing(_open_to_read(self.path, self._file.patience_s)) as connection:
                    is_made = _version(connection, self.path) > 0
                    return connection.execute(sql, parameters).fetchall() if is_made else []
        except sqlite3.Error as error:
            raise _failure(error, self.path) from error

    def close(self) -> None:
        """Fold the log into the file; the next use opens it again."""
        with self._file.lock:
            connection, self._file.connection = self._file.connection, None
            if connection is not None:
                connection.close()

    def _one(self, sql: str, parameter: object) -> tuple[Any, ...] | None:
        return next(iter(self.rows(sql, (parameter,))), None)


class _File:
    """The one connection, and the lock that each use of it takes."""

    def __init__(self, path: Path, patience_s: float, synchronous: str, connect: Connect) -> None:
        self.path = path
        self.synchronous = synchronous
        self.patience_s = patience_s
        self._connect = connect
        self.lock = threading.RLock()
        self.connection: sqlite3.Connection | None = None
        self.commits = 0
        """Since the log was last copied."""

    def opened(self) -> sqlite3.Connection:
        if self.connection is None:
            self.connection = _prepared(self._connect(self.path, self.patience_s), self.path, self.synchronous)
        return self.connection

    @contextmanager
    def locked(self) -> Generator[sqlite3.Connection]:
        """The connection, for this thread alone."""
        self.lock_or_refuse()
        try:
            yield self.opened()
        finally:
            self.lock.release()

    def lock_or_refuse(self) -> None:
        if not self.lock.acquire(timeout=self.patience_s):
            raise RunBusy("Another change to this run is not finished yet.")

    def count(self, commits: int, copy_log_at: int) -> None:
        """Copy the log into the file after so many commits; 0: not now."""
        self.commits += commits
        if copy_log_at and self.commits >= copy_log_at:
            self.commits = 0
            with suppress(sqlite3.OperationalError):  # the change is made; the log can be copied another time
                self.opened().execute("PRAGMA wal_checkpoint(PASSIVE)")


class _Change:
    """One write transaction; inside one of the same thread, a part of it. A class, since it is on every hot path."""

    __slots__ = ("_connection", "_copy_log_at", "_epoch", "_file", "_joined", "_joins", "_total")

    def __init__(self, file: _File, epoch: int | None = None, *, copy_log_at: int = 0, joins: bool = True) -> None:
        self._file = file
        self._epoch = epoch
        self._copy_log_at = copy_log_at
        self._joins = joins

    def __enter__(self) -> sqlite3.Connection:
        file = self._file
        file.lock_or_refuse()
        self._joined = True
        try:
            connection = self._connection = file.opened()
            self._joined = connection.in_transaction
            if self._joined and not self._joins:
                raise _inside_guarded()
            self._total = connection.total_changes
            if not self._joined:
                connection.execute("BEGIN IMMEDIATE")
            if self._epoch is not None:
                row = connection.execute("SELECT epoch FROM lease").fetchone()
                if row is None or row[0] != self._epoch:
                    raise LeaseLost
            return connection
        except (sqlite3.Error, TreadleError) as error:
            self._leave(commit=False)
            if isinstance(error, sqlite3.Error):
                raise _failure(error, file.path) from error
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._leave(commit=kind is None)
        except sqlite3.Error as failed:
            raise _failure(failed, self._file.path) from failed
        if isinstance(error, sqlite3.Error):
            raise _failure(error, self._file.path) from error

    def _leave(self, *, commit: bool) -> None:
        file = self._file
        try:
            if self._joined:
                return
            connection = self._connection
            try:
                if commit:
                    connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            file.count(connection.total_changes != self._total, self._copy_log_at)
        finally:
            file.lock.release()


def _inside_guarded() -> StorageFailed:
    return StorageFailed("A checkpoint can't be saved inside guarded(): it would be undone with it.")


def _prepared(connection: sqlite3.Connection, path: Path, synchronous: str) -> sqlite3.Connection:
    try:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        with suppress(sqlite3.OperationalError):  # of two that open a new file at once, one makes it WAL for both
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        if _version(connection, path) < VERSION:
            connection.execute("BEGIN IMMEDIATE")
            found = _version(connection, path)  # of two that open it at once, one makes it
            if found < VERSION:
                for statement in (leases.TABLE + _TABLES if found == 0 else leases.TO_VERSION_2).split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")
    except (sqlite3.Error, InvalidData):
        connection.close()
        raise
    return connection


def _open_to_read(path: Path, patience_s: float) -> sqlite3.Connection:
    """Without a log beside it the file is whole, and is read as it is: else SQLite would make its files there."""
    whole = not path.with_name(f"{path.name}-wal").exists()
    address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if whole else ''}"
    return sqlite3.connect(address, uri=True, timeout=patience_s, isolation_level=None, check_same_thread=False)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in range(VERSION + 1):
        raise InvalidData(f"{path.name} is of version {version}; this Treadle reads version {VERSION}.")
    return version


def _failure(error: sqlite3.Error, path: Path) -> TreadleError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return RunBusy()
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return InvalidData(f"{path.name} is damaged, or no database: {error}")
    return StorageFailed(f"{path.name}: {error}")
