"""What of a run waits for the platter, and in which order: by default what others may see next, or everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treadle.engine.engine import Engine
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import dumps
from treadle.storage.connections import SETTINGS
from treadle.storage.database import RunDatabase
from treadle.storage.disk import RealDisk
from treadle.testkit.disk_faults import Setting
from treadle.testkit.recording_disk import Done, RecordingDisk

from ..scenarios.script import ByRound
from ..scenarios.stage import RUN, Stage
from ..testkit.disk_scenes import STEPS, writing

PROMISED = [
    "chat_commit_started", "chat_commit_requested", "tea.jsonl",
    "chat_commit_started", "chat_commit_requested", "tea.jsonl",
    "promotion.json", "notes.md", "manifest.json",
    "persistent_state_metadata_update_requested", "tea.jsonl", "run_completed",
]  # fmt: skip
"""Word of a commit, before and after its checkpoint, before the chat is asked, the chat; the promotion; word of its state, the chat; the end."""


async def test_by_default_what_others_see_next_waits_for_the_platter_first(tmp_path: Path) -> None:
    log = await _log(writing, tmp_path)

    assert [_told(done) for done in log if done.durable] == PROMISED


async def test_a_request_that_waits_takes_all_events_before_it_along(tmp_path: Path) -> None:
    """One file, written in its order: what was not waited for stands before what was."""
    appends = [done for done in await _log(writing, tmp_path) if done.operation == "append" and done.events]

    assert len({done.path for done in appends}) == 1
    assert appends[-1].durable


@pytest.mark.parametrize("by", ["argument", "settings"])
async def test_with_durability_power_every_write_waits(by: str, stage: Stage) -> None:
    recording = RecordingDisk(RealDisk())
    if by == "settings":
        _settle(stage, durability="power")
    given: dict[str, Any] = {"durability": "power"} if by == "argument" else {}
    model = ByRound(*STEPS)
    async with Engine(
        stage.root, stage.host, transport=model, clock=stage.clock, ids=stage.ids, disk=recording, **given
    ) as engine:
        await engine.start_run_with_prompt_snapshot(stage.request())
        await engine.wait(RUN)

    writes = [done for done in recording.log if done.operation in ("replace", "append")]
    assert len(writes) > 100
    assert [_told(done) for done in writes if not done.durable] == []


async def test_an_argument_wins_over_the_settings(stage: Stage) -> None:
    _settle(stage, durability="power")
    async with Engine(stage.root, durability="process") as engine:
        assert not engine.services.outlasts_power_loss()


def test_another_word_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="durability must be one of process, power, not 'forever'"):
        Engine(tmp_path, durability="forever")  # type: ignore[arg-type]  # a caller's mistake


async def test_so_it_is_in_the_settings(stage: Stage) -> None:
    _settle(stage, durability="forever")
    async with stage.show() as show:
        with pytest.raises(InvalidInput, match="durability"):
            await show.start()


@pytest.mark.parametrize(("lasting", "synchronous"), [(False, 1), (True, 2)], ids=["normal", "full"])
def test_the_database_waits_for_each_commit_only_if_asked_to(
    lasting: bool, synchronous: int, stage: Stage, tmp_path: Path
) -> None:
    database = RunDatabase(tmp_path / "run.sqlite", clock=stage.clock, lasting=lasting)
    with database.saving() as connection:
        found = connection.execute("PRAGMA synchronous").fetchone()
    database.close()

    assert found == (synchronous,)


async def _log(setting: Setting, folder: Path) -> list[Done]:
    recording = RecordingDisk(RealDisk())
    scene = setting(folder, recording)
    async with scene.open_engine() as engine:
        await engine.start_run_with_prompt_snapshot(scene.request)
        await engine.wait(RUN)
    return recording.log


def _told(done: Done) -> str:
    """The event that an append ends with, but for word of a status, or else the file."""
    told = [event for event in done.events if event != "status_changed"]
    return told[-1] if told else done.path.name


def _settle(stage: Stage, **settings: str) -> None:
    document = {"schemaVersion": 1, "kind": "tauritavern.llmSettings", **settings}
    path = stage.root / SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(dumps(document))
