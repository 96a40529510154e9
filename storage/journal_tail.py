"""The last events of a journal, found from its end: however long it is, a few kilobytes are read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ..graph.errors import JournalDamaged
from ..graph.events import Event, EventType, event
from ..graph.jsontext import loads
from .disk import Disk, storage_failed

_WINDOW = 16_384


def last_event(path: Path, disk: Disk, *, skip: Collection[EventType] = ()) -> Event | None:
    """The last event that is of none of the types in `skip`; None where there is none, or no journal. Blocking.

    A torn last line counts for nothing. Raises JournalDamaged, with the byte offset, for a line that is no event;
    what stands further in front is not looked at. Raises StorageFailed.
    """
    try:
        end = path.stat().st_size
        start, data = end, b""
        while start > 0:
            size = max(_WINDOW, len(data))  # twice as much each time: a long line is read a few times, not many
            start = max(start - size, 0)
            data = disk.read_range(path, start, end - start)
            found = _last(data, start, skip)
            if found is not None:
                return found
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_failed(error, "reading the journal") from error
    return None


def _last(data: bytes, offset: int, skip: Collection[EventType]) -> Event | None:
    """The last event wanted of those that stand whole in `data`, which is the journal from `offset` on."""
    end = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end) + 1
        if start == 0 and offset > 0:
            return None  # the line begins further in front
        line = data[start:end]
        found = _event_of(line) if line else None
        if line and found is None and end < len(data):
            raise JournalDamaged(
                f"the journal is damaged at byte offset {offset + start}: this line is no event",
                details={"offset": offset + start},
            )
        if found is not None and found.type not in skip:
            return found
        end = start - 1
    return None


def _event_of(line: bytes) -> Event | None:
    try:
        return event(loads(line))
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
