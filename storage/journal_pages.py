"""Pages of a journal for a process that does not drive the run: by its index where that holds, without reading it whole.

Whatever does not look as a sound journal does is left to the plain reading of the whole file, which decides and says
where the damage is.
"""

from __future__ import annotations

from pathlib import Path

from ..graph.events import Event
from .disk import Disk, storage_failed
from .journal_index import EVERY, IndexReader
from .journal_lines import event_of, events_at, find_records, page, page_size

_FIRST_BLOCK = 1 << 16
_LARGEST_BLOCK = 1 << 20
_HEAD = 1 << 12


class JournalPages:
    """A journal as it stands at this moment. Blocking."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._path = path
        self._disk = disk
        self._size = _size(path)
        """What is appended later is not looked at."""

    def read(self, after_seq: int | None, before_seq: int | None, limit: int | None) -> list[Event]:
        """As `Journal.read`; raises JournalDamaged if the page holds a damaged record, StorageFailed."""
        if before_seq is None:
            first = max(after_seq or 0, 0)
            found = self._between(first, first + page_size(limit))
        else:
            found = self._before(before_seq, limit)
        return self._plainly(after_seq, before_seq, limit) if found is None else found

    def last_seq(self) -> int:
        """0 where there is no event; raises StorageFailed."""
        found = self._last_seq()
        return len(find_records(self._whole())) if found is None else found

    def _before(self, before_seq: int, limit: int | None) -> list[Event] | None:
        count = self._last_seq()
        if count is None:
            return None
        first, last = page(count, None, before_seq, limit)
        if last < count:
            return self._between(first, last)
        found = self._between(first, count + 1)  # one more than there should be: the page must reach the file's end
        return None if found is None or len(found) != count - first else found

    def _between(self, first: int, last: int) -> list[Event] | None:
        """The events with seq first + 1 to last, or to the file's end; None where one of them is not as it should be."""
        lines = self._lines(first, last)
        found = [event_of(line, seq) for seq, line in enumerate(lines, start=first + 1)]
        sound = [each for each in found if each is not None]
        return sound if len(sound) == len(found) else None

    def _lines(self, first: int, last: int) -> list[bytes]:
        """The records `first` to `last` (exclusive, from 0); lines before them are counted and not looked into."""
        at, seq = self._nearest(first)
        wanted: list[bytes] = []
        rest, block = b"", _FIRST_BLOCK
        while seq < last and at < self._size:
            data = self._range(at, min(block, self._size - at))
            if not data:
                break
            at, block = at + len(data), min(2 * block, _LARGEST_BLOCK)
            *ended, rest = (rest + data).split(b"\n")
            records = [line for line in ended if line]
            wanted += records[max(first - seq, 0) : max(last - seq, 0)]
            seq += len(records)
        if first <= seq < last and event_of(rest, seq + 1) is not None:
            wanted.append(rest)  # whole but for its newline
        return wanted

    def _nearest(self, first: int) -> tuple[int, int]:
        """The offset and number (from 0) of a record at or before this one: where the index proves right, else the first."""
        index = IndexReader(self._path, self._disk)
        entry, step = min(first // EVERY, index.count()), 1
        while entry > 0:
            offset = index.offset(entry)
            if self._stands(offset, entry * EVERY + 1):
                return offset, entry * EVERY
            entry, step = entry - step, 2 * step
        return 0, 0

    def _stands(self, offset: int, seq: int) -> bool:
        """Whether the record with this seq begins there."""
        if not 0 < offset < self._size:
            return False
        block = _HEAD
        while True:
            data = self._range(offset - 1, min(block, self._size - offset + 1))
            line, newline, _ = data[1:].partition(b"\n")
            if data[:1] != b"\n" or newline or len(data) < block:
                return data[:1] == b"\n" and event_of(line, seq) is not None
            block *= 4

    def _last_seq(self) -> int | None:
        """What the end of the file says; None where its last line is not an event."""
        block = _HEAD
        while True:
            start = max(self._size - block, 0)
            before, *lines = self._range(start, self._size - start).split(b"\n")
            if start == 0:
                lines = [before, *lines]
            *ended, rest = lines or [b""]
            last = next((line for line in reversed(ended) if line), None)
            if last is None and start > 0:
                block *= 4
                continue
            event = None if last is None else event_of(last)
            if last is not None and event is None:
                return None
            seq = 0 if event is None else event.seq
            return seq + (event_of(rest, seq + 1) is not None)

    def _plainly(self, after_seq: int | None, before_seq: int | None, limit: int | None) -> list[Event]:
        data = self._whole()
        records = find_records(data)
        first, last = page(len(records), after_seq, before_seq, limit)
        return events_at(data, records[first:last], seq=first + 1)

    def _whole(self) -> bytes:
        return self._range(0, self._size)

    def _range(self, start: int, size: int) -> bytes:
        try:
            return self._disk.read_range(self._path, start, size)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise storage_failed(error, "reading the journal") from error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise storage_failed(error, "reading the journal") from error
