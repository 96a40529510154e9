"""A disk that notes what was asked of it, in order, and what every file should hold after it."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..graph.jsontext import loads
from ..storage.disk import Disk
from ..storage.runs import EVENTS
from .faults import Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done:
    """One operation; `error` is the errno with which it was refused, `path` the target's."""

    operation: Operation
    path: Path
    durable: bool = False
    error: int | None = None
    events: tuple[str, ...] = ()
    """The types of the events that an append to a journal held."""


class RecordingDisk:
    """Passes everything on to `inner`. What was refused counts as not done, as for whoever asked. Safe for threads."""

    def __init__(self, inner: Disk) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self.log: list[Done] = []
        self.files: dict[Path, bytes] = {}
        """What each file that was written through here should hold now."""

    def read(self, path: Path) -> bytes:
        return self._noted("read", path, lambda: self._inner.read(path))

    def read_range(self, path: Path, start: int, size: int) -> bytes:
        return self._noted("read_range", path, lambda: self._inner.read_range(path, start, size))

    def read_plain(self, path: Path) -> bytes:
        return self._noted("read_plain", path, lambda: self._inner.read_plain(path))

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._noted("replace", path, lambda: self._inner.replace(path, data, durable=durable), durable=durable)
        self.files[path] = data

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        before = self._held(path)
        self._noted(
            "append", path, lambda: self._inner.append(path, data, durable=durable), durable=durable, appended=data
        )
        self.files[path] = before + data

    def truncate(self, path: Path, size: int) -> None:
        self._noted("truncate", path, lambda: self._inner.truncate(path, size))
        self.files[path] = self._held(path)[:size]

    def make_folder(self, path: Path) -> None:
        self._noted("make_folder", path, lambda: self._inner.make_folder(path))

    def copy(self, source: Path, target: Path) -> None:
        held = self._held(source)
        self._noted("copy", target, lambda: self._inner.copy(source, target))
        self.files[target] = held

    def move(self, source: Path, target: Path) -> None:
        self._noted("move", target, lambda: self._inner.move(source, target))
        for path in [path for path in self.files if path.is_relative_to(source)]:
            self.files[target / path.relative_to(source)] = self.files.pop(path)

    def remove(self, path: Path) -> None:
        self._noted("remove", path, lambda: self._inner.remove(path))
        for gone in [each for each in self.files if each.is_relative_to(path)]:
            del self.files[gone]

    def _held(self, path: Path) -> bytes:
        if path in self.files:
            return self.files[path]
        return path.read_bytes() if path.exists() else b""

    def _noted(
        self, operation: Operation, path: Path, work: Callable[[], T], *, durable: bool = False, appended: bytes = b""
    ) -> T:
        error: int | None = None
        try:
            return work()
        except OSError as refused:
            error = refused.errno or errno.EIO
            raise
        finally:
            events = _types(appended) if path.name == EVENTS else ()
            with self._lock:
                self.log.append(Done(operation, path, durable, error, events))


def _types(lines: bytes) -> tuple[str, ...]:
    return tuple(loads(line)["type"] for line in lines.split(b"\n") if line)
