"""What a run leaves behind: every file in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treadle.graph.identity import call_file_stem
from treadle.graph.jsontext import Json, loads
from treadle.graph.text import sha256_text

from ..scenarios import words
from ..scenarios.stage import RUN, Stage
from ..storage.chats.samples import CHAT_REF


async def test_every_file_of_a_run_has_its_place(stage: Stage) -> None:
    played = await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    calls = [event.payload["callId"] for event in played.events if event.type == "tool_call_requested"]
    audited = [f"{folder}/{call_file_stem(call)}.json" for folder in ("tool-args", "tool-results") for call in calls]

    assert _below(stage.run_folder()) == sorted(
        [
            "checkpoints/cp_000001/checkpoint.json",
            "checkpoints/cp_000002/checkpoint.json",
            f"checkpoints/content/{sha256_text(played.files['output/main.md'])}",
            "events.jsonl",
            "input/generation_intent.json",
            "input/persist_snapshot.json",
            "input/prompt_snapshot.json",
            "input/resolved_profile.json",
            "manifest.json",
            "model-responses/round-001.body",
            "model-responses/round-001.json",
            "model-responses/round-002.body",
            "model-responses/round-002.json",
            "output/main.md",
            "run.json",
            "run.sqlite",
            "wire/round-001-1.json",
            "wire/round-002-1.json",
            *audited,
        ]
    )
    assert all((stage.run_folder() / root).is_dir() for root in ("output", "scratch", "plan", "summaries", "persist"))


async def test_what_a_persistent_file_held_before_its_first_change_is_kept(stage: Stage) -> None:
    await stage.play(words.WRITE_NOTES, words.FINISH, presentation="background")
    await stage.play(words.READ_NOTES, words.WRITE_OTHER_NOTES, words.FINISH, presentation="background", runId="run_2")
    lent = _json(stage.run_folder("run_2") / "input" / "persist_snapshot.json")["files"][0]["sha256"]

    assert (stage.run_folder("run_2") / f"checkpoints/content/{lent}").read_text() == "The tide owns a kettle.\n"


async def test_the_record_and_its_copy_in_the_index_say_the_same(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    tree = stage.root / "_tauritavern" / "agent-workspaces"
    record = _json(stage.run_folder() / "run.json")

    assert _json(tree / "index" / "runs" / f"{RUN}.json") == record
    assert (record["id"], record["status"], record["presentation"]) == (RUN, "completed", "foreground")
    assert (record["chatRef"], record["inputMessageCount"]) == (CHAT_REF, 2)


async def test_the_input_is_kept_as_it_was_given(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    request = stage.request()
    kept = stage.run_folder() / "input"

    assert _json(kept / "prompt_snapshot.json") == request["promptSnapshot"]
    assert _json(kept / "generation_intent.json") == request["generationIntent"]
    assert _json(kept / "persist_snapshot.json") == {"files": []}


async def test_a_checkpoint_names_the_event_it_belongs_to(stage: Stage) -> None:
    played = await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    kept = [_json(stage.run_folder() / "checkpoints" / name / "checkpoint.json") for name in ("cp_000001", "cp_000002")]

    assert [played.types[checkpoint["eventSeq"] - 1] for checkpoint in kept] == [
        "workspace_file_written",
        "chat_commit_started",
    ]
    assert [checkpoint["reason"] for checkpoint in kept] == ["tool_workspace_write", "chat_commit"]
    assert [file["path"] for checkpoint in kept for file in checkpoint["files"]] == ["output/main.md"] * 2


async def test_an_answer_is_kept_byte_for_byte(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    kept = stage.run_folder() / "model-responses"

    assert (kept / "round-001.body").read_bytes() == words.WRITE.body
    assert _json(kept / "round-001.json")["response"]["rawPath"] == "model-responses/round-001.body"


async def test_two_runs_with_the_same_ports_write_the_same_bytes(tmp_path: Path) -> None:
    written: list[dict[str, bytes]] = []
    for name in ("a", "b"):
        stage = Stage(tmp_path / name)
        await stage.play(words.WRITE, words.BUSY, words.COMMIT_AND_FINISH)
        folder = stage.run_folder()
        files = {path: (folder / path).read_bytes() for path in _below(folder) if path != "run.sqlite"}
        written.append({**files, "chat": stage.chat.read_bytes()})

    assert written[0] == written[1]


async def test_what_a_run_changed_below_persist_is_there_for_the_next_one(stage: Stage) -> None:
    background: dict[str, Any] = {"presentation": "background"}
    await stage.play(words.WRITE_NOTES, words.FINISH, **background)
    async with stage.show(words.LIST, words.FINISH) as show:
        await show.start(runId="run_2", **background)
        second = await show.end("run_2")
        seen = await show.engine.read_workspace_file("run_2", "input/persist_snapshot.json")

    assert second.files == {"persist/notes.md": "The tide owns a kettle.\n"}
    assert loads(seen.text)["baseStateId"] == RUN
    assert second.events[0].payload["persistBaseStateId"] == RUN


def _below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _json(path: Path) -> Json:
    return loads(path.read_bytes())
