"""A rollback that breaks off at any point is carried to its end by whoever opens the run next, once."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.graph.errors import EffectUnknown, TreadleError
from treadle.graph.events import EventType
from treadle.storage.disk import RealDisk

from ...scenarios import words
from ...scenarios.stage import RUN, Stage
from .plays import AT, MAIN_1, PLOT_3, WRITE_ALL, ended, left, lend


class DyingDisk(RealDisk):
    """Takes so many changes, half of the next, and from then on nothing: what a killed process leaves behind."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.done: list[str] = []

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._spend("replace", path)
        super().replace(path, data, durable=durable)

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        if self.left == 0:
            super().append(path, data[: len(data) // 2])
        self._spend("append", path)
        super().append(path, data, durable=durable)

    def truncate(self, path: Path, size: int) -> None:
        self._spend("truncate", path)
        super().truncate(path, size)

    def remove(self, path: Path) -> None:
        self._spend("remove", path)
        super().remove(path)

    def _spend(self, operation: str, path: Path) -> None:
        if self.left <= 0:
            self.left = -1
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        self.left -= 1
        self.done.append(f"{operation} {path.name}")


async def _messed_up(stage: Stage) -> None:
    """By hand: one file more, one less, one other."""
    run = stage.run_folder()
    (run / "plan" / "new").mkdir()
    (run / "plan" / "new" / "own.md").write_text("By hand.")
    (run / "persist" / "plot.md").unlink()
    (run / "output" / "main.md").write_text("By hand.")


@pytest.fixture(params=["ended", pytest.param("left", marks=pytest.mark.slow)])
async def rewound(stage: Stage, request: pytest.FixtureRequest) -> Stage:
    """A run that has something to restore, something to bring back and something to remove."""
    lend(stage)
    await (ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH) if request.param == "ended" else left(stage, WRITE_ALL))
    await _messed_up(stage)
    return stage


async def test_wherever_it_breaks_off_it_is_done_in_the_end_and_once(rewound: Stage, tmp_path: Path) -> None:
    whole = DyingDisk(1000)
    await _roll_back(_copy(rewound, tmp_path / "whole"), whole)

    assert len(whole.done) == 10
    for count in range(len(whole.done)):
        stage = _copy(rewound, tmp_path / str(count))
        with pytest.raises(TreadleError):
            await _roll_back(stage, DyingDisk(count))
        await _roll_back(stage, RealDisk())

        assert stage.files() == AT[PLOT_3], whole.done[count]
        assert not (stage.run_folder() / "plan" / "new").exists()
        assert await _told(stage) == ["workspace_rollback_started", "workspace_rollback_completed"], whole.done[count]
        shutil.rmtree(tmp_path / str(count))


async def test_a_resume_finishes_it_too(stage: Stage) -> None:
    await left(stage, WRITE_ALL)
    await _broken_off(stage)
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        await show.resume()
        played = await show.end()

    kinds = [kind for kind in played.types if "rollback" in kind or kind == "run_resumed"]
    assert kinds == ["workspace_rollback_started", "workspace_rollback_completed", "run_resumed"]
    assert played.files == {"output/main.md": words.DRAFT}
    assert played.messages[-1]["mes"] == words.DRAFT


async def test_a_cancel_finishes_it_too(stage: Stage) -> None:
    await left(stage, WRITE_ALL)
    await _broken_off(stage)
    async with stage.engine() as engine:
        await engine.cancel(RUN)

    assert stage.files() == {"output/main.md": words.DRAFT}


async def test_another_rollback_finishes_it_and_then_does_its_own(stage: Stage) -> None:
    await ended(stage, WRITE_ALL, words.COMMIT_AND_FINISH)
    await _broken_off(stage)
    async with stage.engine() as engine:
        await engine.rollback(RUN, PLOT_3)

    assert await _told(stage) == ["workspace_rollback_started", "workspace_rollback_completed"] * 2
    assert stage.files() == {
        "output/main.md": AT[PLOT_3]["output/main.md"],
        "persist/plot.md": AT[PLOT_3]["persist/plot.md"],
    }


@pytest.mark.parametrize(
    "open_again", ["resume_run", *(pytest.param(name, marks=pytest.mark.slow) for name in ("rollback", "cancel"))]
)
async def test_a_file_that_was_changed_meanwhile_is_named_and_left_alone(stage: Stage, open_again: str) -> None:
    await left(stage, WRITE_ALL)
    await _broken_off(stage)
    main = stage.run_folder() / "output" / "main.md"
    main.write_text("Somebody else's.")
    before = stage.files()
    async with stage.engine() as engine:
        with pytest.raises(EffectUnknown, match=r"output/main\.md was changed while a rollback") as refused:
            await getattr(engine, open_again)(RUN, *([MAIN_1] if open_again == "rollback" else []))

    assert stage.files() == before
    kept = str(refused.value).split("elsewhere and ")[1].split(" in its place")[0]
    shutil.copy(stage.run_folder() / kept, main)  # as the error says
    await _roll_back(stage, RealDisk(), MAIN_1)

    assert stage.files() == {"output/main.md": words.DRAFT}


async def _broken_off(stage: Stage) -> None:
    """Its intent is told; then nothing more could be done."""
    stage.disk.fail("replace", when="output/main.md")
    async with stage.engine() as engine:
        with pytest.raises(TreadleError):
            await engine.rollback(RUN, MAIN_1)
    stage.disk.heal()


async def _roll_back(stage: Stage, disk: RealDisk, checkpoint: str = PLOT_3) -> None:
    async with Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids, disk=disk) as engine:
        await engine.rollback(RUN, checkpoint)


async def _told(stage: Stage) -> list[str]:
    """What the journal tells of rollbacks; its events have no gap."""
    async with stage.engine() as engine:
        events = (await stage.played(engine)).events
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    kinds = (EventType.WORKSPACE_ROLLBACK_STARTED, EventType.WORKSPACE_ROLLBACK_COMPLETED)
    return [event.type for event in events if event.type in kinds]


def _copy(stage: Stage, folder: Path) -> Stage:
    shutil.copytree(stage.root.parent / "data", folder / "data")
    shutil.copytree(stage.root.parent / "chats", folder / "chats")
    return Stage.found(folder)
