"""The run's database: one driver at a time, changes that a lost lease forbids, and what outlives a crash."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.graph.errors import InvalidData, LeaseLost, RunBusy, StorageFailed
from treadle.storage.database import COPY_LOG_AT, RunDatabase
from treadle.storage.leases import LEASE_MS, Lease

from .doubles import StillClock


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.sqlite"


@pytest.fixture
def one(path: Path, clock: StillClock) -> Iterator[RunDatabase]:
    database = RunDatabase(path, clock=clock, patience_s=0.2)
    yield database
    database.close()


@pytest.fixture
def other(path: Path, clock: StillClock) -> Iterator[RunDatabase]:
    """The same file, as another process sees it."""
    database = RunDatabase(path, clock=clock, patience_s=0.2)
    yield database
    database.close()


class TestLease:
    def test_each_driver_has_the_next_epoch(self, one: RunDatabase) -> None:
        first = one.acquire("a")
        again = one.acquire("a")
        one.release("a", again)

        assert (first, again, one.acquire("b")) == (1, 2, 3)

    def test_a_live_lease_refuses_another_holder(self, one: RunDatabase, other: RunDatabase, clock: StillClock) -> None:
        one.acquire("a")
        clock.seconds += LEASE_MS / 1000 - 0.001

        with pytest.raises(RunBusy) as refused:
            other.acquire("b")

        assert refused.value.error_code == "agent.run_busy"
        assert refused.value.details["holder"] == "a"
        assert one.acquire("a") == 2

    def test_an_expired_lease_is_free(self, one: RunDatabase, other: RunDatabase, clock: StillClock) -> None:
        one.acquire("a")
        clock.seconds += LEASE_MS / 1000

        assert other.lease() is None
        assert other.acquire("b") == 2

    def test_renewing_keeps_it(self, one: RunDatabase, other: RunDatabase, clock: StillClock) -> None:
        epoch = one.acquire("a")
        clock.seconds += 20
        one.renew("a", epoch)
        clock.seconds += 20

        assert other.lease() == Lease("a", 1, int((clock.seconds + 10) * 1000))
        with pytest.raises(RunBusy):
            other.acquire("b")

    def test_a_holder_that_was_overtaken_can_neither_renew_nor_release(
        self, one: RunDatabase, other: RunDatabase, clock: StillClock
    ) -> None:
        epoch = one.acquire("a")
        clock.seconds += 31
        other.acquire("b")

        with pytest.raises(LeaseLost):
            one.renew("a", epoch)
        one.release("a", epoch)
        lease = one.lease()

        assert lease is not None
        assert (lease.holder, lease.epoch) == ("b", 2)

    def test_many_that_want_a_new_run_at_once_get_one_driver(self, path: Path, clock: StillClock) -> None:
        ready = threading.Barrier(8)
        epochs: list[int] = []
        refused: list[RunBusy] = []

        def want(holder: str) -> None:
            database = RunDatabase(path, clock=clock)
            ready.wait()
            try:
                epochs.append(database.acquire(holder))
            except RunBusy as busy:
                refused.append(busy)
            database.close()

        _together(*(lambda holder=str(i): want(holder) for i in range(8)))

        assert epochs == [1]
        assert len(refused) == 7


class TestGuarded:
    def test_the_overtaken_holder_changes_nothing(
        self, one: RunDatabase, other: RunDatabase, clock: StillClock, tmp_path: Path
    ) -> None:
        old = one.acquire("a")
        clock.seconds += 31
        new: list[int] = []
        _together(lambda: new.append(other.acquire("b")))

        with pytest.raises(LeaseLost), one.guarded(old):
            (tmp_path / "effect").touch()
            one.put_receipt("effect", "done")
        with other.guarded(new[0]):
            other.put_receipt("theirs", "done")

        assert new == [old + 1]
        assert not (tmp_path / "effect").exists()
        assert (one.receipt("effect"), one.receipt("theirs")) == (None, "done")

    def test_nobody_takes_over_in_the_middle_of_a_change(
        self, one: RunDatabase, other: RunDatabase, clock: StillClock
    ) -> None:
        epoch = one.acquire("a")

        with one.guarded(epoch):
            clock.seconds += 31
            with pytest.raises(RunBusy):
                other.acquire("b")

        assert other.acquire("b") == 2

    def test_a_taker_waits_for_a_change_that_ends_in_time(
        self, path: Path, one: RunDatabase, clock: StillClock
    ) -> None:
        patient = RunDatabase(path, clock=clock)
        epoch = one.acquire("a")
        clock.seconds += 31
        inside, done, taken = threading.Event(), threading.Event(), list[tuple[int, bool]]()

        def change() -> None:
            with one.guarded(epoch):
                inside.set()
                done.wait(0.3)
                done.set()

        def take() -> None:
            inside.wait()
            taken.append((patient.acquire("b"), done.is_set()))

        _together(change, take)
        patient.close()

        assert taken == [(2, True)]

    def test_without_a_driver_nothing_may_be_changed(self, one: RunDatabase) -> None:
        with pytest.raises(LeaseLost), one.guarded(1):
            pass

    def test_an_error_in_the_body_undoes_what_it_recorded(self, one: RunDatabase) -> None:
        epoch = one.acquire("a")

        with pytest.raises(OSError, match="full"), one.guarded(epoch):
            one.put_receipt("effect", "done")
            with one.guarded(epoch):
                one.mark("inner", "x")
            raise OSError("full")
        with one.guarded(epoch):
            one.put_receipt("effect", "done later")

        assert (one.receipt("effect"), one.marked("inner")) == ("done later", None)

    def test_threads_of_one_process_take_turns(self, one: RunDatabase) -> None:
        epoch = one.acquire("a")

        def work(name: int) -> None:
            for i in range(50):
                with one.guarded(epoch):
                    one.put_receipt(f"{name}:{i}", "begun")
                    one.mark(f"{name}", str(i))
                one.renew("a", epoch)

        _together(*(lambda name=name: work(name) for name in range(6)))

        assert len(one.rows("SELECT key FROM receipts")) == 300

    def test_the_log_does_not_grow_with_the_changes(self, path: Path, one: RunDatabase) -> None:
        epoch = one.acquire("a")
        sizes: list[int] = []
        for i in range(4 * COPY_LOG_AT):
            with one.guarded(epoch):
                one.put_receipt(str(i), "x" * 100)
            if i % COPY_LOG_AT == COPY_LOG_AT - 1:
                sizes.append(path.with_name("run.sqlite-wal").stat().st_size)

        assert sizes[-1] < 2 * sizes[0]

    def test_a_process_that_dies_in_the_middle_leaves_nothing_and_no_lock(
        self, path: Path, one: RunDatabase, clock: StillClock
    ) -> None:
        died = _run(
            path,
            "epoch = database.acquire('a')",
            "database.put_receipt('before', 'x')",
            "with database.guarded(epoch): database.put_receipt('during', 'x'); os._exit(9)",
        )

        assert died.returncode == 9, died.stderr
        assert (one.receipt("before"), one.receipt("during")) == ("x", None)
        assert one.acquire("a") == 2


class TestMarksAndReceipts:
    def test_a_mark_is_seen_through_another_connection(self, one: RunDatabase, other: RunDatabase) -> None:
        one.acquire("a")

        other.mark("cancel", "asked")
        other.mark("cancel", "asked again")

        assert one.marked("cancel") == "asked again"
        assert one.marked("drain") is None

    def test_a_word_that_is_left_once_holds(self, one: RunDatabase, other: RunDatabase) -> None:
        left = [one.mark_once("approval:1:c", "yes"), other.mark_once("approval:1:c", "no")]

        assert left == [True, False]
        assert one.marked("approval:1:c") == "yes"

    def test_a_receipt_stands(self, one: RunDatabase) -> None:
        one.put_receipt("commit:1", "m1")
        one.put_receipt("commit:1", "m1")

        with pytest.raises(InvalidData):
            one.put_receipt("commit:1", "m2")
        assert one.receipt("commit:1") == "m1"

    @settings(max_examples=25, deadline=None)
    @given(st.dictionaries(st.text(), st.text(), min_size=1))
    def test_any_text_comes_back_as_it_was(self, receipts: dict[str, str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            database = RunDatabase(Path(folder) / "run.sqlite", clock=StillClock())
            for key, value in receipts.items():
                database.put_receipt(key, value)
            database.close()

            assert {key: database.receipt(key) for key in receipts} == receipts
            database.close()


class TestFull:
    """SQLite refuses more pages, as it does where the disk has none left."""

    def test_a_change_that_finds_no_room_is_refused_whole_and_made_when_there_is_some(self, one: RunDatabase) -> None:
        epoch = one.acquire("a")
        _allow(one, pages=1)
        with pytest.raises(StorageFailed, match=r"run\.sqlite: database or disk is full"), one.guarded(epoch):
            one.mark("small", "x")
            one.put_receipt("big", "x" * 100_000)
        between = one.marked("small"), one.receipt("big")
        _allow(one, pages=10_000)
        one.put_receipt("big", "x" * 100_000)

        assert between == (None, None)
        assert one.receipt("big") == "x" * 100_000

    def test_so_is_a_saved_state(self, one: RunDatabase) -> None:
        one.acquire("a")
        _allow(one, pages=1)
        row = ("t", "", "1", None, None, 0, b"x" * 100_000)
        with pytest.raises(StorageFailed, match="full"):
            one.save_row(
                "INSERT INTO checkpoints (thread, ns, id, parent, run, carries, body) SELECT ?,?,?,?,?,?,?", row
            )

        assert one.rows("SELECT id FROM checkpoints") == []


def _allow(database: RunDatabase, *, pages: int) -> None:
    """As many as there are, where there are more."""
    with database.saving() as connection:
        connection.execute(f"PRAGMA max_page_count = {pages}")


class TestFile:
    def test_reading_makes_no_file(self, path: Path, one: RunDatabase) -> None:
        assert (one.lease(), one.marked("cancel"), one.receipt("x"), one.rows("SELECT 1")) == (None, None, None, [])
        assert not path.exists()

    def test_a_closed_run_is_one_file_that_another_process_reads(self, path: Path, one: RunDatabase) -> None:
        one.put_receipt("end", "m7")
        one.close()
        alone = [file.name for file in path.parent.iterdir()]

        read = _run(path, "print(database.receipt('end'))")

        assert alone == ["run.sqlite"]
        assert read.stdout.strip() == "m7", read.stderr

    def test_a_live_run_is_read_by_another_process(self, path: Path, one: RunDatabase) -> None:
        epoch = one.acquire("a")

        with one.guarded(epoch):
            read = _run(path, "print(database.rows('SELECT holder, epoch FROM lease'))")

        assert read.stdout.strip() == "[('a', 1)]", read.stderr

    def test_what_is_no_database_is_told_so(self, path: Path, one: RunDatabase) -> None:
        path.write_bytes(b"{}" * 1000)

        with pytest.raises(InvalidData, match="no database"):
            one.acquire("a")

    def test_a_later_version_is_not_touched(self, path: Path, one: RunDatabase) -> None:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 99")
        connection.close()

        with pytest.raises(InvalidData, match="version 99"):
            one.lease()

    def test_a_missing_folder_is_a_failure_of_the_storage(self, tmp_path: Path, clock: StillClock) -> None:
        database = RunDatabase(tmp_path / "gone" / "run.sqlite", clock=clock)

        with pytest.raises(StorageFailed):
            database.mark("cancel", "asked")


def _together(*bodies: Callable[[], object]) -> None:
    """Each in a thread of its own; an error in one fails the test (pytest turns its warning into one)."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run(path: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """The lines in a new process, with `database` open on the file."""
    script = "\n".join(
        (
            "import os, sys, time",
            "from pathlib import Path",
            "from treadle.storage.database import RunDatabase",
            "class Clock:",
            "    def now(self): return 1767225600.25",
            "    def monotonic(self): return 0.0",
            "    async def sleep(self, seconds): pass",
            "database = RunDatabase(Path(sys.argv[1]), clock=Clock())",
            *lines,
        )
    )
    return subprocess.run(
        [sys.executable, "-c", script, str(path)], check=False, capture_output=True, text=True, timeout=60
    )
