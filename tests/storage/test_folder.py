"""A run's folder while it is driven: what a change that fails leaves behind, and what is refused after the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from treadle.graph.errors import JournalAppendFailed, LeaseLost, RunCancelled, StorageFailed
from treadle.graph.events import REWINDS, EventType
from treadle.graph.identity import RunId, WorkspaceId, chat_ref
from treadle.graph.ports import ChatHead
from treadle.graph.status import STATUS_OF_END, RunStatus
from treadle.storage.database import RunDatabase
from treadle.storage.disk import RealDisk
from treadle.storage.folder import Change, Do, Enter, Log, Put, RunEnded, RunFolder
from treadle.storage.journal import Journal
from treadle.storage.leases import LEASE_MS
from treadle.storage.runs import DATABASE, EVENTS, RunRecord, RunStore
from treadle.testkit.faults import FaultyDisk

from .chats.samples import CHAT_REF, STABLE_ID
from .doubles import CountedIds, StillClock

RECORD = RunRecord(
    id=RunId("run_1"),
    workspace_id=WorkspaceId("chat_0000000000000001"),
    stable_chat_id=STABLE_ID,
    chat_ref=chat_ref(CHAT_REF),
    generation_type="normal",
    profile_id="default-writer",
    presentation="foreground",
    status=RunStatus.FINISHING,
    created_at="2026-01-01T00:00:00.250Z",
    updated_at="2026-01-01T00:00:00.250Z",
    input_sha256="0" * 64,
    chat_head=ChatHead(0, None),
)
COMPLETE = (Enter(RunStatus.COMPLETED), Log(EventType.RUN_COMPLETED, None))
FAIL = (Enter(RunStatus.FAILED), Log(EventType.RUN_FAILED, {"code": "x"}))


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk(RealDisk())


@pytest.fixture
def folder(tmp_path: Path, disk: FaultyDisk, clock: StillClock) -> Iterator[RunFolder]:
    driven = _driven(tmp_path, disk, clock)
    yield driven
    driven.close()


class TestFailedChanges:
    def test_what_could_not_be_journalled_has_not_happened_so_the_run_may_end_another_way(
        self, folder: RunFolder, disk: FaultyDisk
    ) -> None:
        disk.fail("append", containing=b'"run_completed"')
        with pytest.raises(JournalAppendFailed):
            folder.apply(*COMPLETE)
        between = folder.record.status
        folder.apply(*FAIL)

        assert between is RunStatus.FINISHING
        assert _types(folder) == ["status_changed", "run_failed"]
        assert _saved_status(folder) == "failed"

    def test_its_status_is_taken_back_on_disk_too(self, folder: RunFolder, disk: FaultyDisk) -> None:
        before = folder.record.status
        disk.fail("append", times=1)
        with pytest.raises(JournalAppendFailed):
            folder.request_cancel()

        assert _saved_status(folder) == before
        assert folder.request_cancel()

    def test_a_resumed_run_whose_change_failed_may_still_enter_any_status(
        self, folder: RunFolder, disk: FaultyDisk
    ) -> None:
        folder.resumed = True
        folder.told = RunStatus.CALLING_MODEL
        disk.fail("append", times=1)
        with pytest.raises(JournalAppendFailed):
            folder.apply(Enter(RunStatus.DISPATCHING_TOOL))

        assert (folder.resumed, folder.told) == (True, RunStatus.CALLING_MODEL)

    def test_an_end_that_is_journalled_stands_also_where_its_record_can_not_be_saved(
        self, folder: RunFolder, disk: FaultyDisk
    ) -> None:
        disk.fail("replace", when="run.json", times=1)
        with suppress(StorageFailed):
            folder.apply(*COMPLETE)
        with pytest.raises(RunEnded):
            folder.apply(*FAIL)

        assert _types(folder) == ["status_changed", "run_completed"]


class TestAfterTheEnd:
    @pytest.fixture
    def ended(self, folder: RunFolder) -> RunFolder:
        folder.apply(*COMPLETE)
        return folder

    @pytest.mark.parametrize(
        "change",
        [Log(EventType.RUN_FAILED, {"code": "x"}), Put("output/main.md", b"late"), Do(lambda: pytest.fail("late"))],
        ids=["log", "put", "do"],
    )
    def test_nothing_is_written_put_or_done(self, ended: RunFolder, change: Change) -> None:
        with pytest.raises(RunEnded):
            ended.apply(change)

        assert _types(ended) == ["status_changed", "run_completed"]
        assert not ended.has("output/main.md")

    def test_only_that_it_was_rewound_may_be_told(self, ended: RunFolder) -> None:
        done: list[str] = []
        told = Log(EventType.WORKSPACE_ROLLBACK_STARTED, {"checkpointId": "cp_000001", "files": []})
        ended.rewind(told, Do(lambda: done.append(_types(ended)[-1])))

        assert done == ["workspace_rollback_started"]
        assert ended.record.status is RunStatus.COMPLETED
        assert ended.journal_end is RunStatus.COMPLETED

    @pytest.mark.parametrize("kind", sorted(set(EventType) - REWINDS))
    def test_nothing_else_can_be_told_as_a_rewind(self, ended: RunFolder, kind: EventType) -> None:
        with pytest.raises(RunEnded):
            ended.rewind(Log(EventType.WORKSPACE_ROLLBACK_COMPLETED, {}), Log(kind, {}))

        assert _types(ended) == ["status_changed", "run_completed"]

    @pytest.mark.parametrize("kind", sorted(REWINDS))
    def test_a_rewind_can_not_be_told_as_a_part_of_the_run(self, ended: RunFolder, kind: EventType) -> None:
        with pytest.raises(RunEnded):
            ended.apply(Log(kind, {}))

        assert _types(ended) == ["status_changed", "run_completed"]

    def test_a_rewind_is_for_whoever_holds_the_lease(self, ended: RunFolder, clock: StillClock) -> None:
        other = RunDatabase(ended.path / DATABASE, clock=clock)
        clock.seconds += LEASE_MS / 1000 + 1
        other.acquire("b")
        with pytest.raises(LeaseLost):
            ended.rewind(Do(lambda: pytest.fail("late")))
        other.close()

    def test_what_is_in_the_journal_is_no_change(self, ended: RunFolder) -> None:
        ended.apply(Enter(RunStatus.FAILED), *COMPLETE)

        assert ended.record.status is RunStatus.COMPLETED
        assert _types(ended) == ["status_changed", "run_completed"]


@pytest.mark.parametrize(("event", "status"), STATUS_OF_END.items())
def test_the_journal_tells_how_the_run_ended(folder: RunFolder, event: EventType, status: RunStatus) -> None:
    before = folder.journal_end
    folder.apply(Log(event, {"message": "the end"}))

    assert before is None
    assert folder.journal_end is status


def test_where_a_cancel_is_journalled_a_change_that_must_not_follow_it_is_not_made(folder: RunFolder) -> None:
    folder.request_cancel()
    with pytest.raises(RunCancelled):
        folder.apply(Log(EventType.CHAT_COMMIT_REQUESTED, {"commitId": "c"}), unless_cancelling=True)

    assert _types(folder) == ["run_cancel_requested", "status_changed"]


class TestClosed:
    def test_it_lets_go_also_where_the_disk_has_no_room_to_write_that_down(self, folder: RunFolder) -> None:
        folder.database.put_receipt("fill", "x" * 100)
        with folder.database.saving() as connection:
            connection.execute("DROP TABLE lease")  # the lease can't be given back
        folder.close()

        with pytest.raises(LeaseLost):
            folder.apply(*FAIL)

    def test_its_lease_is_not_taken_up_again_by_a_late_heartbeat(self, folder: RunFolder, clock: StillClock) -> None:
        other = RunDatabase(folder.path / DATABASE, clock=clock)
        folder.close()
        clock.seconds += LEASE_MS / 1000 / 2
        folder.renew_if_due()

        assert other.lease() is None
        other.close()

    def test_it_is_deaf_to_words_left_for_the_next_driver(self, folder: RunFolder, clock: StillClock) -> None:
        other = RunDatabase(folder.path / DATABASE, clock=clock)
        other.mark("cancel", "requested")
        before = folder.marked("cancel")
        folder.close()

        assert before
        assert not folder.marked("cancel")
        other.close()

    def test_nothing_is_changed_from_here_any_more(self, folder: RunFolder) -> None:
        folder.close()
        with pytest.raises(LeaseLost):
            folder.apply(*FAIL)

        assert _types(folder) == []


def _driven(root: Path, disk: FaultyDisk, clock: StillClock) -> RunFolder:
    """The folder of a run that is finishing, its lease ours and its journal empty."""
    store = RunStore(root, disk)
    store.save(RECORD)
    path = store.folder(RECORD)
    database = RunDatabase(path / DATABASE, clock=clock)
    return RunFolder(
        RECORD,
        store=store,
        disk=disk,
        journal=Journal(path / EVENTS, run_id=RECORD.id, disk=disk, clock=clock, ids=CountedIds()),
        database=database,
        clock=clock,
        holder="a",
        epoch=database.acquire("a"),
    )


def _types(folder: RunFolder) -> list[str]:
    return [event.type for event in folder.journal.read_all()]


def _saved_status(folder: RunFolder) -> str:
    status: str = json.loads((folder.path / "run.json").read_bytes())["status"]
    return status
