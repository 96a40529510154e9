"""The workspace is put back exactly, of a run that has ended and of one that goes on afterwards."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from treadle.engine.rewinding.records import WorkspaceRolledBack
from treadle.graph.jsontext import loads
from treadle.graph.status import RunStatus
from treadle.graph.text import sha256_text
from treadle.testkit.replies import call, calls

from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.stage import RUN, Stage
from .plays import (
    AT,
    IDEA_4,
    MAIN_1,
    MAIN_2,
    PATCHED,
    PLOT,
    PLOT_3,
    WRITE_ALL,
    cut_after,
    ended,
    folders,
    kept,
    last_seq,
    left,
    lend,
    tail,
)  # fmt: skip


async def test_it_is_journalled_before_and_after_and_follows_the_end(stage: Stage, snapshot: SnapshotAssertion) -> None:
    lend(stage)
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    chat = stage.chat.read_bytes()
    async with stage.engine() as engine:
        end = await last_seq(engine)
        done = await engine.rollback(RUN, MAIN_1)
        record = await engine.read_run(RUN)
        assert isinstance(done, WorkspaceRolledBack)

        assert await tail(engine, end) == snapshot
        assert [file.to_json() for file in done.files] == (await tail(engine, end))[0]["workspace_rollback_started"][
            "files"
        ]
        assert record.status is RunStatus.COMPLETED
        assert stage.chat.read_bytes() == chat


async def test_the_workspace_holds_just_what_it_held_forward_as_well_as_back(stage: Stage) -> None:
    lend(stage)
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    async with stage.engine() as engine:
        for checkpoint in (MAIN_1, IDEA_4, PLOT_3, MAIN_2, IDEA_4):
            await engine.rollback(RUN, checkpoint)

            assert stage.files() == AT[checkpoint]
            assert folders(stage) == (["scratch/deep", "scratch/deep/er"] if checkpoint == IDEA_4 else [])


async def test_asked_for_again_it_is_the_same_and_nothing_is_written(stage: Stage) -> None:
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    async with stage.engine() as engine:
        first = await engine.rollback(RUN, MAIN_1)
        end = await last_seq(engine)

        assert await engine.rollback(RUN, MAIN_1) == first
        assert await last_seq(engine) == end


async def test_what_a_person_did_by_hand_is_undone_and_kept(stage: Stage) -> None:
    lend(stage)
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    run = stage.run_folder()
    (run / "output" / "main.md").write_text("By hand.")
    (run / "persist" / "plot.md").unlink()
    (run / "plan" / "new").mkdir()
    (run / "plan" / "new" / "own.md").write_bytes(b"\xff\xfe")
    async with stage.engine() as engine:
        done = await engine.rollback(RUN, IDEA_4)

    assert stage.files() == AT[IDEA_4]
    assert folders(stage) == ["scratch/deep", "scratch/deep/er"]
    assert kept(stage, sha256_text("By hand.")) == b"By hand."
    assert isinstance(done, WorkspaceRolledBack)
    (new,) = [file for file in done.files if file.path == "plan/new/own.md"]
    assert new.pre_sha256 is not None and kept(stage, new.pre_sha256) == b"\xff\xfe"


async def test_a_lent_file_that_was_only_changed_by_hand_comes_back_from_the_chat(stage: Stage) -> None:
    lend(stage)
    await ended(stage, words.WRITE, words.COMMIT_AND_FINISH)
    (stage.run_folder() / "persist" / "plot.md").write_text("By hand.")
    async with stage.engine() as engine:
        await engine.rollback(RUN, MAIN_1)

    assert stage.files()["persist/plot.md"] == PLOT


async def test_a_folder_that_stands_where_a_file_was_gives_way(stage: Stage) -> None:
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    main = stage.run_folder() / "output" / "main.md"
    main.unlink()
    main.mkdir()
    (main / "inner.md").write_text("By hand.")
    (stage.run_folder() / "output" / "other").write_text("By hand.")
    async with stage.engine() as engine:
        await engine.rollback(RUN, MAIN_1)

    assert stage.files() == {"output/main.md": words.DRAFT}


async def test_subscriptions_still_end_at_the_terminal_event(stage: Stage) -> None:
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    async with stage.engine() as engine:
        end = await last_seq(engine)
        await engine.rollback(RUN, MAIN_1)
        from_the_start = [event async for event in engine.subscribe(RUN)]
        from_the_end = [event async for event in engine.subscribe(RUN, after_seq=end)]

    assert from_the_start[-1].type == "run_completed"
    assert from_the_end == []


async def test_a_run_that_was_left_goes_on_with_the_same_conversation_and_must_read_again(stage: Stage) -> None:
    """Twice the same run: one is rolled back before it goes on. Its model hears the same until it calls again."""
    patch = calls(call("workspace.apply_patch", path="output/main.md", old_string="tide", new_string="moon"))
    other = Stage(stage.root.parent / "other")
    heard: list[list[bytes]] = []
    for each in (stage, other):
        await left(each, WRITE_ALL)
        async with each.show(patch, words.READ, patch, words.WRITE_CODA, words.COMMIT_AND_FINISH) as show:
            if each is stage:
                await show.engine.rollback(RUN, MAIN_1)
            await show.resume()
            await show.engine.wait(RUN)
            heard.append([request.body for request in show.model.requests])
            played = await show.end()
        assert played.record is not None
        assert played.record.status is RunStatus.COMPLETED
        assert [event.payload["checkpointId"] for event in played.events if event.type == "checkpoint_created"] == [
            f"cp_{number:06d}" for number in range(1, 8)
        ]

    assert heard[0][0] == heard[1][0]
    refused = loads(loads(heard[0][1])["messages"][-1]["content"])
    assert refused["errorCode"] == "workspace.patch_requires_read"
    assert stage.files()["output/main.md"] == words.DRAFT.replace("tide", "moon")
    assert other.files()["output/main.md"] == PATCHED.replace("tide", "moon")


async def test_what_was_not_yet_told_of_a_file_is_told_as_it_was_written_however_often_the_run_is_left(
    stage: Stage,
) -> None:
    rewrite = calls(call("workspace.write_file", path="output/main.md", content="Another draft."))
    other = Stage(stage.root.parent / "other")
    heard: dict[Stage, list[bytes]] = {stage: [], other: []}
    for each, bodies in heard.items():
        await left(each, words.WRITE, rewrite)
        cut_after(each, "checkpoint_created", 2)
        for _ in range(2):
            async with each.show(never) as show:
                if each is stage and not bodies:
                    await show.engine.rollback(RUN, MAIN_1)
                await show.resume()
                await show.asked(1)
                bodies.append(show.model.requests[0].body)

    assert heard[stage] == heard[other]
    assert b"Another draft." in heard[stage][0]
    assert stage.files() == {"output/main.md": words.DRAFT}
