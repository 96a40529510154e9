"""The benchmark of rounds runs, its floor leaves the engine's very record, and its byte claims hold; times are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from treadle.graph.jsontext import Json

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "rounds.py"
LENGTHS = (6, 12)
CONTESTANTS = {"engine", "floor", "blocking", "working", "agent", "super_step"}


@dataclass(frozen=True, slots=True)
class Ran:
    figures: Json
    folder: Path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("rounds")
    asked = [sys.executable, str(SCRIPT), "--quick", "--json", "--keep", "--dir", str(folder)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    (kept,) = folder.iterdir()
    return Ran(json.loads(done.stdout), kept)


def test_every_contestant_is_measured_at_every_length(ran: Ran) -> None:
    runs = ran.figures["runs"]

    assert set(runs) == CONTESTANTS
    for name in CONTESTANTS - {"super_step"}:
        assert [run["rounds"] for run in runs[name]] == list(LENGTHS)
    assert [run["rounds"] for run in runs["super_step"]] == [2 * length - 1 for length in LENGTHS]


def test_every_time_is_a_time(ran: Ran) -> None:
    for runs in ran.figures["runs"].values():
        for run in runs:
            assert all(run[time] > 0 for time in ("wall_ms", "mean_ms", "cpu_ms"))


def test_a_round_adds_the_same_bytes_to_the_checkpoints_and_fewer_than_5_kb(ran: Ran) -> None:
    (each,) = ran.figures["claims"]["checkpoint_bytes_per_further_round"]

    assert 0 < each < 5000


def test_the_agents_database_grows_faster_than_its_rounds(ran: Ran) -> None:
    short, long = (run["database_bytes_per_round"] for run in ran.figures["runs"]["agent"])

    assert long > short


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ["floor", "blocking", "working"])
def test_the_floor_writes_the_engines_events(ran: Ran, name: str, length: int) -> None:
    engine = _events(_run_folder(ran, "engine", length), length)
    floor = _events(_run_folder(ran, name, length), length)

    assert len(floor) == 14 * length
    assert floor == engine


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ["floor", "blocking", "working"])
def test_the_floor_writes_the_engines_files(ran: Ran, name: str, length: int) -> None:
    engine = _files(_run_folder(ran, "engine", length), length)
    floor = _files(_run_folder(ran, name, length), length)

    assert len(floor) == 6 * length + min(length, 10)
    assert floor == engine


def test_too_short_a_run_is_refused() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--rounds", "1"], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "2 rounds" in done.stderr


def _run_folder(ran: Ran, name: str, length: int) -> Path:
    (folder,) = (ran.folder / f"{length}-0" / name).glob("_tauritavern/agent-workspaces/chats/*/runs/*")
    return folder


def _events(folder: Path, rounds: int) -> list[tuple[str, str, Json]]:
    """Of the rounds, from the first call to the last checkpoint: level, type and payload but for the time it took."""
    lines = (json.loads(line) for line in (folder / "events.jsonl").read_bytes().splitlines())
    told = [(line["level"], line["type"], line["payload"]) for line in lines]
    for _, _, payload in told:
        if payload and "elapsedMs" in payload:
            payload["elapsedMs"] = 0
    first = next(place for place, event in enumerate(told) if event[2] == {"status": "calling_model"})
    last = [place for place, event in enumerate(told) if event[1] == "checkpoint_created"][rounds - 1]
    return told[first : last + 1]


def _files(folder: Path, rounds: int) -> dict[str, bytes]:
    """What the rounds left, every run under one name; of a checkpoint's record without the time and the journal's count."""
    kept = ("model-responses", "tool-args", "tool-results", "output", "checkpoints")
    found: dict[str, bytes] = {}
    for name in kept:
        for path in (folder / name).rglob("*"):
            if path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes().replace(folder.name.encode(), b"run")
    for name in [name for name in found if name.endswith("checkpoint.json")]:
        record = json.loads(found[name])
        found[name] = json.dumps({**record, "runId": "", "createdAt": "", "eventSeq": 0}).encode()
    last = json.loads(found.pop(f"model-responses/round-{rounds + 1:03d}.json", b"{}"))
    found.pop(f"model-responses/round-{rounds + 1:03d}.body", None)
    for call in last.get("response", {}).get("toolCalls", []):
        _drop(found, folder, call["id"])
    return found


def _drop(found: dict[str, bytes], folder: Path, call_id: str) -> None:
    """The finishing call, which the floor does not make."""
    for line in (folder / "events.jsonl").read_bytes().splitlines():
        event = json.loads(line)
        if event["payload"] and event["payload"].get("callId") == call_id:
            for key in ("argumentsRef", "path"):
                found.pop(event["payload"].get(key, ""), None)
