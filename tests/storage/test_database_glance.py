"""A look at a run's database tells who drives it and what was saved, and leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData
from treadle.storage.database import RunDatabase
from treadle.storage.database_glance import Glance, glance
from treadle.storage.leases import LEASE_MS
from treadle.testkit.ports import ManualClock

RUN = "run_1"


def made(folder: Path, clock: ManualClock) -> RunDatabase:
    database = RunDatabase(folder / "run.sqlite", clock=clock)
    database.acquire("somebody")
    return database


def test_where_there_is_no_file_there_is_nothing_and_none_is_made(tmp_path: Path) -> None:
    assert glance(tmp_path / "run.sqlite", RUN, ManualClock()) is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_open_elsewhere_tells_its_live_lease(tmp_path: Path) -> None:
    clock = ManualClock()
    database = made(tmp_path, clock)

    seen = glance(database.path, RUN, clock, thorough=True)

    assert seen is not None
    assert seen.lease is not None
    assert (seen.lease.holder, seen.lease.epoch, seen.newest_state, seen.faults) == ("somebody", 1, None, ())
    assert seen.is_live
    clock.advance(LEASE_MS / 1000)
    later = glance(database.path, RUN, clock)
    assert later is not None
    assert (later.lease, later.is_live) == (seen.lease, False)
    database.close()


def test_a_file_that_nobody_has_open_is_left_as_it_lies(tmp_path: Path) -> None:
    database = made(tmp_path, ManualClock())
    database.release("somebody", 1)
    database.close()
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.iterdir()}

    seen = glance(database.path, RUN, ManualClock(), thorough=True)

    assert seen is not None
    assert not seen.is_live
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.iterdir()} == before


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").touch()

    assert glance(tmp_path / "run.sqlite", RUN, ManualClock()) == Glance(None, is_live=False, newest_state=None)


def test_what_is_no_database_of_ours_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.sqlite"
    file.write_bytes(b"not a database" * 99)

    with pytest.raises(InvalidData, match=r"run\.sqlite is damaged, or no database"):
        glance(file, RUN, ManualClock())
