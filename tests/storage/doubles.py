"""A clock that stands still, ids that count, and a disk that counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from treadle.storage.disk import RealDisk


class StillClock:
    """2026-01-01T00:00:00.250Z until moved."""

    def __init__(self) -> None:
        self.seconds = 1767225600.25

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class CountedIds:
    def __init__(self) -> None:
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return f"{self._count:032x}"


class CountingDisk(RealDisk):
    """It counts what is read, by the file's name."""

    def __init__(self) -> None:
        self.read_bytes: Counter[str] = Counter()

    def read(self, path: Path) -> bytes:
        data = super().read(path)
        self.read_bytes[path.name] += len(data)
        return data

    def read_range(self, path: Path, start: int, size: int) -> bytes:
        data = super().read_range(path, start, size)
        self.read_bytes[path.name] += len(data)
        return data
