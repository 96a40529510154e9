"""A process is killed at an event, and another goes on: the run comes to the same end, and every effect happens once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json

from ..scenarios.stage import RUN, Played, Stage
from . import crashing

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = {
    "alone": ("1", "3", "5+", "11+", "12", "17", "19+", "49", "57+", "62", "84+", "100"),
    "asked": ("16", "17", "17+", "18", "18+", "19+", "28+", "38+", "39", "39+", "41", "52+", "53", "53+", "55"),
}
"""At least one in each kind of step; of the questions, before and after the answer."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_run_that_is_killed_comes_to_the_same_end(name: str, tmp_path: Path) -> None:
    _check(tmp_path, name, _whole(tmp_path, name)[0], SAMPLES[name])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_run_that_is_killed_anywhere_comes_to_the_same_end(name: str, tmp_path: Path) -> None:
    whole, pauses = _whole(tmp_path, name)

    _check(tmp_path, name, whole, [*map(str, range(1, len(whole.events) + 1)), *(f"{seq}+" for seq in pauses[:-1])])


def _whole(folder: Path, name: str) -> tuple[Played, list[int]]:
    """The run without a crash, and the seqs after which it did something else than to write its journal."""
    disk = crashing.WholeDisk()
    asyncio.run(crashing.play(name, folder / "whole", disk))
    return asyncio.run(_read(folder / "whole")), disk.pauses


def _check(folder: Path, name: str, whole: Played, points: Sequence[str]) -> None:
    command = [sys.executable, "-m", crashing.__name__, name, str(folder), *points]
    subprocess.run(command, cwd=ROOT, check=True, timeout=600)

    faults = [fault for point in points for fault in asyncio.run(_resumed(folder / f"at-{point}", name, point, whole))]
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


async def _resumed(folder: Path, name: str, point: str, whole: Played) -> list[str]:
    """What is not as it would be without the crash."""
    stage = Stage.found(folder)
    stage.clock.advance(3600)  # the lease of the dead is over
    model = crashing.Model(name, folder / crashing.ASKED)
    async with stage.engine(model, stage.host) as engine:
        await engine.resume_run(RUN)
        await crashing.attended(name, engine)
    played = await _read(folder)
    asked_in_vain = point.endswith("+") and whole.types[int(point[:-1]) - 1] == "model_call_attempt_started"
    expected = {
        "seq": list(range(1, len(played.events) + 1)),
        "events": whole.types,
        "chat": _told(whole),
        "files": whole.files,
        "status": "completed",
        "requests": len(crashing.PLAYS[name].steps) + asked_in_vain,
    }
    found = {
        "seq": [event.seq for event in played.events],
        "events": [kind for kind in played.types if kind != "run_resumed"],
        "chat": _told(played),
        "files": played.files,
        "status": played.record and str(played.record.status),
        "requests": len((folder / crashing.ASKED).read_text().splitlines()),
    }
    return [
        f"killed at {point}: {key}{_unlike(found[key], expected[key])}" for key in found if found[key] != expected[key]
    ]


def _unlike(found: object, expected: object) -> str:
    before, after = (str(value).replace(", ", ",\n").splitlines() for value in (expected, found))
    return "".join(f"\n  {line}" for line in unified_diff(before, after, n=1, lineterm=""))


async def _read(folder: Path) -> Played:
    stage = Stage.found(folder)
    async with Engine(stage.root) as engine:
        return await stage.played(engine)


def _told(played: Played) -> list[tuple[Json, list[Json]]]:
    """Each message's text, and the commits that made it."""
    return [(message["mes"], _commits(message)) for message in played.messages]


def _commits(message: dict[str, Json]) -> list[Json]:
    notes = message["extra"].get("tauritavern", {}).get("agent", {})
    return [commit["commitId"] for commit in notes.get("commits", [])]
