"""A disk that fails when told to: full, broken, or broken half-way through a write."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ..storage.disk import Disk

Operation = Literal[
    "read", "read_range", "read_plain", "replace", "append", "truncate", "make_folder", "copy", "move", "remove"
]

Kind = Operation | Literal["change", "growth", "any"]
"""An operation; or every one that changes something, every one that needs room on the disk, or every one that there is."""

KINDS: dict[Kind, frozenset[Operation]] = {
    **{each: frozenset({each}) for each in get_args(Operation)},
    "change": frozenset({"replace", "append", "truncate", "make_folder", "copy", "move", "remove"}),
    "growth": frozenset({"replace", "append", "make_folder", "copy"}),
    "any": frozenset(get_args(Operation)),
}

Where = Callable[[Path], bool] | str | None
"""Which paths: a test of the path, a pattern as `Path.match` takes it (`"events.jsonl"`, `"output/*.md"`), or all."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One operation that was asked for; `path` is the target's, `size` the bytes given to write."""

    operation: Operation
    path: Path
    size: int | None = None
    failed: bool = False


@dataclass(slots=True)
class _Rule:
    operations: frozenset[Operation]
    where: Where
    containing: bytes | None
    error: int
    after_bytes: int | None
    skip: int
    times: int | None

    def applies(self, operation: Operation, path: Path, data: bytes | None) -> bool:
        if operation not in self.operations or self.times == 0 or not _matches(self.where, path):
            return False
        if self.containing is not None and self.containing not in (data or b""):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


class FaultyDisk:
    """Passes everything on to `inner`, but for what a rule forbids; the first rule that applies decides."""

    def __init__(self, inner: Disk) -> None:
        self._inner = inner
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        self.log: list[Touch] = []

    def fail(
        self,
        operation: Kind,
        *,
        when: Where = None,
        containing: bytes | None = None,
        error: int = errno.ENOSPC,
        after_bytes: int | None = None,
        skip: int = 0,
        times: int | None = None,
    ) -> None:
        """Raise OSError(`error`) for this operation, or these, on such paths (and data that holds `containing`).

        The first `skip` are let through, then `times` fail (None: all). `after_bytes`: an append writes so many bytes
        first; a replace is atomic and leaves nothing.
        """
        self._rules.append(_Rule(KINDS[operation], when, containing, error, after_bytes, skip, times))

    def heal(self) -> None:
        """Forget every rule."""
        self._rules.clear()

    def read(self, path: Path) -> bytes:
        self._pass("read", path)
        return self._inner.read(path)

    def read_range(self, path: Path, start: int, size: int) -> bytes:
        self._pass("read_range", path)
        return self._inner.read_range(path, start, size)

    def read_plain(self, path: Path) -> bytes:
        self._pass("read_plain", path)
        return self._inner.read_plain(path)

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._pass("replace", path, data)
        self._inner.replace(path, data, durable=durable)

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._pass("append", path, data)
        self._inner.append(path, data, durable=durable)

    def truncate(self, path: Path, size: int) -> None:
        self._pass("truncate", path)
        self._inner.truncate(path, size)

    def make_folder(self, path: Path) -> None:
        self._pass("make_folder", path)
        self._inner.make_folder(path)

    def copy(self, source: Path, target: Path) -> None:
        self._pass("copy", target)
        self._inner.copy(source, target)

    def move(self, source: Path, target: Path) -> None:
        self._pass("move", target)
        self._inner.move(source, target)

    def remove(self, path: Path) -> None:
        self._pass("remove", path)
        self._inner.remove(path)

    def _pass(self, operation: Operation, path: Path, data: bytes | None = None) -> None:
        with self._lock:
            rule = next((rule for rule in self._rules if rule.applies(operation, path, data)), None)
            self.log.append(Touch(operation, path, None if data is None else len(data), rule is not None))
        if rule is None:
            return
        if operation == "append" and data is not None and rule.after_bytes:
            self._inner.append(path, data[: rule.after_bytes])
        raise OSError(rule.error, os.strerror(rule.error), str(path))


def _matches(where: Where, path: Path) -> bool:
    if where is None:
        return True
    return path.match(where) if isinstance(where, str) else where(path)
