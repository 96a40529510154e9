"""A fork stands where its origin stood, and goes on by itself; the origin is not touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.graph.errors import InvalidData, InvalidInput, NotFound, StorageFailed, TreadleError
from treadle.graph.jsontext import Json, loads
from treadle.graph.profiles.resolved import default_writer
from treadle.testkit.replies import call, calls

from ...scenarios import words
from ...scenarios.flow import flow
from ...scenarios.hosts import never
from ...scenarios.script import Step
from ...scenarios.stage import FORK, RUN, Played, Stage

TOGETHER = calls(
    call("workspace.write_file", path="output/main.md", content=words.DRAFT),
    call("workspace.write_file", path="output/coda.md", content=words.CODA),
    call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup"),
    call("workspace.commit"),
)
TEA = calls(call("workspace.write_file", path="output/main.md", content="Tea."))
ENDS = (words.WRITE, words.COMMIT, words.FINISH)


async def test_a_fork_at_a_checkpoint_goes_on_with_the_round_s_next_call(
    stage: Stage, snapshot: SnapshotAssertion
) -> None:
    await stage.play(TOGETHER, words.FINISH)

    played = await _fork(stage, words.FINISH, checkpoint_id="cp_000002")

    assert _tail(played) == snapshot


async def test_a_fork_between_rounds_asks_the_model_anew(stage: Stage, snapshot: SnapshotAssertion) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)

    played = await _fork(stage, words.WRITE_CODA, words.COMMIT_AND_FINISH, at_seq=23)

    assert _tail(played) == snapshot


async def test_a_fork_after_a_commit_must_commit_for_itself(stage: Stage, snapshot: SnapshotAssertion) -> None:
    """The first finish is refused: what its origin committed is its origin's."""
    parent = await stage.play(*ENDS)

    played = await _fork(stage, words.FINISH, words.COMMIT_AND_FINISH, at_seq=_seq(parent, "chat_commit_recorded"))

    assert _tail(played) == snapshot
    assert [message["extra"]["tauritavern"]["agent"]["runId"] for message in played.messages[2:]] == [RUN, FORK]


async def test_a_fork_under_another_profile_is_ruled_by_it_from_then_on(
    stage: Stage, snapshot: SnapshotAssertion
) -> None:
    parent = await stage.play(*ENDS)
    asked = words.profile(max_rounds=3)
    asked |= {"id": "terse", "instructions": {"agentSystemPrompt": "Be terse."}}
    asked["tools"]["deny"] = ["workspace.list_files"]
    asked["run"]["hydrateRounds"] = 0
    async with stage.show(words.LIST, words.COMMIT_AND_FINISH) as show:
        await show.fork(at_seq=_seq(parent, "model_request_created", nth=2), profile=asked)
        await show.engine.wait(FORK)
        bodies = [loads(request.body) for request in show.model.requests]
        played = await show.end(FORK)

    assert _tail(played) == snapshot
    assert bodies[0]["messages"][0]["content"] == "Be terse."
    assert "workspace_list_files" not in [tool["function"]["name"] for tool in bodies[0]["tools"]]
    assert played.record is not None
    assert played.record.profile_id == "terse"


async def test_rounds_that_are_over_are_told_as_they_were(stage: Stage) -> None:
    """Round 1 was closed with the file's text, whatever the new profile says; round 3 changed it, and is closed now."""
    await stage.play(words.WRITE, words.LIST, TEA, words.COMMIT_AND_FINISH)
    asked = words.profile()
    asked["run"]["hydrateRounds"] = 0
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        await show.fork(checkpoint_id="cp_000002", profile=asked)
        await show.engine.wait(FORK)
        told = loads(show.model.requests[0].body)["messages"]
        played = await show.end(FORK)

    (written,) = [message["content"] for message in told if "Current text of" in str(message["content"])]
    assert words.DRAFT in written
    assert played.types.count("context_tool_result_hydrated") == 1
    assert played.files == {"output/main.md": "Tea."}


@pytest.mark.slow
async def test_a_round_that_was_not_hydrated_stays_so(stage: Stage) -> None:
    asked = words.profile()
    asked["run"]["hydrateRounds"] = 0
    parent = await stage.play(words.WRITE, words.LIST, words.COMMIT_AND_FINISH, profile=asked)

    played = await _fork(
        stage, words.COMMIT_AND_FINISH, at_seq=_seq(parent, "tool_call_completed", nth=2), profile_id="default-writer"
    )

    assert "context_tool_result_hydrated" not in played.types
    assert played.types[-1] == "run_completed"


async def test_the_origin_is_not_touched(stage: Stage) -> None:
    parent = await stage.play(*ENDS)
    before = whole(stage.run_folder())

    await _fork(stage, words.COMMIT_AND_FINISH, checkpoint_id="cp_000001")

    assert whole(stage.run_folder()) == before
    assert parent.record is not None


async def test_a_fork_has_only_what_its_origin_had_by_then(stage: Stage) -> None:
    await stage.play(words.WRITE, words.WRITE_CODA, words.COMMIT_AND_FINISH)
    async with stage.show(never) as show:
        await show.fork(checkpoint_id="cp_000001")
        await show.asked(1)

        folder = stage.run_folder(FORK)
        assert stage.files(FORK) == {"output/main.md": words.DRAFT}
        assert sorted(path.name for path in (folder / "model-responses").iterdir()) == [
            "round-001.body", "round-001.json",
        ]  # fmt: skip
        assert len(list((folder / "tool-results").iterdir())) == len(list((folder / "checkpoints").glob("cp_*"))) == 1
        assert loads((folder / "checkpoints/cp_000001/checkpoint.json").read_bytes())["runId"] == FORK
        assert loads((folder / "manifest.json").read_bytes())["runId"] == FORK
        assert not (folder / "llm-wire").exists()


async def test_a_run_that_is_driven_can_be_forked(stage: Stage) -> None:
    async with stage.show(words.WRITE, never, words.COMMIT_AND_FINISH) as show:
        await show.start()
        await show.asked(2)
        await show.fork(at_seq=24)

        assert (await show.engine.wait(FORK)).status == "completed"
        assert (await show.engine.read_run(RUN)).status == "calling_model"


@pytest.mark.parametrize(
    "end", ["left", *(pytest.param(end, marks=pytest.mark.slow) for end in ("cancelled", "failed"))]
)
async def test_a_run_can_be_forked_however_it_ended(stage: Stage, end: str) -> None:
    async with stage.show(words.WRITE, words.NO_SUCH_MODEL if end == "failed" else never) as show:
        await show.start()
        await show.asked(2)
        if end == "cancelled":
            await show.engine.cancel(RUN)
        if end != "left":
            await show.end()
    parent = whole(stage.run_folder())

    played = await _fork(stage, words.COMMIT_AND_FINISH, at_seq=24)

    assert played.types[-1] == "run_completed"
    assert "run_cancel_requested" not in played.types
    assert whole(stage.run_folder()) == parent


@pytest.mark.slow
async def test_a_fork_of_a_fork_stands_where_it_stood(stage: Stage) -> None:
    await stage.play(*ENDS)
    first = await _fork(stage, *ENDS[1:], checkpoint_id="cp_000001")
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        await show.fork(FORK, at_seq=_seq(first, "chat_commit_recorded"), new_run_id="fork_2")
        played = await show.end("fork_2")

    assert played.types.count("run_forked") == 2
    assert [event.payload["commitCount"] for event in played.events if event.type == "chat_commit_recorded"] == [1, 1]
    assert len(played.messages) == 5


@pytest.mark.slow
async def test_what_its_origin_has_given_back_meanwhile_is_another_run_s_to_a_fork(stage: Stage) -> None:
    """A fork promotes like any run: the file that it was not lent is in the chat by now."""
    await stage.play(words.WRITE_NOTES, words.FINISH, presentation="background")

    played = await _fork(stage, words.FINISH, checkpoint_id="cp_000001")

    assert played.events[-1].type == "run_failed"
    assert played.events[-1].payload["code"] == "agent.persistent_workspace_conflict"


@pytest.mark.slow
async def test_a_lent_file_is_as_it_was_lent(stage: Stage) -> None:
    """The origin changed the file after the point of the fork; its promotion meets the origin's."""
    await stage.play(words.WRITE_NOTES, words.FINISH, presentation="background")
    parent = await _second(stage, words.READ_NOTES, words.WRITE_OTHER_NOTES, words.FINISH)
    async with stage.show(words.FINISH) as show:
        await show.fork("run_2", at_seq=_seq(parent, "tool_call_completed"))
        played = await show.end(FORK)

    assert played.files == {"persist/notes.md": "The tide owns a kettle.\n"}
    assert played.types[-1] == "run_completed"


async def test_a_file_that_nothing_keeps_is_named_and_nothing_is_made(stage: Stage) -> None:
    await stage.play(words.WRITE, words.WRITE_CODA, words.COMMIT_AND_FINISH)
    for path in ("checkpoints/content", "output/main.md"):
        _lose(stage.run_folder() / path)
    before = _tree(stage.root)

    with pytest.raises(NotFound, match="keeps no content"):
        await _fork(stage, checkpoint_id="cp_000002")

    assert _tree(stage.root) == before


@pytest.mark.slow
async def test_an_answer_that_is_lost_is_named_and_nothing_is_made(stage: Stage) -> None:
    await stage.play(*ENDS)
    (stage.run_folder() / "model-responses/round-001.body").unlink()
    before = _tree(stage.root)

    with pytest.raises(InvalidData, match=r"model-responses/round-001\.body of the run is lost"):
        await _fork(stage, checkpoint_id="cp_000001")

    assert _tree(stage.root) == before


REFUSED: list[tuple[type[TreadleError], Json, str]] = [
    (InvalidInput, {}, "either atSeq or checkpointId"),
    (InvalidInput, {"at_seq": 9, "checkpoint_id": "cp_000001"}, "either atSeq or checkpointId"),
    (InvalidInput, {"at_seq": 0}, "atSeq must be the seq of an event, from 1, not 0"),
    (InvalidInput, {"at_seq": True}, "atSeq must be"),
    (InvalidInput, {"at_seq": 999}, "atSeq is 999, but the journal of run run_1 has"),
    (InvalidInput, {"at_seq": 7}, "had not begun to write at seq 7.*start a new run"),
    (InvalidInput, {"checkpoint_id": 3}, "checkpointId must be a string"),
    (InvalidInput, {"at_seq": 20, "profile": "terse"}, "profile must be a profile document.*profileId"),
    (InvalidInput, {"at_seq": 20, "new_run_id": "../x"}, "newRunId"),
    (InvalidInput, {"at_seq": 20, "new_run_id": RUN}, "run run_1 exists and is not this fork"),
    (InvalidInput, {"at_seq": 20, "profile": {**default_writer().to_json(), "id": ""}}, "id"),
    (NotFound, {"checkpoint_id": "cp_000009"}, "run run_1 has no checkpoint cp_000009"),
    (NotFound, {"at_seq": 20, "profile_id": "nobody"}, "there is no profile nobody"),
]


async def test_what_can_not_be_forked_is_said_and_nothing_is_made(stage: Stage) -> None:
    await stage.play(*ENDS)
    before = _tree(stage.root)

    async with stage.show() as show:
        for error, asked, told in REFUSED:
            with pytest.raises(error, match=told):
                await show.fork(**asked)

    assert _tree(stage.root) == before


async def test_the_same_fork_again_is_the_same_run(stage: Stage) -> None:
    await stage.play(*ENDS)
    first = await _fork(stage, words.COMMIT_AND_FINISH, checkpoint_id="cp_000001")

    again = await _fork(stage, checkpoint_id="cp_000001")

    assert again.events == first.events
    with pytest.raises(InvalidInput, match="is not this fork"):
        await _fork(stage, checkpoint_id="cp_000002")


@pytest.mark.slow
async def test_a_disk_that_refuses_leaves_no_run_and_the_same_fork_can_be_made_later(stage: Stage) -> None:
    await stage.play(*ENDS)
    before = _tree(stage.root)

    for path in ("round-001.body", "checkpoint.json", "events.jsonl", "run.json", "index/runs/*.json"):
        stage.disk.fail("copy", when=path)
        stage.disk.fail("replace", when=path)
        with pytest.raises(StorageFailed):
            await _fork(stage, checkpoint_id="cp_000001")
        stage.disk.heal()
        assert _tree(stage.root) == before
    assert (await _fork(stage, words.COMMIT_AND_FINISH, checkpoint_id="cp_000001")).types[-1] == "run_completed"


@pytest.mark.slow
async def test_what_a_kill_left_of_a_fork_is_made_anew(stage: Stage) -> None:
    await stage.play(*ENDS)
    await _fork(stage, words.COMMIT_AND_FINISH, checkpoint_id="cp_000001")
    folder = stage.run_folder(FORK)
    next(stage.root.glob(f"*/*/index/runs/{FORK}.json")).unlink()
    (folder / "events.jsonl").write_bytes(b"")
    (folder / "output" / "stray.md").write_text("left over")

    played = await _fork(stage, words.COMMIT_AND_FINISH, checkpoint_id="cp_000001")

    assert played.types[-1] == "run_completed"
    assert played.files == {"output/main.md": words.DRAFT}


@pytest.mark.slow
async def test_a_run_that_no_index_names_is_not_written_over(stage: Stage) -> None:
    await stage.play(*ENDS)
    await _second(stage, words.WRITE, words.FINISH)
    next(stage.root.glob("*/*/index/runs/run_2.json")).unlink()

    with pytest.raises(InvalidInput, match="the folder of a run run_2 is there already"):
        await _fork(stage, checkpoint_id="cp_000001", new_run_id="run_2")

    assert (stage.run_folder("run_2") / "run.json").exists()


@pytest.mark.parametrize("loses", [True, False])
async def test_a_fork_that_was_left_goes_on_and_commits_nothing_twice(stage: Stage, loses: bool) -> None:
    """Also without its database: a walk from the first step would come by its origin's commit."""
    parent = await stage.play(*ENDS)
    async with stage.show(never) as show:
        await show.fork(at_seq=_seq(parent, "chat_commit_recorded"))
        await show.asked(1)
    for file in stage.run_folder(FORK).glob("run.sqlite*") if loses else ():
        file.unlink()
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        await show.resume(FORK)
        played = await show.end(FORK)

    assert played.types[-1] == "run_completed"
    assert len(played.messages) == 4


async def test_a_fork_that_fails_tells_only_of_its_own_commits(stage: Stage) -> None:
    parent = await stage.play(*ENDS)
    at_seq = _seq(parent, "chat_commit_recorded")

    failed = await _fork(stage, words.TALK, at_seq=at_seq)
    kept = await _fork(stage, words.COMMIT, words.TALK, at_seq=at_seq, new_run_id="fork_2")

    assert failed.types[-1] == "run_failed"
    assert (kept.types[-1], kept.events[-1].payload["preservedCommitCount"]) == ("run_partial_success", 1)


async def _fork(stage: Stage, *steps: Step, new_run_id: str = FORK, **asked: Json) -> Played:
    async with stage.show(*steps) as show:
        await show.fork(new_run_id=new_run_id, **asked)
        return await show.end(new_run_id)


async def _second(stage: Stage, *steps: Step) -> Played:
    async with stage.show(*steps) as show:
        await show.start(runId="run_2", presentation="background")
        return await show.end("run_2")


def _tail(played: Played) -> str:
    """The fork's own flow: what it was told of its origin left out."""
    return flow(replace(played, events=played.events[_seq(played, "run_forked") - 1 :]))


def _seq(played: Played, event_type: str, nth: int = 1) -> int:
    return [event.seq for event in played.events if event.type == event_type][nth - 1]


def whole(folder: Path) -> dict[str, bytes]:
    """All that stands in a run's folder, but its database, which reading may touch."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("run.sqlite"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _tree(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


def _lose(path: Path) -> None:
    for file in [path] if path.is_file() else list(path.iterdir()):
        file.unlink()
