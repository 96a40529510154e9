"""A lease, and clocks that are set: none takes it away from the living, none leaves it to the dead."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from treadle.graph.errors import RunBusy
from treadle.storage import leases
from treadle.storage.database import RunDatabase
from treadle.storage.leases import LEASE_MS

HOUR = 3600.0
DAY = 24 * HOUR


@dataclass
class SetClock:
    """A time of day that anybody sets, and a clock that nobody does."""

    day: float = 1767225600.25
    since_boot: float = 5000.0

    def pass_(self, seconds: float) -> None:
        self.day += seconds
        self.since_boot += seconds

    def now(self) -> float:
        return self.day

    def monotonic(self) -> float:
        return self.since_boot

    async def sleep(self, seconds: float) -> None:
        self.pass_(seconds)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@dataclass(frozen=True)
class Drivers:
    """Processes that want one run."""

    holder: RunDatabase
    taker: RunDatabase
    elsewhere: RunDatabase
    """On another machine, or after another boot."""
    old: RunDatabase
    """On a system that does not number its boots."""


@pytest.fixture
def drivers(tmp_path: Path, clock: SetClock) -> Iterator[Drivers]:
    def on(boot: str | None) -> RunDatabase:
        return RunDatabase(tmp_path / "run.sqlite", clock=clock, boot=lambda: boot)

    made = {"holder": on("boot-1"), "taker": on("boot-1"), "elsewhere": on("boot-2"), "old": on(None)}
    yield Drivers(**made)
    for database in made.values():
        database.close()


@pytest.mark.parametrize("jump", [-DAY, -60.0, 0.0, 60.0, DAY])
def test_on_one_machine_a_live_lease_stands_however_the_time_is_set(
    jump: float, drivers: Drivers, clock: SetClock
) -> None:
    drivers.holder.acquire("a")
    clock.pass_(10)
    clock.day += jump

    with pytest.raises(RunBusy):
        drivers.taker.acquire("b")


@pytest.mark.parametrize("jump", [-DAY, -60.0, 0.0, 60.0, DAY])
def test_on_one_machine_a_dead_lease_ends_however_the_time_is_set(
    jump: float, drivers: Drivers, clock: SetClock
) -> None:
    drivers.holder.acquire("a")
    clock.day += jump
    clock.pass_(LEASE_MS / 1000)

    assert drivers.taker.lease() is None
    assert drivers.taker.acquire("b") == 2


def test_a_renewed_lease_is_counted_from_its_renewal(drivers: Drivers, clock: SetClock) -> None:
    epoch = drivers.holder.acquire("a")
    clock.pass_(20)
    clock.day -= DAY
    drivers.holder.renew("a", epoch)
    clock.pass_(20)
    between = drivers.taker.lease()
    clock.pass_(10)

    assert between is not None
    assert drivers.taker.lease() is None


@pytest.mark.parametrize("who", ["elsewhere", "old"])
class TestByTheTimeOfDay:
    def test_a_live_lease_stands(self, who: str, drivers: Drivers, clock: SetClock) -> None:
        drivers.holder.acquire("a")
        clock.pass_(LEASE_MS / 1000 - 0.001)

        with pytest.raises(RunBusy):
            getattr(drivers, who).acquire("b")

    def test_so_it_does_under_a_clock_that_is_a_little_behind(
        self, who: str, drivers: Drivers, clock: SetClock
    ) -> None:
        drivers.holder.acquire("a")
        clock.day -= 20

        with pytest.raises(RunBusy):
            getattr(drivers, who).acquire("b")

    def test_one_that_would_last_longer_than_a_lease_can_is_not_believed(
        self, who: str, drivers: Drivers, clock: SetClock
    ) -> None:
        drivers.holder.acquire("a")
        clock.day -= HOUR

        assert getattr(drivers, who).lease() is None
        assert getattr(drivers, who).acquire("b") == 2

    def test_another_boot_whose_clock_has_run_for_longer_does_not_end_it(
        self, who: str, drivers: Drivers, clock: SetClock
    ) -> None:
        drivers.holder.acquire("a")
        clock.since_boot += DAY

        assert getattr(drivers, who).lease() is not None


def test_a_released_lease_is_free_at_once(drivers: Drivers) -> None:
    drivers.holder.release("a", drivers.holder.acquire("a"))

    assert [database.lease() for database in (drivers.taker, drivers.elsewhere, drivers.old)] == [None] * 3


def test_this_machine_knows_which_boot_it_is() -> None:
    assert leases.boot_of_this_machine() == leases.boot_of_this_machine()


def test_a_file_of_the_first_version_is_read_and_then_taken_over(tmp_path: Path, clock: SetClock) -> None:
    path = tmp_path / "run.sqlite"
    with closing(RunDatabase(path, clock=clock)) as made:
        made.put_receipt("before", "x")
    with closing(sqlite3.connect(path)) as older:
        older.executescript("DROP TABLE lease; PRAGMA user_version = 1; " + FIRST)
        older.execute("INSERT INTO lease VALUES (1, 'a', 3, ?)", (int(clock.day * 1000) + 1,))
        older.commit()
    database = RunDatabase(path, clock=clock)
    live = database.lease()
    clock.pass_(1)

    assert live is not None
    assert live.epoch == 3
    assert database.acquire("b") == 4
    assert database.receipt("before") == "x"
    database.close()


FIRST = "CREATE TABLE lease (id INTEGER PRIMARY KEY CHECK (id = 1), holder TEXT, epoch INTEGER, expires_ms INTEGER)"
