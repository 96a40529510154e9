"""A clock that stands still and ids that count."""

from __future__ import annotations


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
