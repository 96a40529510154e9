"""A run that was left goes on from where it stood: what was done is not done again."""

from __future__ import annotations

import pytest

from treadle.graph.errors import JournalDamaged, NotFound
from treadle.graph.events import EventType
from treadle.graph.ports import CommitReceipt, CommitRequest
from treadle.graph.status import RunStatus
from treadle.storage.journal import Entry, Journal

from ..scenarios import words
from ..scenarios.hosts import SlowHost, never
from ..scenarios.script import Step
from ..scenarios.stage import RUN, Played, Stage


async def test_an_attempt_that_was_not_stored_is_asked_again_and_a_stored_one_is_not(stage: Stage) -> None:
    await _leave(stage, words.WRITE, never)
    played = await _resume(stage, words.COMMIT_AND_FINISH)

    assert played.requests == 3
    assert _attempts(played) == [(1, 1), (2, 1)]
    _ended_as_ever(played)


async def test_a_second_attempt_that_was_left_is_made_again_as_the_second(stage: Stage) -> None:
    await _leave(stage, words.BUSY, never)
    played = await _resume(stage, words.WRITE, words.COMMIT_AND_FINISH)

    assert _attempts(played) == [(1, 1), (1, 2), (2, 1)]
    assert played.types.count("model_call_retry_scheduled") == 1
    assert played.messages[-1]["mes"] == words.DRAFT


async def test_an_attempt_that_is_told_to_have_failed_is_not_made_again(stage: Stage) -> None:
    await _leave(stage, words.BUSY, never)
    stage.forget_after("model_call_attempt_failed")
    played = await _resume(stage, words.WRITE, words.COMMIT_AND_FINISH)

    assert played.requests == 4  # the one that was busy, the one that was left, and two of the second engine
    assert _attempts(played) == [(1, 1), (1, 2), (2, 1)]
    assert played.types.count("model_call_attempt_failed") == 1
    assert played.types.count("model_call_retry_scheduled") == 1


async def test_a_wait_for_the_next_attempt_is_waited_again(stage: Stage) -> None:
    stage = Stage(stage.root.parent / "waiting", sleepers_wait=True)
    async with stage.show(words.BUSY) as show:
        await show.start()
        await stage.asleep()
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.resume()
        await stage.asleep()
        stage.clock.advance(3)
        played = await show.end()

    assert stage.clock.slept == [3, 3]
    assert _attempts(played) == [(1, 1), (1, 2), (2, 1)]
    assert played.types.count("model_call_retry_scheduled") == 1


async def test_a_run_that_is_left_again_and_again_comes_to_the_same_end(stage: Stage) -> None:
    await _leave(stage, never)
    for step in (words.WRITE, words.COMMIT, words.WRITE_CODA, words.COMMIT_CODA):
        async with stage.show(step, never) as show:
            await show.resume()
            await show.asked(2)
    played = await _resume(stage, words.FINISH)

    assert played.types.count("run_resumed") == 5
    assert [event.seq for event in played.events] == list(range(1, len(played.events) + 1))
    assert _attempts(played) == [(number, 1) for number in range(1, 6)]
    assert [message["mes"] for message in played.messages[2:]] == [words.DRAFT + words.CODA]


class Forgetful(SlowHost):
    """It saves the text, but its answer never comes."""

    async def commit(self, request: CommitRequest) -> CommitReceipt:
        await super().commit(request)
        self.reached.set()
        return await never()


async def test_a_commit_whose_answer_was_lost_is_asked_again_under_its_id_and_stands_once(stage: Stage) -> None:
    first, second = Forgetful(stage.host), SlowHost(stage.host)
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH, host=first) as show:
        await show.start()
        await first.reached.wait()
    async with stage.show(host=second) as show:
        await show.resume()
        played = await show.end()

    assert [request.payload["commitId"] for request in first.commits] == [
        request.payload["commitId"] for request in second.commits
    ]
    _ended_as_ever(played)


async def test_a_remote_host_may_answer_after_the_resume(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH, remote=True) as show:
        await show.start()
        asked = await show.until("chat_commit_requested")
    async with stage.show(remote=True) as show:
        await show.resume()
        await show.until("run_resumed")
        await show.engine.resolve_agent_chat_commit(RUN, asked.payload["commitId"], message_id="2")
        asked = await show.until("persistent_state_metadata_update_requested")
        await show.engine.resolve_persistent_state_metadata_update(RUN, asked.payload["updateId"])
        played = await show.end()

    assert played.types.count("chat_commit_requested") == 1
    assert played.types[-1] == "run_completed"


async def test_a_run_that_lost_its_database_is_walked_again_and_repeats_nothing(stage: Stage) -> None:
    await _leave(stage, words.WRITE, words.COMMIT, never)
    for file in stage.run_folder().glob("run.sqlite*"):
        file.unlink()
    played = await _resume(stage, words.FINISH)

    assert played.requests == 4
    assert played.types.count("run_resumed") == 1
    assert len(played.messages) == 3
    assert played.types.count("chat_commit_requested") == played.types.count("workspace_file_written") == 1
    assert played.types[-1] == "run_completed"


async def test_a_cancel_that_was_asked_for_before_the_crash_is_obeyed_after_it(stage: Stage) -> None:
    await _leave(stage, words.WRITE, never)
    _append(stage, Entry(EventType.RUN_CANCEL_REQUESTED, None))
    played = await _resume(stage)

    assert played.record is not None
    assert played.record.status is RunStatus.CANCELLED
    assert played.types[-2:] == ["status_changed", "run_cancelled"]


async def test_a_torn_last_line_is_cut_off_and_told(stage: Stage) -> None:
    await _leave(stage, words.WRITE, never)
    with (stage.run_folder() / "events.jsonl").open("ab") as journal:
        journal.write(b'{"seq":27,"id":"evt_')
    played = await _resume(stage, words.COMMIT_AND_FINISH)

    assert played.types.count("journal_tail_repaired") == 1
    assert played.types[-1] == "run_completed"


async def test_a_journal_that_is_damaged_elsewhere_is_refused_and_the_run_is_let_go(stage: Stage) -> None:
    await _leave(stage, words.WRITE, never)
    journal = stage.run_folder() / "events.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"run_created"', b'"run_cre', 1))
    for _ in range(2):
        async with stage.show() as show:
            with pytest.raises(JournalDamaged):
                await show.resume()


async def test_an_answer_that_was_altered_on_disk_is_not_used(stage: Stage) -> None:
    await _leave(stage, words.WRITE, never)
    body = stage.run_folder() / "model-responses" / "round-001.body"
    body.write_bytes(body.read_bytes().replace(b"tide", b"moon"))
    played = await _resume(stage)

    assert played.requests == 2
    assert played.events[-1].type == "run_failed"
    assert played.events[-1].payload["code"] == "model.native_metadata_lost"


async def test_a_change_that_a_crash_hid_stops_the_run_where_the_file_does_not_tell(stage: Stage) -> None:
    """The call was begun; now the file is neither as it was before nor as the call leaves it."""
    await _leave(stage, words.WRITE, never)
    stage.forget_after("tool_call_started")
    (stage.run_folder() / "output" / "main.md").write_text("somebody else's")
    played = await _resume(stage)

    assert played.events[-1].payload["code"] == "agent.effect_unknown"
    assert played.files["output/main.md"] == "somebody else's"


@pytest.mark.parametrize("done", [True, False])
async def test_a_change_that_a_crash_hid_is_made_once_where_the_file_tells(stage: Stage, done: bool) -> None:
    await _leave(stage, words.WRITE, never)
    stage.forget_after("tool_call_started")
    if not done:
        (stage.run_folder() / "output" / "main.md").unlink()
    stage.disk.log.clear()
    played = await _resume(stage, words.COMMIT_AND_FINISH)

    writes = [touch for touch in stage.disk.log if touch.operation == "replace" and touch.path.name == "main.md"]
    assert len(writes) == (0 if done else 1)
    assert played.files == {"output/main.md": words.DRAFT}
    _ended_as_ever(played)


async def test_the_index_of_a_run_that_ended_is_brought_to_its_end(stage: Stage) -> None:
    """The process was killed between the record and its copy."""
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    (index,) = stage.root.glob("*/*/index/runs/*.json")
    ended = index.read_bytes()
    index.write_bytes(ended.replace(b'"completed"', b'"finishing"'))
    async with stage.show() as show:
        await show.resume()

    assert index.read_bytes() == ended


async def test_a_run_that_nobody_knows_can_not_go_on(stage: Stage) -> None:
    async with stage.show() as show:
        with pytest.raises(NotFound):
            await show.resume("run_x")


async def _leave(stage: Stage, *steps: Step) -> None:
    """Start the run, and close its engine when the model has been asked for the last step."""
    async with stage.show(*steps) as show:
        await show.start()
        await show.asked(len(steps))


async def _resume(stage: Stage, *steps: Step) -> Played:
    async with stage.show(*steps) as show:
        await show.resume()
        return await show.end()


def _attempts(played: Played) -> list[tuple[int, int]]:
    started = (event.payload for event in played.events if event.type == "model_call_attempt_started")
    return [(told["round"], told["attempt"]) for told in started]


def _ended_as_ever(played: Played) -> None:
    """As the happy path, but for the resumes."""
    assert [event.seq for event in played.events] == list(range(1, len(played.events) + 1))
    assert len([kind for kind in played.types if kind not in ("run_resumed", "status_changed")]) == 54 - 13
    assert played.types[-1] == "run_completed"
    assert [message["mes"] for message in played.messages[2:]] == [words.DRAFT]


def _append(stage: Stage, *entries: Entry) -> None:
    path = stage.run_folder() / "events.jsonl"
    Journal(path, run_id=RUN, disk=stage.disk, clock=stage.clock, ids=stage.ids).append(entries)
