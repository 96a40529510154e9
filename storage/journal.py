"""The journal of a run: one event a line, in order, never rewritten; what a crash tore off is repaired and told.

The line of event n is the n-th record, so a page is found by its offset and only its own lines are parsed.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ..graph.errors import JournalAppendFailed
from ..graph.events import Event, EventType, Level, level_of
from ..graph.jsontext import Json, dumps
from ..graph.ports import Clock, Ids
from .disk import Disk, RealDisk, storage_failed
from .journal_index import IndexWriter
from .journal_lines import events_at, find_records, page
from .journal_pages import JournalPages
from .runs import timestamp

Listener = Callable[[list[Event]], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be journalled; the level is the type's own unless given."""

    type: EventType | str
    payload: Json
    level: Level | None = None


class Journal:
    """The journal for the process that drives the run. Blocking; safe to call from several threads."""

    def __init__(self, path: Path, *, run_id: str, disk: Disk, clock: Clock, ids: Ids) -> None:
        self._path = path
        self._run_id = run_id
        self._disk = disk
        self._clock = clock
        self._ids = ids
        self._lock = threading.Lock()
        self._listeners: dict[object, Listener] = {}
        self._opened = False
        self._index = IndexWriter(path, disk)
        self._starts: array[int] = array("Q")
        self._size = 0
        self._torn = False
        """Bytes that are no event stand after the good ones."""
        self._dropped = 0
        """Bytes that were cut off and not yet told."""
        self._unended = False
        """The last record lacks its newline."""

    @property
    def last_seq(self) -> int:
        """0 where there is no event yet."""
        with self._lock:
            self._open_once()
            return len(self._starts)

    def open(self) -> list[Event]:
        """Read what is there, changing nothing: every event; a missing file is an empty journal.

        The first use opens a journal that was not. Raises JournalDamaged, naming line and byte offset, for anything
        but a torn last line; StorageFailed.
        """
        with self._lock:
            self._opened = False
            return self._open_once()

    def append(self, entries: Sequence[Entry], *, durable: bool = False) -> list[Event]:
        """One write for all entries, in their order; `durable` waits for the disk.

        Raises JournalAppendFailed with no seq used; the file is put back as it was, at the latest before the next
        append.
        """
        if not entries:
            return []
        with self._lock:
            self._open_once()
            written = self._write(entries, durable=durable)
            listeners = tuple(self._listeners.values())
        for listener in listeners:
            listener(written)
        return written[-len(entries) :]

    def subscribe(self, callback: Listener) -> Callable[[], None]:
        """Call `callback` with the events of each later append, on the appending thread; returns how to stop.

        It is a wake-up: it must not raise or block, and appends of two threads may be told out of order.
        """
        token = object()
        with self._lock:
            self._listeners[token] = callback

        def unsubscribe() -> None:
            with self._lock:
                self._listeners.pop(token, None)

        return unsubscribe

    def read(
        self, *, after_seq: int | None = None, before_seq: int | None = None, limit: int | None = None
    ) -> list[Event]:
        """A page, ascending: the first `limit` events after `after_seq`, or the last `limit` before `before_seq`.

        `before_seq` wins; `limit` is 100 unless given, and is brought into 1..500.
        """
        return self._slice(*page(self.last_seq, after_seq, before_seq, limit))

    def read_all(self) -> list[Event]:
        return self._slice(0, self.last_seq)

    def _open_once(self) -> list[Event]:
        """The events, where it was not open yet."""
        if self._opened:
            return []
        data = _read(self._path, self._disk)
        records = find_records(data)
        events = events_at(data, records)
        self._starts = array("Q", (start for start, _ in records))
        good = records[-1][1] if records else 0
        self._torn = data[good:].strip(b"\n") != b""
        self._size = good if self._torn else len(data)
        self._unended = not self._torn and data != b"" and not data.endswith(b"\n")
        self._dropped = 0
        self._index.reset()
        self._opened = True
        return events

    def _slice(self, first: int, last: int) -> list[Event]:
        if first >= last:
            return []
        with self._lock:  # good bytes never change, so they may be read without it
            starts = self._starts[first : last + 1]
            end = starts.pop() if len(starts) > last - first else self._size
        base = starts[0]
        try:
            data = self._disk.read_range(self._path, base, end - base)
        except OSError as error:
            raise storage_failed(error, "reading the journal") from error
        bounds = [*(start - base for start in starts), end - base]
        return events_at(data, list(pairwise(bounds)), seq=first + 1, line=first + 1, offset=base)

    def _write(self, entries: Sequence[Entry], *, durable: bool) -> list[Event]:
        self._drop_torn()
        now = timestamp(self._clock.now())
        told = [*self._repairs(), *entries]
        events = [self._event(entry, len(self._starts) + offset, now) for offset, entry in enumerate(told, start=1)]
        lines = [dumps(event.to_json()) + b"\n" for event in events]
        data = b"".join([b"\n", *lines] if self._unended else lines)
        try:
            self._disk.append(self._path, data, durable=durable)
        except OSError as error:
            self._roll_back()
            raise _append_failed(error) from error
        start = self._size + self._unended
        for line in lines:
            self._starts.append(start)
            start += len(line)
        self._size, self._unended, self._dropped = start, False, 0
        self._index.keep(self._starts)
        return events

    def _event(self, entry: Entry, seq: int, now: str) -> Event:
        level = entry.level or _LEVELS.get(entry.type, Level.INFO)
        return Event(seq, f"evt_{self._ids.new()}", self._run_id, now, str(level), str(entry.type), entry.payload)

    def _repairs(self) -> list[Entry]:
        if not self._dropped:
            return []
        return [Entry(EventType.JOURNAL_TAIL_REPAIRED, {"droppedBytes": self._dropped, "atOffset": self._size})]

    def _drop_torn(self) -> None:
        if not self._torn:
            return
        try:
            size = self._path.stat().st_size
            self._disk.truncate(self._path, self._size)
        except OSError as error:
            raise _append_failed(error) from error
        self._dropped += size - self._size
        self._torn = False

    def _roll_back(self) -> None:
        try:
            self._disk.truncate(self._path, self._size)
        except FileNotFoundError:
            pass  # the file could not even be made
        except OSError:
            self._torn = True  # the next append begins with the repair


def read_journal(
    path: Path,
    *,
    after_seq: int | None = None,
    before_seq: int | None = None,
    limit: int | None = None,
    disk: Disk | None = None,
) -> list[Event]:
    """A page as `Journal.read` gives it, for a process that does not drive the run; a missing file has no events.

    The rest of the file is not read, as far as the journal's index helps. Raises JournalDamaged if the page holds a
    damaged record, StorageFailed.
    """
    return JournalPages(path, disk or RealDisk()).read(after_seq, before_seq, limit)


def read_last_seq(path: Path, *, disk: Disk | None = None) -> int:
    """The seq of the last event, 0 where there is none, for a process that does not drive the run; raises StorageFailed."""
    return JournalPages(path, disk or RealDisk()).last_seq()


def _read(path: Path, disk: Disk) -> bytes:
    try:
        return disk.read(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise storage_failed(error, "reading the journal") from error


_LEVELS: dict[str, Level] = {each: level_of(each) for each in EventType}
"""A type that is not in the vocabulary is information."""


def _append_failed(error: OSError) -> JournalAppendFailed:
    reason = error.strerror or str(error)
    return JournalAppendFailed(f"the journal could not be written: {reason}", details={"errno": error.errno})
