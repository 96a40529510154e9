"""A disk that tells when an event of a run becomes durable, and lets the harness act at that very moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from treadle.graph.jsontext import Json, is_object, loads
from treadle.storage.disk import RealDisk

JOURNAL = "events.jsonl"


@dataclass(frozen=True, slots=True)
class Watch:
    """Once the first event of this type (of this call, where one is named) is durable, `act` is called, and before
    anything else is written: in the appending thread, which it may hold up or end.
    """

    event: str
    act: Callable[[], None]
    call_id: str | None = None

    def sees(self, line: bytes) -> bool:
        try:
            value: Json = loads(line)
        except ValueError:
            return False
        if not is_object(value) or value.get("type") != self.event:
            return False
        payload = value.get("payload")
        return self.call_id is None or (is_object(payload) and payload.get("callId") == self.call_id)


class WatchedDisk(RealDisk):
    """The real disk; what is appended to a journal is looked through for what is watched for."""

    def __init__(self, *watches: Watch) -> None:
        self.watches = list(watches)

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        if path.name == JOURNAL and self.watches:
            for line in data.split(b"\n")[:-1]:
                seen = [watch for watch in self.watches if watch.sees(line)]
                if seen:
                    written, data = self._parted(data, line)
                    super().append(path, written, durable=True)
                for watch in seen:
                    self.watches.remove(watch)
                    watch.act()
        if data:
            super().append(path, data, durable=durable)

    def _parted(self, data: bytes, line: bytes) -> tuple[bytes, bytes]:
        """The bytes up to the end of `line`, and the rest."""
        end = data.index(line + b"\n") + len(line) + 1
        return data[:end], data[end:]
