"""What is seen of a process's work on its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.storage.database import RunDatabase
from treadle.testkit.crashes.watching import EFFECTS, Watch, WatchedDisk, timeless, watched_connect
from treadle.testkit.ports import ManualClock

RUN = "run_1"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "data/_tauritavern/agent-workspaces/chats/w/runs" / RUN
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(tmp_path, RUN)


def seen(watch: Watch) -> list[tuple[str, str, int]]:
    return [(operation.kind, operation.path, operation.nth) for operation in watch.operations]


def test_nothing_is_seen_before_the_watch_begins(watch: Watch, run: Path) -> None:
    disk = WatchedDisk(watch)
    disk.replace(run / "run.json", b"{}")
    watch.begin()
    disk.replace(run / "run.json", b"{}")

    assert seen(watch) == [("replace", "run.json", 1)]


def test_every_change_is_seen_and_made_and_a_path_says_whose_the_file_is(
    watch: Watch, run: Path, tmp_path: Path
) -> None:
    disk = WatchedDisk(watch)
    watch.begin()
    disk.make_folder(run / "output")
    disk.replace(run / "output" / "a", b"tea")
    disk.copy(run / "output" / "a", run / "output" / "b")
    disk.append(run / "output" / "b", b"pot")
    disk.truncate(run / "output" / "b", 4)
    disk.move(run / "output" / "b", run.parent.parent / "persist" / "b")
    disk.remove(run / "output" / "a")
    disk.replace(tmp_path / "chats" / "c", b"")

    assert seen(watch) == [
        ("make_folder", "output", 1),
        ("replace", "output/a", 1),
        ("replace", "output/b", 1),
        ("append", "output/b", 1),
        ("truncate", "output/b", 1),
        ("move", "shared: chats/w/persist/b", 1),
        ("remove", "output/a", 1),
        ("replace", "outside: chats/c", 1),
    ]
    assert (run.parent.parent / "persist" / "b").read_bytes() == b"teap"


def test_an_append_to_the_journal_is_seen_with_its_events_and_is_no_effect(
    watch: Watch, run: Path, tmp_path: Path
) -> None:
    disk = WatchedDisk(watch)
    watch.begin()
    disk.append(run / "events.jsonl", b'{"type":"run_created","payload":null}\n' * 2)
    disk.replace(run / "output" / "a", b"tea")

    first, second = watch.operations
    assert (first.lines, first.seq, second.seq) == (2, 0, 2)
    assert first.moments == ("before", "within", "at event 1", "after")
    assert (tmp_path / EFFECTS).read_bytes().count(b"\n") == 1


def test_every_commit_of_a_database_is_seen_whether_it_was_begun_or_not(watch: Watch, run: Path) -> None:
    clock = ManualClock()
    database = RunDatabase(run / "run.sqlite", clock=clock, connect=watched_connect(watch))
    watch.begin()
    epoch = database.acquire("me")
    made = len(watch.operations)
    with database.guarded(epoch):
        database.mark("a", "b")  # inside: the same commit
    insert = "INSERT INTO checkpoints (thread, ns, id, carries, body) SELECT ?, '', ?, 0, x''"
    database.save_row(insert, ("t", "1"))
    rows = database.rows("SELECT value FROM marks")
    database.close()

    assert rows == [("b",)]
    assert seen(watch)[made:] == [("commit", "run.sqlite", made + 1), ("commit", "run.sqlite", made + 2)]


def test_a_content_is_told_without_its_times() -> None:
    assert timeless(b'{"at":"2026-01-01T00:00:00.000Z"}') == timeless(b'{"at":"2026-01-01T01:00:00Z"}')
    assert timeless(b"tea") == b"tea"
