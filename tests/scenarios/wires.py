"""Something is done when a run comes to a certain point: in the run's own thread, which waits until it is done."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from treadle.storage.disk import RealDisk
from treadle.testkit.ports import ManualClock

Act = Callable[[], None]

_TYPE = re.compile(rb'"type":"(\w+)"')


@dataclass(slots=True)
class _Wire:
    act: Act
    passes: int
    """How often the point is passed before the wire is sprung."""


class Wires:
    """Each is sprung once."""

    def __init__(self) -> None:
        self._at_event: dict[str, _Wire] = {}
        self._at_read: dict[str, _Wire] = {}
        self._due = threading.local()

    def at_event(self, event_type: str, act: Act, *, nth: int = 1) -> None:
        """When the changes that the event belongs to are made, and the run's folder is free for others again."""
        self._at_event[event_type] = _Wire(act, nth - 1)

    def at_read(self, name: str, act: Act, *, nth: int = 1) -> None:
        """Before a file of that name is read."""
        self._at_read[name] = _Wire(act, nth - 1)

    def appended(self, data: bytes) -> None:
        for found in _TYPE.findall(data):
            wire = _passed(self._at_event, found.decode())
            if wire is not None:
                self._due.act = wire.act

    def reading(self, path: Path) -> None:
        wire = _passed(self._at_read, path.name)
        if wire is not None:
            wire.act()

    def spring(self) -> None:
        act: Act | None = self._due.__dict__.pop("act", None)
        if act is not None:
            act()


class WiredDisk(RealDisk):
    """A real disk, but no write waits for the platter: the power does not fail here."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires

    def read(self, path: Path) -> bytes:
        self._wires.reading(path)
        return super().read(path)

    def read_plain(self, path: Path) -> bytes:
        self._wires.reading(path)
        return super().read_plain(path)

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        super().replace(path, data)

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        super().append(path, data)
        if path.name == "events.jsonl":
            self._wires.appended(data)


class WiredClock(ManualClock):
    """A run's folder asks for the time when it has let its lock go: that is when wires at events are sprung."""

    def __init__(self, wires: Wires, *, sleepers_wait: bool = False) -> None:
        super().__init__(sleepers_wait=sleepers_wait)
        self._wires = wires

    def monotonic(self) -> float:
        self._wires.spring()
        return super().monotonic()


def _passed(wires: dict[str, _Wire], name: str) -> _Wire | None:
    wire = wires.get(name)
    if wire is None:
        return None
    if wire.passes > 0:
        wire.passes -= 1
        return None
    return wires.pop(name)
