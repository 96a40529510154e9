"""One run's folder while it is driven: every change to it goes through `apply`, inside the epoch's guard.

The order of a call's changes is the order on disk: an intent is in the journal before its effect, the effect before
its result. An event that the journal already has is not written again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..graph.errors import InvalidData, LeaseLost, RunBusy, RunCancelled, RunFailed, StorageFailed
from ..graph.events import REWINDS, Event, EventType, Level
from ..graph.jsontext import Json, dumps, loads
from ..graph.ports import Clock
from ..graph.status import STATUS_OF_END, RunStatus, follow
from .database import RunDatabase
from .disk import Disk, storage_failed
from .journal import Entry, Journal
from .ledger import Ledger
from .runs import RunRecord, RunStore, at_status

RENEW_AFTER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Log:
    """Append this event, unless the journal has it."""

    type: EventType
    payload: Json
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """Replace a file of the run folder, given by its path inside it."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Enter:
    """Set the run's status and journal it, unless the event named by `unless` is in the journal."""

    status: RunStatus
    unless: tuple[EventType, Json] | None = None


@dataclass(frozen=True, slots=True)
class Do:
    """Make an effect: blocking, and able to be made twice."""

    effect: Callable[[], None]


Change = Log | Put | Enter | Do


class RunEnded(RunFailed):
    """The run has ended; nothing but that it was rewound is written after its terminal event."""

    code = "agent.run_ended"


class RunFolder:
    """Blocking; safe to call from several threads."""

    def __init__(
        self,
        record: RunRecord,
        *,
        store: RunStore,
        disk: Disk,
        journal: Journal,
        database: RunDatabase,
        clock: Clock,
        holder: str,
        epoch: int,
    ) -> None:
        self.path: Path = store.folder(record)
        self.record = record
        self.journal = journal
        self.database = database
        self.ledger = Ledger()
        self.disk = disk
        self.holder = holder
        self.epoch = epoch
        self.resumed = False
        """True from a resume to the first status after it, which may follow any."""
        self.told: RunStatus | None = None
        """After a resume: the status that was the journal's last word, so that entering it is not told again."""
        self._store = store
        self._clock = clock
        self._renewed = clock.monotonic()
        self._lock = threading.RLock()
        self._closed = False

    def apply(self, *changes: Change, durable: bool = False, unless_cancelling: bool = False) -> None:
        """Make the changes in order; raises LeaseLost with nothing changed where another process took over.

        Raises RunEnded for a change after the end; and, if asked to, RunCancelled once a cancel is journalled.
        """
        with self._lock, self._guarded():
            if unless_cancelling and self.record.status is RunStatus.CANCELLING:
                raise RunCancelled
            before = self.record, self.resumed, self.told
            try:
                self._make_all(changes, durable)
            except BaseException:
                if self.journal_end is None:  # what is not in the journal has not happened
                    self._put_back(*before)
                raise
        self.renew_if_due()

    def rewind(self, *changes: Log | Do) -> None:
        """As `apply`, also once the run has ended: every event must be one of `REWINDS`, and each is kept durably.

        No status changes, and no file but what the changes themselves make. Raises as `apply`.
        """
        strange = [change.type for change in changes if isinstance(change, Log) and change.type not in REWINDS]
        if strange:
            raise RunEnded(f"{strange[0]} is no event of a rewind")
        with self._lock, self._guarded():
            pending: list[Entry] = []
            for change in changes:
                self._make(change, pending, durable=True)
            self._flush(pending, durable=True)
        self.renew_if_due()

    def request_cancel(self) -> bool:
        """Journal the request and enter `cancelling`; False where the run has ended or is being cancelled."""
        with self._lock:
            if self.record.status.is_terminal or self.record.status is RunStatus.CANCELLING:
                return False
            self.apply(Log(EventType.RUN_CANCEL_REQUESTED, None), Enter(RunStatus.CANCELLING))
            return True

    def close(self) -> None:
        """Let the run go: what is under way is finished, and nothing is changed from here any more."""
        with self._lock:
            if not self._closed:
                self._closed = True
                with suppress(StorageFailed, RunBusy):  # on a full disk too; then the lease runs out by itself
                    self.database.release(self.holder, self.epoch)
                self.database.close()

    def told_of(self, event_type: EventType) -> list[Event]:
        """What the journal tells of this type; waits for a change that is being made."""
        with self._lock:
            return self.ledger.told(event_type)

    def has(self, path: str) -> bool:
        return (self.path / path).exists()

    def read(self, path: str) -> bytes:
        """A file of the run folder; raises InvalidData where it is missing, StorageFailed where the disk refuses."""
        try:
            return self.disk.read(self.path / path)
        except FileNotFoundError as error:
            raise InvalidData(f"the run folder has no {path}") from error
        except OSError as error:
            raise storage_failed(error, f"reading {path}") from error

    def read_json(self, path: str) -> Json:
        try:
            return loads(self.read(path))
        except ValueError as error:
            raise InvalidData(f"{path} is not JSON: {error}") from error

    @property
    def journal_end(self) -> RunStatus | None:
        """The status that the journal's terminal event tells; None where there is none."""
        for event_type, status in STATUS_OF_END.items():
            if self.ledger.has(event_type, None):
                return status
        return None

    def set_status_only(self, status: RunStatus) -> None:
        """Set the record without a journal line: for a failure tail whose journal is broken."""
        with self._lock, self._guarded():
            self.record = at_status(self.record, status, self._clock.now())
            self._store.save(self.record)

    def _put_back(self, record: RunRecord, resumed: bool, told: RunStatus | None) -> None:
        saved, self.record = self.record, record
        self.resumed, self.told = resumed, told
        if saved.status is not record.status:
            with suppress(StorageFailed):  # then readers see it ahead of the journal until the next status
                self._store.save(record)

    def _guarded(self) -> AbstractContextManager[object]:
        if self._closed:
            raise LeaseLost(f"run {self.record.id} is not driven from here any more")
        return self.database.guarded(self.epoch)

    def _make_all(self, changes: tuple[Change, ...], durable: bool) -> None:
        pending: list[Entry] = []
        ended = self.record.status.is_terminal
        for change in changes:
            if ended and isinstance(change, (Put, Do)):
                raise RunEnded
            self._make(change, pending, durable)
        if ended and pending:
            raise RunEnded
        self._flush(pending, durable)
        if self.record.status.is_terminal and not ended:  # the journal's terminal event first: it is what decides
            self._store.save(self.record)

    def _make(self, change: Change, pending: list[Entry], durable: bool) -> None:
        match change:
            case Log(event_type, payload, level):
                if not self.ledger.has(event_type, payload):
                    pending.append(Entry(event_type, payload, level))
            case Enter():
                self._enter(pending, change)
            case Put(path, data):
                self._flush(pending, durable)
                self._put(path, data, durable)
            case Do(effect):
                self._flush(pending, durable)
                self._do(effect)

    def _enter(self, pending: list[Entry], change: Enter) -> None:
        if change.unless is not None and self.ledger.has(*change.unless):
            return
        if self.record.status.is_terminal:
            return  # the end absorbs: a step that is walked again changes nothing
        told, self.told = self.told, None
        if told is not change.status and not follow(self.record.status, change.status, resumed=self.resumed):
            return
        self.resumed = False
        self.record = at_status(self.record, change.status, self._clock.now())
        if not change.status.is_terminal:
            self._store.save(self.record)
        if told is not change.status:
            pending.append(Entry(EventType.STATUS_CHANGED, {"status": str(change.status)}, None))

    def _put(self, path: str, data: bytes, durable: bool) -> None:
        try:
            self.disk.replace(self.path / path, data, durable=durable)
        except OSError as error:
            raise storage_failed(error, f"writing {path}") from error

    def _do(self, effect: Callable[[], None]) -> None:
        try:
            effect()
        except OSError as error:
            raise storage_failed(error, "changing the run's files") from error

    def _flush(self, pending: list[Entry], durable: bool) -> None:
        if pending:
            self.ledger.add(self.journal.append(pending, durable=durable))
            pending.clear()

    def renew_if_due(self) -> None:
        """Keep the lease; a run that was let go stays so."""
        now = self._clock.monotonic()
        with self._lock:
            if not self._closed and now - self._renewed >= RENEW_AFTER_SECONDS:
                self._renewed = now
                self.database.renew(self.holder, self.epoch)

    def marked(self, name: str) -> str | None:
        """The word that another process left under this name, while the run is driven from here."""
        with self._lock:
            return None if self._closed else self.database.marked(name)


def pretty(value: Json) -> bytes:
    """A value as the files of a run folder hold it."""
    return dumps(value, pretty=True)
