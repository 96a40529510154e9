"""Runs that were left behind: which there are, what they wait for, and going on with all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.engine.recovering import InterruptedRun, Recovery
from treadle.graph.errors import InvalidInput
from treadle.graph.status import RunStatus
from treadle.storage.database import RunDatabase
from treadle.storage.disk import RealDisk

from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.people import asking
from ..scenarios.script import Script, Step
from ..scenarios.stage import RUN, Stage


async def test_where_every_run_has_ended_or_is_driven_none_is_interrupted(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show(never) as show, stage.engine() as other:
        await show.start(runId="driven")
        await show.asked(1)

        assert await show.engine.recover() == ()
        assert await other.recover() == ()


async def test_a_run_that_was_left_is_told_with_what_was_last_journalled(stage: Stage) -> None:
    await _leave(stage, words.WRITE, never)
    (found,) = await _recover(stage)
    workspace = stage.run_folder().parents[1].name

    assert found.to_json() == {
        "runId": RUN,
        "workspaceId": workspace,
        "status": "calling_model",
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "lastEvent": {"seq": 26, "type": "model_call_attempt_started"},
        "waitingFor": None,
        "resumed": False,
        "error": None,
    }


async def test_a_run_whose_driver_was_killed_is_free_when_its_lease_has_run_out(stage: Stage) -> None:
    await _leave(stage, never)
    database = RunDatabase(stage.run_folder() / "run.sqlite", clock=stage.clock)
    database.acquire("somebody who was killed")
    database.close()

    assert await _recover(stage) == ()
    stage.clock.advance(31)
    assert [run.run_id for run in await _recover(stage)] == [RUN]


async def test_what_a_run_waits_for_is_told_also_after_resumes(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH, remote=True) as show:
        await show.start(runId="commit")
        await show.until("chat_commit_requested", "commit")
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH, remote=True) as show:
        await show.start(runId="note")
        asked = await show.until("chat_commit_requested", "note")
        await show.engine.resolve_agent_chat_commit("note", asked.payload["commitId"], message_id="2")
        await show.until("persistent_state_metadata_update_requested", "note")
    async with stage.show(words.WRITE) as show:
        await show.start(runId="person", profile=asking("mutating"))
        await show.until("tool_call_awaiting_approval", "person")
    async with stage.show(remote=True) as show:
        await show.resume("person")

    found = {run.run_id: (run.waiting_for, run.last_type) for run in await _recover(stage)}
    assert found == {
        "commit": ("host_commit", "chat_commit_requested"),
        "note": ("host_metadata", "persistent_state_metadata_update_requested"),
        "person": ("approval", "tool_call_awaiting_approval"),
    }


async def test_those_that_have_waited_longest_come_first(stage: Stage) -> None:
    for name in ("c", "a", "b"):
        await _leave(stage, never, run_id=name)
        stage.clock.advance(10)

    assert [run.run_id for run in await _recover(stage)] == ["c", "a", "b"]


def _break_journal(folder: Path, _index: Path) -> None:
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "events.jsonl").write_bytes(b"".join([*lines[:-1], b"?\n"]))


def _break_record(folder: Path, _index: Path) -> None:
    (folder / "run.json").write_text("{}")


def _break_index(_folder: Path, index: Path) -> None:
    index.write_text("{")


def _break_database(folder: Path, _index: Path) -> None:
    (folder / "run.sqlite").write_bytes(b"no database" * 1000)


def _lose_folder(folder: Path, _index: Path) -> None:
    RealDisk().remove(folder)


@pytest.mark.parametrize(
    ("damage", "says", "status"),
    [
        (_break_journal, "the journal is damaged at byte offset", RunStatus.CALLING_MODEL),
        (_break_database, "run.sqlite is damaged", RunStatus.CALLING_MODEL),
        (_break_record, "broken/run.json is not a run record", None),
        (_break_index, "runs/broken.json is not a run record", None),
        (_lose_folder, "its folder is gone", None),
    ],
)
async def test_a_run_whose_files_are_damaged_is_listed_with_what_is_wrong_and_stops_no_other(
    stage: Stage, damage: Callable[[Path, Path], None], says: str, status: RunStatus | None
) -> None:
    for name in ("broken", "sound"):
        await _leave(stage, never, run_id=name)
    damage(stage.run_folder("broken"), next(stage.root.glob("*/*/index/runs/broken.json")))
    async with _entering(stage, "resume", never) as engine:
        found = {run.run_id: run for run in engine.recovered}

    assert found.keys() == {"broken", "sound"}
    assert (found["sound"].resumed, found["sound"].error) == (True, None)
    broken = found["broken"]
    assert (broken.status, broken.resumed) == (status, False)
    assert broken.error is not None
    assert says in broken.error.message
    assert broken.to_json()["error"] == {"code": broken.error.error_code, "message": broken.error.message}


async def test_an_engine_that_is_entered_does_nothing_unless_it_is_asked_to(stage: Stage) -> None:
    await _leave(stage, never)
    journal = (stage.run_folder() / "events.jsonl").read_bytes()
    async with stage.engine() as engine:
        assert engine.recovered == ()
    async with _entering(stage, "list") as engine:
        assert [(run.run_id, run.resumed) for run in engine.recovered] == [(RUN, False)]

    assert (stage.run_folder() / "events.jsonl").read_bytes() == journal


async def test_an_engine_can_go_on_with_every_interrupted_run_when_it_is_entered(stage: Stage) -> None:
    for name in ("one", "two"):
        await _leave(stage, words.WRITE, never, run_id=name)
    async with _entering(stage, "resume", words.FINISH, words.FINISH, host=False) as engine:
        ends = [(await engine.wait(run.run_id)).status for run in engine.recovered if run.resumed]

    assert len(ends) == 2
    assert {status.is_terminal for status in ends} == {True}


async def test_a_run_that_is_not_to_go_on_is_told_and_the_others_do(stage: Stage) -> None:
    await _leave(stage, never, run_id="changed")
    frozen = stage.run_folder("changed") / "input" / "resolved_profile.json"
    frozen.write_bytes(frozen.read_bytes() + b"\n")
    await _leave(stage, never, run_id="sound")
    async with _entering(stage, "resume", never) as engine:
        told = {run.run_id: run.error and run.error.error_code for run in engine.recovered}

    assert told == {"changed": "agent.resume_profile_changed", "sound": None}


async def test_a_run_whose_journal_has_the_end_is_settled(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    stage.forget_the_end()
    async with _entering(stage, "resume") as engine:
        (found,) = engine.recovered
        record = await engine.read_run(RUN)

    assert (found.status, found.last_type, found.resumed) == (RunStatus.FINISHING, "run_completed", True)
    assert record.status is RunStatus.COMPLETED


async def test_a_run_that_was_killed_before_its_first_event_is_one_too(stage: Stage) -> None:
    await _leave(stage, never)
    (stage.run_folder() / "events.jsonl").unlink()
    (found,) = await _recover(stage)

    assert (found.last_seq, found.last_type, found.error) == (None, None, None)


async def test_a_word_that_is_no_way_of_recovering_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidInput, match="recovery must be one of off, list, resume, not 'all'"):
        Engine(stage.root, recovery="all")  # type: ignore[arg-type]  # what a caller without types may give


async def _leave(stage: Stage, *steps: Step, run_id: str = RUN) -> None:
    async with stage.show(*steps) as show:
        await show.start(runId=run_id)
        await show.asked(len(steps))


async def _recover(stage: Stage) -> tuple[InterruptedRun, ...]:
    async with stage.engine() as engine:
        return await engine.recover()


def _entering(stage: Stage, recovery: Recovery, *steps: Step, host: bool = True) -> Engine:
    return Engine(
        stage.root, stage.host if host else None, transport=Script(*steps), clock=stage.clock, ids=stage.ids,
        disk=stage.disk, recovery=recovery,
    )  # fmt: skip
