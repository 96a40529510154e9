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
SAMPLE = ("1", "3", "5+", "11+", "12", "17", "19+", "49", "57+", "62", "84+", "100")
"""At least one in each kind of step."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


def test_a_run_that_is_killed_comes_to_the_same_end(tmp_path: Path) -> None:
    _check(tmp_path, _whole(tmp_path)[0], SAMPLE)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_that_is_killed_anywhere_comes_to_the_same_end(tmp_path: Path) -> None:
    whole, pauses = _whole(tmp_path)

    _check(tmp_path, whole, [*map(str, range(1, len(whole.events) + 1)), *(f"{seq}+" for seq in pauses[:-1])])


def _whole(folder: Path) -> tuple[Played, list[int]]:
    """The run without a crash, and the seqs after which it did something else than to write its journal."""
    disk = crashing.WholeDisk()
    asyncio.run(crashing.play(folder / "whole", disk))
    return asyncio.run(_read(folder / "whole")), disk.pauses


def _check(folder: Path, whole: Played, points: Sequence[str]) -> None:
    subprocess.run([sys.executable, "-m", crashing.__name__, str(folder), *points], cwd=ROOT, check=True, timeout=600)

    faults = [fault for point in points for fault in asyncio.run(_resumed(folder / f"at-{point}", point, whole))]
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


async def _resumed(folder: Path, point: str, whole: Played) -> list[str]:
    """What is not as it would be without the crash."""
    stage = Stage.found(folder)
    stage.clock.advance(3600)  # the lease of the dead is over
    model = crashing.Model(folder / crashing.ASKED)
    async with stage.engine(model, stage.host) as engine:
        await engine.resume_run(RUN)
        await engine.wait(RUN)
    played = await _read(folder)
    asked_in_vain = point.endswith("+") and whole.types[int(point[:-1]) - 1] == "model_call_attempt_started"
    expected = {
        "seq": list(range(1, len(played.events) + 1)),
        "events": whole.types,
        "chat": _told(whole),
        "files": whole.files,
        "status": "completed",
        "requests": 3 + asked_in_vain,
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
