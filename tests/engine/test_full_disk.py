"""A file system that is really full: SQLite's file among the others, at whatever write it comes to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.graph.errors import NotFound, TreadleError
from treadle.graph.events import TERMINAL_EVENTS
from treadle.graph.jsontext import loads
from treadle.storage.disk import RealDisk, is_temporary
from treadle.storage.leases import LEASE_MS
from treadle.testkit.disk_faults import Scene, play_whole
from treadle.testkit.ports import ManualClock

from ..scenarios.stage import RUN
from ..testkit.disk_scenes import writing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs tmpfs")]

REASONS = ("No space left", "disk is full", "run.sqlite: disk I/O error")
"""The last is what SQLite says where there is no room for its shared memory."""
_SIZE = 2 * 1024 * 1024
_PAGE = 4096
_NEEDED = 600_000
"""More than the whole run takes."""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "none", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("free", range(0, _NEEDED, 48_000))
async def test_a_run_says_that_the_disk_is_full_and_goes_on_when_it_is_not(
    free: int, small: Path, tmp_path: Path
) -> None:
    whole = await play_whole(writing, tmp_path / "whole")
    scene = writing(small, RealDisk())
    ballast = small / "ballast"
    _fill(ballast, free)
    said = await _said(scene)
    ballast.unlink()
    before = await _types(scene)
    await _said(scene, again=True)
    after = await _types(scene)

    assert (after[-1] == "run_completed") or after == before, said
    assert said in ("completed", "") or any(reason in said for reason in REASONS), said
    assert [kind for kind in after if kind in TERMINAL_EVENTS] == after[-1:]
    assert [path for path in small.rglob("*") if is_temporary(path.name)] == []
    if after[-1] == "run_completed":
        chat = scene.shown[0]
        assert _messages(chat.read_bytes()) == _messages(whole.left.files[f"shown/{chat.name}"])


def _messages(chat: bytes) -> list[str]:
    return [loads(line)["mes"] for line in chat.splitlines()[1:]]


def _fill(ballast: Path, free: int) -> None:
    """Take all pages but some."""
    with ballast.open("wb") as file:
        status = os.statvfs(ballast.parent)
        for _ in range(status.f_bavail - free // _PAGE):
            file.write(bytes(_PAGE))


async def _said(scene: Scene, *, again: bool = False) -> str:
    """How the run, played or taken up again, came to its stop."""
    async with scene.open_engine() as engine:
        try:
            if again:
                assert isinstance(engine.services.clock, ManualClock)
                engine.services.clock.advance(LEASE_MS / 1000)  # there was no room to give the lease back
                await engine.resume_run(RUN)
            else:
                await engine.start_run_with_prompt_snapshot(scene.request)
            record = await engine.wait(RUN)
        except NotFound:
            await engine.start_run_with_prompt_snapshot(scene.request)
            record = await engine.wait(RUN)
        except TreadleError as error:
            return str(error)
        events = await engine.read_events(RUN, before_seq=10_000, limit=1)
        return str(events[-1].payload["message"]) if events[-1].payload else str(record.status)


async def _types(scene: Scene) -> list[str]:
    stage_types: list[str] = []
    async with scene.open_engine() as engine:
        try:
            while page := await engine.read_events(RUN, after_seq=len(stage_types)):
                stage_types += [event.type for event in page]
        except NotFound:
            return []
    return stage_types
