"""Who drives a run, and until when: the one row of the lease, and the clocks that it is counted by.

Processes of one boot of a machine count it by the clock that nobody sets, so that a time of day that jumps takes no
lease away and makes none last. Elsewhere the time of day counts, and a lease that has longer to go than a lease can is
not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..graph.ports import Clock

LEASE_MS = 30_000
"""A lease that is not renewed for so long is free."""
BELIEVED_MS = 2 * LEASE_MS
"""A lease that by the time of day has longer to go than this was taken before a clock was set back."""

TABLE = """
CREATE TABLE lease (
    id INTEGER PRIMARY KEY CHECK (id = 1), holder TEXT, epoch INTEGER, expires_ms INTEGER,
    boot TEXT, boot_expires_ms INTEGER)"""
TO_VERSION_2 = """
ALTER TABLE lease ADD COLUMN boot TEXT;
ALTER TABLE lease ADD COLUMN boot_expires_ms INTEGER"""
SELECT = "SELECT * FROM lease"
TAKE = "INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?, ?)"
"""Holder, epoch, and what `LeaseClock.expiry` gives."""
RENEW = "UPDATE lease SET expires_ms = ?, boot = ?, boot_expires_ms = ? WHERE holder = ? AND epoch = ?"
RELEASE = "UPDATE lease SET expires_ms = 0, boot_expires_ms = 0 WHERE holder = ? AND epoch = ?"

Boot = Callable[[], str | None]
"""Which boot of which machine this is; None where the system does not tell."""


@dataclass(frozen=True, slots=True)
class Lease:
    holder: str
    epoch: int
    """1 for the first driver; each later one counts one up."""
    expires_ms: int
    """Milliseconds since the epoch (UTC)."""


@cache
def boot_of_this_machine() -> str | None:
    """Linux numbers its boots; where nobody does, leases are counted by the time of day."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip() or None
    except OSError:
        return None


class LeaseClock:
    """When a lease that is taken now ends, and whether one that was taken is live."""

    def __init__(self, clock: Clock, boot: Boot) -> None:
        self._clock = clock
        self._boot = boot

    def expiry(self) -> tuple[int, str | None, int]:
        """By the time of day; the boot; by its monotonic clock."""
        return _ms(self._clock.now()) + LEASE_MS, self._boot(), _ms(self._clock.monotonic()) + LEASE_MS

    def live(self, row: Sequence[Any] | None) -> Lease | None:
        """The lease of a row, as `SELECT` gives it, if it is live. A file of version 1 knows no boots."""
        if row is None:
            return None
        _, holder, epoch, expires_ms, *by_boot = row
        boot = self._boot()
        if boot is not None and by_boot and by_boot[0] == boot:
            is_live = 0 < by_boot[1] - _ms(self._clock.monotonic()) <= LEASE_MS
        else:
            is_live = 0 < expires_ms - _ms(self._clock.now()) <= BELIEVED_MS
        return Lease(holder, epoch, expires_ms) if is_live else None


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
