"""What a run came to: told by its journal, kept for runs that have ended, and never believed over the journal."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from treadle.graph.errors import JournalDamaged
from treadle.graph.jsontext import Json
from treadle.graph.status import RunStatus
from treadle.storage.run_summaries import CommittedMessage, Projection, RunSummaries, projected
from treadle.storage.runs import EVENTS

from .run_shelf import RunShelf, at, journal


@pytest.fixture
def shelf(tmp_path: Path) -> RunShelf:
    return RunShelf(tmp_path)


@pytest.fixture
def summaries(shelf: RunShelf) -> RunSummaries:
    return RunSummaries(shelf.store, shelf.disk)


def test_commits_the_last_message_and_the_end_are_told(shelf: RunShelf, summaries: RunSummaries) -> None:
    told = summaries.of(shelf.put("run_1", commits=2, ended=7))

    assert told == Projection(2, CommittedMessage("commit_2", "2", 2, at(0)), at(7))


def test_a_commit_that_names_no_message_counts_and_leaves_the_message_before() -> None:
    events: list[tuple[str, Json]] = [
        ("chat_commit_completed", {"commitId": "c1", "messageId": "8", "messageIndex": None}),
        ("chat_commit_completed", {"commitId": "c2", "messageId": None}),
        ("run_failed", {"message": '"type":"run_completed"'}),
    ]

    assert projected(journal("run_1", events, at(0), at(1))) == Projection(
        2, CommittedMessage("c1", "8", None, at(0)), at(1)
    )


def test_what_a_payload_says_of_types_is_no_event() -> None:
    events: list[tuple[str, Json]] = [
        ("tool_call_requested", {"type": "run_completed", "deep": [{"type": "run_failed"}]})
    ]

    assert projected(journal("run_1", events, at(0), at(1))) == Projection()


def test_what_is_told_after_the_end_does_not_move_it() -> None:
    events: list[tuple[str, Json]] = [("run_completed", None), ("run_failed", None)]

    assert projected(journal("run_1", events, at(0), at(1))).terminal_at == at(0)


def test_a_torn_last_line_is_not_there_and_a_damaged_one_is_told_by_its_place() -> None:
    whole = journal("run_1", [("run_created", None), ("run_completed", None)], at(0), at(1))

    assert projected(whole[:-20]).terminal_at is None
    assert projected(whole[:-1]).terminal_at == at(1)
    with pytest.raises(JournalDamaged, match=f"byte offset {len(whole) - len(whole.splitlines()[1]) - 1}:"):
        projected(whole[:-2] + b"\n" + whole)


def test_only_runs_that_have_ended_are_kept_and_read_no_journal_again(shelf: RunShelf, summaries: RunSummaries) -> None:
    running = shelf.put("run_1", status=RunStatus.CALLING_MODEL)
    ended, endless = shelf.put("run_2", commits=1), shelf.put("run_3", ends=False)
    told = [summaries.of(record) for record in (running, ended, endless)]
    shelf.disk.log.clear()

    assert [summaries.of(record) for record in (running, ended, endless)] == told
    journals = [touch.path.parent.name for touch in shelf.disk.log if touch.path.name == EVENTS]
    assert journals == ["run_1", "run_3"]
    assert [file for file in shelf.files() if "summaries" in file] == ["index/run-summaries/run_2.json"]
    assert json.loads(summaries.file(ended.id).read_bytes()) == {
        "schemaVersion": 1,
        "runId": "run_2",
        "sourceRunUpdatedAt": at(1),
        "commitCount": 1,
        "committedMessage": {"commitId": "commit_1", "messageId": "1", "messageIndex": 1, "committedAt": at(0)},
        "terminalAt": at(1),
    }


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (b"{", b"["),
        (b'"schemaVersion": 1', b'"schemaVersion": 2'),
        (b'"runId": "run_1"', b'"runId": "run_2"'),
        (b'"commitCount": 1', b'"commitCount": "1"'),
        (b'"terminalAt"', b'"terminal"'),
        (b'"messageId": "1"', b'"messageId": 1'),
    ],
)
def test_a_kept_one_that_is_damaged_is_made_anew(
    shelf: RunShelf, summaries: RunSummaries, was: bytes, now: bytes
) -> None:
    record = shelf.put("run_1", commits=1)
    told = summaries.of(record)
    good = summaries.file(record.id).read_bytes()
    summaries.file(record.id).write_bytes(good.replace(was, now, 1))

    assert summaries.of(record) == told
    assert summaries.file(record.id).read_bytes() == good


def test_a_kept_one_of_another_state_of_the_run_is_not_believed(shelf: RunShelf, summaries: RunSummaries) -> None:
    record = shelf.put("run_1", commits=1)
    summaries.of(record)
    shelf.put("run_1", commits=3, ended=5)

    assert summaries.of(replace(record, updated_at=at(5))).commit_count == 3


def test_a_folder_that_takes_no_files_is_read_all_the_same(shelf: RunShelf, summaries: RunSummaries) -> None:
    record = shelf.put("run_1", commits=1)
    shelf.disk.fail("replace", error=errno.EROFS)

    assert summaries.of(record).commit_count == 1
