"""Sees every operation on a run's files and its database, and kills the process at one of them.

The operations are those of the `Disk` port and the commits of `run.sqlite`; what a play does past its stage's ports is
not seen.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...graph.jsontext import Json, dumps, loads
from ...graph.text import sha256_bytes
from ...storage.database import Connect, connection_of
from ...storage.disk import RealDisk
from ...storage.runs import EVENTS as JOURNAL
from .points import AFTER, AT_EVENT, BEFORE, COMMIT, WITHIN, Operation, Point, Steps

EFFECTS: Final = "effects.jsonl"
SHARED, OUTSIDE = "shared: ", "outside: "
"""Paths of files that are not the run's own: below the data root, and elsewhere."""
_TREE: Final = "data/_tauritavern/agent-workspaces/"
_TIME: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_WRITES: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE", "COMMIT")
_EFFECTS: Final = ("replace", "append", "move")
"""What makes a file another one; a folder may be made, or something removed, twice."""
_LENT: Final = b'"persistent_projection_initialized"'


@dataclass(frozen=True, slots=True)
class Chance:
    """A point of a process whose operations are not known before: its nth, at one of that operation's moments."""

    number: int
    moment: int
    """Counted on from the last one, where the operation has fewer."""

    def __str__(self) -> str:
        return f"operation {self.number} of the process, moment {self.moment}"


Doom = Point | Chance


class Watch:
    """What one process did below the play's folder. Before `begin` nothing is seen."""

    def __init__(self, folder: Path, run_id: str, doom: Doom | None = None) -> None:
        self.operations: list[Operation] = []
        self._folder = folder
        self._run_part = f"/runs/{run_id}/"
        self._doom = doom
        self._counts: Counter[tuple[str, str]] = Counter()
        self._steps = Steps()
        self._seq = 0
        self._lent = False
        self._awake = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        self._awake = True
        for journal in self._folder.glob(f"{_TREE}chats/*{self._run_part}{JOURNAL}"):
            self._lent = _LENT in journal.read_bytes()

    def comes(self, kind: str, path: Path, data: bytes = b"") -> str | None:
        """An operation is about to be made; the moment at which the process dies in it. Does not return from `before`."""
        if not self._awake:
            return None
        with self._lock:
            operation = self._operation(kind, self._named(path), data)
            moment = self._moment(operation)
        if moment == BEFORE:
            die()
        return moment

    def done(self, kind: str, path: Path, moment: str | None, data: bytes = b"") -> None:
        """The operation is made."""
        if not self._awake:
            return
        name = self._named(path)
        if kind in _EFFECTS and name != JOURNAL:
            self._note({"kind": kind, "path": name, "sha256": sha256_bytes(timeless(data))})
        self._lent = self._lent or (name == JOURNAL and _LENT in data)
        if moment == AFTER:
            die()

    def _note(self, effect: dict[str, Json]) -> None:
        if not self._lent and effect["path"].startswith("persist/"):
            return  # what the chat lends is copied again, where the copying was cut short
        descriptor = os.open(self._folder / EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, dumps(effect) + b"\n")
        os.close(descriptor)

    def _operation(self, kind: str, path: str, data: bytes) -> Operation:
        self._counts[kind, path] += 1
        lines = data.split(b"\n")[:-1] if path == JOURNAL and kind == "append" else []
        operation = Operation(kind, path, self._counts[kind, path], str(self._steps.step), self._seq, len(lines))
        self.operations.append(operation)
        for line in filter(None, lines):
            self._seq += 1
            told = loads(line)
            self._steps.add(told["type"], told["payload"])
        return operation

    def _moment(self, operation: Operation) -> str | None:
        match self._doom:
            case None:
                return None
            case Chance(number, moment):
                return operation.moments[moment % len(operation.moments)] if len(self.operations) == number else None
            case Point(wanted, moment):
                here = (operation.kind, operation.path, operation.nth)
                return moment if here == (wanted.kind, wanted.path, wanted.nth) else None

    def _named(self, path: Path) -> str:
        name = path.relative_to(self._folder).as_posix() if path.is_relative_to(self._folder) else str(path)
        if not name.startswith(_TREE):
            return f"{OUTSIDE}{name}"
        return name.partition(self._run_part)[2] or f"{SHARED}{name.removeprefix(_TREE)}"


def timeless(data: bytes) -> bytes:
    """The content without the times that it tells: each process has its own."""
    return _TIME.sub(b"(a time)", data)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class WatchedDisk(RealDisk):
    """A real disk; no write waits for the platter, since the power does not fail here."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        moment = self._watch.comes("replace", path, data)
        if moment == WITHIN:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name(f"{path.name}.{os.urandom(8).hex()}.tmp").write_bytes(data)
            die()
        super().replace(path, data)
        self._watch.done("replace", path, moment, data)

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        moment = self._watch.comes("append", path, data)
        if moment not in (None, BEFORE, AFTER):
            super().append(path, _begun(data, moment))
            die()
        super().append(path, data)
        self._watch.done("append", path, moment, data)

    def truncate(self, path: Path, size: int) -> None:
        moment = self._watch.comes("truncate", path)
        super().truncate(path, size)
        self._watch.done("truncate", path, moment)

    def make_folder(self, path: Path) -> None:
        moment = self._watch.comes("make_folder", path)
        super().make_folder(path)
        self._watch.done("make_folder", path, moment)

    def copy(self, source: Path, target: Path) -> None:
        self.replace(target, source.read_bytes())

    def move(self, source: Path, target: Path) -> None:
        moment = self._watch.comes("move", target)
        super().move(source, target)
        self._watch.done("move", target, moment)

    def remove(self, path: Path) -> None:
        moment = self._watch.comes("remove", path)
        super().remove(path)
        self._watch.done("remove", path, moment)


def _begun(data: bytes, moment: str | None) -> bytes:
    """What is written of an append that is cut short."""
    if moment is not None and moment.startswith(AT_EVENT):
        lines = data.split(b"\n")[: int(moment.removeprefix(AT_EVENT))]
        return b"".join(line + b"\n" for line in lines)
    return data[: len(data) // 2]


def watched_connect(watch: Watch) -> Connect:
    """How to open databases whose commits are seen."""

    class WatchedConnection(sqlite3.Connection):
        path = Path()

        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            if not (sql == COMMIT.upper() or (not self.in_transaction and sql.lstrip().startswith(_WRITES))):
                return super().execute(sql, parameters)
            moment = watch.comes(COMMIT, self.path)
            cursor = super().execute(sql, parameters)
            watch.done(COMMIT, self.path, moment)
            return cursor

    def connect(path: Path, patience_s: float) -> sqlite3.Connection:
        connection = connection_of(WatchedConnection, path, patience_s)
        assert isinstance(connection, WatchedConnection)
        connection.path = path
        return connection

    return connect
