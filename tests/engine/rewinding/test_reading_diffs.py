"""What changed between two moments of a run: by its checkpoints, or by what stands on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.engine.engine import Engine
from treadle.engine.rewinding.diffing import AgentDiff
from treadle.graph.errors import InvalidData, InvalidInput, NotFound
from treadle.testkit.replies import call, calls

from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.stage import RUN, Stage
from .plays import IDEA_4, MAIN_1, MAIN_2, PLOT_3, WRITE_ALL, ended, left, lend


async def test_from_the_start_to_what_stands_on_disk(stage: Stage, snapshot: SnapshotAssertion) -> None:
    lend(stage)
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)

    assert (await _read(stage)).to_json() == snapshot


async def test_between_two_checkpoints_and_back(stage: Stage) -> None:
    lend(stage)
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    there, back = await _read(stage, MAIN_1, IDEA_4), await _read(stage, IDEA_4, MAIN_1)

    assert _statuses(there) == {
        "output/main.md": "modified", "persist/plot.md": "modified", "scratch/deep/er/idea.md": "added",
    }  # fmt: skip
    assert _statuses(back) == {
        "output/main.md": "modified", "persist/plot.md": "modified", "scratch/deep/er/idea.md": "deleted",
    }  # fmt: skip
    assert (await _read(stage, MAIN_2, MAIN_2)).files == ()
    assert list(_statuses(await _read(stage, MAIN_2, PLOT_3))) == ["persist/plot.md"]


async def test_after_a_rollback_later_checkpoints_are_told_from_where_it_led(stage: Stage) -> None:
    lend(stage)
    await left(stage, WRITE_ALL)
    async with stage.show(words.WRITE_CODA, words.FINISH) as show:
        await show.engine.rollback(RUN, MAIN_1)
        await show.resume()
        await show.end()
    diff = await _read(stage, MAIN_1, "cp_000005")

    assert _statuses(diff) == {"output/coda.md": "added"}
    assert (await _read(stage, "cp_000005")).files == ()


async def test_only_the_paths_that_are_asked_for_are_told_and_a_named_file_even_unchanged(stage: Stage) -> None:
    lend(stage)
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)

    assert _statuses(await _read(stage, MAIN_1, MAIN_2, "persist/plot.md", "output")) == {
        "output/main.md": "modified", "persist/plot.md": "unchanged",
    }  # fmt: skip
    assert (await _read(stage, MAIN_1, MAIN_2, "persist")).files == ()
    assert list(_statuses(await _read(stage, MAIN_1, IDEA_4, "scratch/deep", "./scratch//deep/er/idea.md"))) == [
        "scratch/deep/er/idea.md"
    ]


async def test_a_file_that_is_no_text_has_a_status_and_no_diff(stage: Stage) -> None:
    await ended(stage, words.WRITE, words.COMMIT_AND_FINISH)
    output = stage.run_folder() / "output"
    (output / "main.md").write_bytes(b"\xff\xfe")
    (output / "nul").write_bytes(b"\0")
    (output / "empty.md").touch()
    told = (await _read(stage)).to_json()["files"]

    assert told == [
        {
            "path": "output/empty.md",
            "status": "added",
            "unifiedDiff": "diff --git a/output/empty.md b/output/empty.md\nnew file mode 100644\nindex 0000000..e69de29\n",
        },
        {"path": "output/main.md", "status": "added", "binary": True},
        {"path": "output/nul", "status": "added", "binary": True},
    ]


async def test_what_a_lent_file_held_is_found_or_said_to_be_lost(stage: Stage) -> None:
    chats_own = lend(stage)
    await ended(stage, words.WRITE, words.COMMIT_AND_FINISH)
    (stage.run_folder() / "persist" / "plot.md").write_text("By hand.")

    assert "-The tide owns a kettle." in ((await _read(stage)).files[-1].unified_diff or "")
    chats_own.write_text("Another run's.")
    assert (await _read(stage)).to_json()["files"][-1] == {
        "path": "persist/plot.md", "status": "modified", "contentLost": True,
    }  # fmt: skip


async def test_while_the_run_is_driven_anybody_may_read_and_nothing_is_written(stage: Stage) -> None:
    async with stage.show(WRITE_ALL, never) as show:
        await show.start()
        await show.asked(2)
        before = _all_files(stage.run_folder())
        diff = await _read(stage, MAIN_1)

        assert list(_statuses(diff)) == ["output/main.md", "persist/plot.md", "scratch/deep/er/idea.md"]
        assert _all_files(stage.run_folder()) == before


async def test_checkpoints_are_listed_as_they_were_made(stage: Stage) -> None:
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    async with stage.engine() as engine:
        found = await engine.list_checkpoints(RUN)

    assert [(one.id, one.seq, one.reason) for one in found] == [
        ("cp_000001", 1, "tool_workspace_write"),
        ("cp_000002", 2, "tool_workspace_patch"),
        ("cp_000003", 3, "tool_workspace_write"),
        ("cp_000004", 4, "tool_workspace_write"),
        ("cp_000005", 5, "chat_commit"),
    ]


async def test_bad_input_is_named_with_what_is_near(stage: Stage) -> None:
    await left(stage, WRITE_ALL)
    async with stage.engine() as engine:
        with pytest.raises(NotFound, match="cp_000009'; the nearest are cp_000004"):
            await engine.read_diff(RUN, to_checkpoint_id="cp_000009")
        with pytest.raises(NotFound, match="the nearest are cp_000002, cp_000001"):
            await engine.read_diff(RUN, from_checkpoint_id="2")
        with pytest.raises(
            NotFound, match=r"paths\[1\]: there is no output/mian\.md .* the nearest are output/main\.md"
        ):
            await engine.read_diff(RUN, paths=["output/main.md", "output/mian.md"])
        for bad in ("../x", "", "input/prompt_snapshot.json", 7):
            with pytest.raises(InvalidInput, match=r"paths\[0\]") as refused:
                await engine.read_diff(RUN, paths=[bad])  # type: ignore[list-item]  # a caller's own value
            assert refused.value.error_code == "workspace.invalid_path"
        with pytest.raises(InvalidInput, match="must be a list"):
            await engine.read_diff(RUN, paths="output")
        with pytest.raises(NotFound):
            await engine.read_diff("run_9")


async def test_a_run_that_wrote_nothing_has_an_empty_diff_and_one_that_was_slimmed_is_refused(stage: Stage) -> None:
    await ended(stage, words.TALK)

    assert (await _read(stage)).files == ()
    (stage.run_folder() / "input" / "persist_snapshot.json").unlink()
    with pytest.raises(InvalidData, match="is gone: its files are not kept any more"):
        await _read(stage)


async def test_checkpoints_that_are_not_kept_any_more_are_said_to_be_so(stage: Stage) -> None:
    await ended(stage, words.WRITE, words.COMMIT_AND_FINISH)
    shutil.rmtree(stage.run_folder() / "checkpoints")
    async with stage.engine() as engine:
        for asked in (engine.list_checkpoints(RUN), engine.read_diff(RUN, MAIN_1), engine.rollback(RUN, MAIN_1)):
            with pytest.raises(NotFound, match="cp_000001 of run run_1 is not kept any more"):
                await asked


async def test_a_file_of_full_size_takes_no_seconds(stage: Stage) -> None:
    lines = [f"{number:06x}\n" for number in range(262_144 // 7)]
    first, second = "".join(lines), "".join(lines[::2])
    write = [call("workspace.write_file", path="output/main.md", content=text) for text in (first, second)]
    await ended(stage, calls(*write), words.FINISH)
    (file,) = (await _read(stage, MAIN_1, MAIN_2)).files

    assert (file.status, file.coarse) == ("modified", False)


async def _read(stage: Stage, start: str | None = None, end: str | None = None, *paths: str) -> AgentDiff:
    async with Engine(stage.root) as engine:  # another process, which drives nothing
        return await engine.read_diff(RUN, start, end, paths or None)


def _statuses(diff: AgentDiff) -> dict[str, str]:
    return {file.path: file.status for file in diff.files}


def _all_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "sqlite" not in path.name}
