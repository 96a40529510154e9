"""Retention: what it would do, what it does, what it leaves alone, and what a fault in the midst of it leaves behind."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.engine.history.pruning import delete, slim
from treadle.engine.history.reports import PruneResult, RetentionPlan
from treadle.engine.history.retention import RunRetention
from treadle.graph.errors import InvalidData, InvalidInput, RunBusy
from treadle.graph.jsontext import Json, dumps
from treadle.graph.status import RunStatus
from treadle.storage.run_deletion import unfinished_deletions
from treadle.storage.runs import EVENTS, RECORD, RunRecord
from treadle.testkit.faults import Operation

from ...storage.run_shelf import HEAVY
from .desk import Desk

KEEP: dict[str, Json] = {"keepRecentTerminalRuns": 2, "keepFullRecentRuns": 1}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk.at(tmp_path)


async def plan(desk: Desk, retention: Any = None, **more: Any) -> RetentionPlan:
    return await RunRetention(desk.services).plan(KEEP if retention is None else retention, **more)


async def apply(desk: Desk, retention: Any = None) -> PruneResult:
    return await RunRetention(desk.services).apply(KEEP if retention is None else retention)


def actions(found: RetentionPlan) -> dict[str, str]:
    return {each.run.entry.id: str(each.action) for each in found.runs}


async def test_the_plan_over_every_kind_of_run(desk: Desk, snapshot: SnapshotAssertion) -> None:
    every_kind(desk)
    before = desk.shelf.files()

    found = await plan(desk, {"keepRecentTerminalRuns": 3, "keepFullRecentRuns": 1})

    assert found.to_json() == snapshot
    after = {path: data for path, data in desk.shelf.files().items() if not path.startswith("index/run-summaries/")}
    assert {path: data for path, data in after.items() if ".sqlite" not in path} == {
        path: data for path, data in before.items() if ".sqlite" not in path
    }


async def test_a_pass_slims_deletes_and_leaves_nothing_to_do(desk: Desk) -> None:
    full, slimmed, gone = (desk.shelf.put(f"run_{number}", created=number) for number in (3, 2, 1))

    result = await apply(desk)

    assert (result.deleted, result.slimmed, result.failures) == (1, 1, ())
    assert desk.listed() == ["run_3", "run_2"]
    assert desk.names(slimmed) == [EVENTS, RECORD]
    assert desk.names(full) == sorted({path.split("/")[0] for path in (*HEAVY, EVENTS, RECORD)})
    assert not desk.shelf.store.folder(gone).exists()
    assert actions(result.plan) == {"run_3": "keep", "run_2": "keep"}
    assert [str(each.reason) for each in result.plan.runs] == ["within_full_retention_window", "already_slim"]


async def test_a_second_pass_changes_nothing(desk: Desk) -> None:
    every_kind(desk)
    await apply(desk)
    before = desk.shelf.files()

    again = await apply(desk)

    assert (again.deleted, again.slimmed, again.failures) == (0, 0, ())
    assert desk.shelf.files() == before


async def test_a_slimmed_run_says_when_it_was_and_stays_otherwise_as_it_was(desk: Desk) -> None:
    record = desk.shelf.put("run_1", commits=2)

    await apply(desk, {"keepRecentTerminalRuns": 1, "keepFullRecentRuns": 0})
    slimmed = desk.shelf.store.load(record.id)

    assert slimmed.slimmed_at == "2026-01-01T00:00:00.000Z"
    assert (slimmed.updated_at, slimmed.status) == (record.updated_at, record.status)
    assert desk.services.summaries.of(slimmed).commit_count == 2


async def test_the_persistent_files_of_a_chat_stay(desk: Desk) -> None:
    record = desk.shelf.put("run_1")
    chat = desk.shelf.store.chat_folder(record.workspace_id)
    kept = [chat / "persist" / "notes.md", chat / "persistent-states" / "run_1" / "manifest.json"]
    for file in kept:
        desk.shelf.disk.replace(file, b"{}")

    await apply(desk, {"keepRecentTerminalRuns": 0, "keepFullRecentRuns": 0})

    assert desk.listed() == []
    assert all(file.exists() for file in kept)


async def test_a_promotion_that_needs_the_runs_files_keeps_it(desk: Desk) -> None:
    record = desk.shelf.put("run_1", status=RunStatus.CANCELLED)
    states = desk.shelf.store.chat_folder(record.workspace_id) / "persistent-states"
    intent: dict[str, Json] = {"stateId": "run_1", "changes": []}
    desk.shelf.disk.replace(states / "promotion.json", dumps(intent))
    nothing = {"keepRecentTerminalRuns": 0, "keepFullRecentRuns": 0}

    kept = await apply(desk, nothing)
    desk.shelf.disk.replace(states / "run_1" / "manifest.json", dumps(intent))
    done = await apply(desk, nothing)

    assert [(each.run_id, str(each.obstacle)) for each in kept.plan.blocked] == [("run_1", "promotion_pending")]
    assert (kept.deleted, done.deleted) == (0, 1)


async def test_an_ended_run_that_somebody_holds_is_left_alone_until_they_let_go(desk: Desk) -> None:
    record = desk.shelf.put("run_1")
    desk.driven(record)
    nothing = {"keepRecentTerminalRuns": 0, "keepFullRecentRuns": 0}

    held = await apply(desk, nothing)
    desk.clock.advance(31)
    free = await apply(desk, nothing)

    assert [(each.run_id, str(each.obstacle)) for each in held.plan.blocked] == [("run_1", "active_run")]
    assert (held.deleted, free.deleted) == (0, 1)


async def test_a_run_that_this_very_engine_holds_is_left_alone(desk: Desk) -> None:
    """Its own lease would be no obstacle to an engine: retention goes under a name of its own."""
    record = desk.shelf.put("run_1")
    (entry,) = desk.services.index.look().entries
    desk.driven(record, holder=desk.services.holder)

    found = await plan(desk, {"keepRecentTerminalRuns": 0, "keepFullRecentRuns": 0})

    assert [str(each.obstacle) for each in found.blocked] == ["active_run"]
    with pytest.raises(RunBusy):
        delete(desk.services, entry)


async def test_a_run_that_is_taken_between_plan_and_deed_is_not_touched(desk: Desk) -> None:
    record = desk.shelf.put("run_1")
    (entry,) = desk.services.index.look().entries
    desk.driven(record)
    before = desk.shelf.files()

    for act in (slim, delete):
        with pytest.raises(RunBusy):
            act(desk.services, entry)

    assert desk.shelf.files() == before


async def test_a_run_that_was_damaged_between_plan_and_deed_is_not_touched(desk: Desk) -> None:
    record = desk.shelf.put("run_1")
    (entry,) = desk.services.index.look().entries
    (desk.shelf.store.folder(record) / EVENTS).write_bytes(b"rot\n{}\n")
    before = desk.shelf.files()

    for act in (slim, delete):
        with pytest.raises(InvalidData, match="journal is damaged"):
            act(desk.services, entry)

    assert desk.shelf.files() == before


async def test_one_failure_is_told_and_stops_no_other(desk: Desk) -> None:
    for number in range(4):
        desk.shelf.put(f"run_{number}", created=number)
    desk.shelf.disk.fail("move", when="run_1.json", error=errno.EACCES)

    result = await apply(desk, {"keepRecentTerminalRuns": 1, "keepFullRecentRuns": 1})

    assert result.deleted == 2
    assert [each.to_json() for each in result.failures] == [
        {
            "runId": "run_1",
            "action": "delete_run",
            "code": "agent.storage_failed",
            "message": "deleting run run_1: Permission denied",
        }
    ]
    assert actions(result.plan) == {"run_3": "keep", "run_1": "delete_run"}


Deed = tuple[Operation, int]


def deeds(desk: Desk) -> list[Deed]:
    """The operations that change something, each by its number among its kind."""
    counts: dict[Operation, int] = {}
    found: list[Deed] = []
    for touch in desk.shelf.disk.log:
        if touch.operation in ("replace", "move", "remove"):
            found.append((touch.operation, counts.get(touch.operation, 0)))
            counts[touch.operation] = counts.get(touch.operation, 0) + 1
    return found


async def test_a_fault_at_any_operation_leaves_what_the_next_pass_finishes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def laid_down() -> tuple[Desk, list[RunRecord]]:
        desk = Desk.at(tmp_path_factory.mktemp("data"))
        records = [desk.shelf.put(f"run_{number}", created=number, commits=1) for number in (3, 2, 1)]
        desk.driven(records[2])
        desk.clock.advance(31)
        desk.shelf.disk.log.clear()
        return desk, records

    whole, _ = laid_down()
    await apply(whole)
    wanted = list(whole.shelf.files())

    for operation, number in deeds(whole):
        desk, records = laid_down()
        desk.shelf.disk.fail(operation, skip=number, times=1, error=errno.EIO)
        await apply(desk)
        after_fault = desk.listed()

        assert set(after_fault) >= {"run_3", "run_2"}
        assert (await RunRetention(desk.services).plan(KEEP)).counts["blocked"] == 0
        assert len(unfinished_deletions(desk.shelf.store)) + ("run_1" in after_fault) in (0, 1)
        desk.clock.advance(31)
        again = await apply(desk)
        assert (again.failures, desk.listed(), list(desk.shelf.files())) == ((), ["run_3", "run_2"], wanted), (
            operation,
            number,
        )
        assert desk.names(records[1]) == [EVENTS, RECORD]


async def test_the_counts_are_of_all_runs_and_the_details_are_cut(desk: Desk) -> None:
    for number in range(5):
        desk.shelf.put(f"run_{number}", created=number)
    desk.shelf.put("run_9", status=RunStatus.CALLING_MODEL)

    cut = await plan(desk, detail_limit=2)

    assert cut.counts == {
        "keep": 1,
        "slim_heavy_artifacts": 1,
        "delete_run": 3,
        "blocked": 1,
        "unfinishedDeletions": 0,
    }
    assert actions(cut) == {"run_2": "delete_run", "run_1": "delete_run"}
    assert cut.omitted == 3
    assert (await plan(desk, detail_limit=0)).omitted == 6


async def test_the_settings_file_decides_where_the_caller_says_nothing(desk: Desk) -> None:
    for number in range(3):
        desk.shelf.put(f"run_{number}", created=number)
    desk.settings(keepRecentTerminalRuns=1, keepFullRecentRuns=1)

    assert (await RunRetention(desk.services).plan()).counts["delete_run"] == 2
    assert (await plan(desk, {"keepRecentTerminalRuns": 2})).counts["delete_run"] == 1


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({"retention": {"keepRecentTerminalRuns": -1}}, "agent.retention_invalid", "retention.keepRecentTerminalRuns"),
        ({"retention": {"keepRecentTerminalRuns": 10_001}}, "agent.retention_invalid", "from 0 to 10000"),
        ({"retention": {"keepFullRecentRuns": "2"}}, "agent.retention_invalid", "not '2'"),
        ({"retention": {"keepFullRecentRuns": True}}, "agent.retention_invalid", "not True"),
        ({"retention": {"keepRecentTerminalRuns": 5}}, "agent.retention_invalid", "must not be more than"),
        ({"retention": {"keepAll": 5}}, "agent.retention_invalid", "retention.keepAll is not a known field"),
        ({"retention": []}, "agent.retention_invalid", "must be an object"),
        ({"detail_limit": 1001}, "agent.retention_detail_limit_invalid", "from 0 to 1000, not 1001"),
        ({"detail_limit": -1}, "agent.retention_detail_limit_invalid", "not -1"),
    ],
)
async def test_what_can_not_be_asked_is_refused_by_its_field(
    desk: Desk, asked: dict[str, Any], code: str, words: str
) -> None:
    desk.shelf.put("run_1")
    before = desk.shelf.files()
    ask: list[Callable[..., Any]] = [RunRetention(desk.services).plan, RunRetention(desk.services).apply]

    for each in ask:
        with pytest.raises(InvalidInput) as refused:
            await each(**asked)
        assert refused.value.error_code == code
        assert words in refused.value.message
    assert desk.shelf.files() == before


def every_kind(desk: Desk) -> None:
    """Runs that end well and badly, and all that retention must leave alone."""
    shelf = desk.shelf
    statuses = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.PARTIAL_SUCCESS)
    for number in range(6):
        shelf.put(
            f"run_{number}", created=number, ended=30 - number, status=statuses[number % 4], chat=f"chat-{number % 2}"
        )
    shelf.put("run_bare", created=9, ended=29, heavy=False)
    shelf.put("run_left", created=9, status=RunStatus.CALLING_MODEL)
    desk.driven(shelf.put("run_held", created=9))
    shelf.put("run_endless", created=9, ends=False)
    torn = shelf.store.folder(shelf.put("run_torn", created=9)) / EVENTS
    torn.write_bytes(torn.read_bytes()[:-20])
    rotten = shelf.store.folder(shelf.put("run_rotten", created=8)) / EVENTS
    rotten.write_bytes(b"rot\n" + rotten.read_bytes().split(b"\n", 1)[1])
    shelf.disk.remove(shelf.store.folder(shelf.put("run_gone", created=9)))
    (shelf.store.folder(shelf.put("run_bad_record", created=1)) / RECORD).write_bytes(b"{")
    shelf.store.index_file(shelf.put("run_bad_index").id).write_bytes(b"{")
