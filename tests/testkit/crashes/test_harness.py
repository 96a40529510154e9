"""Runs are killed for real, in processes of their own: sound ones come to the same end, and planted faults are found."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidInput
from treadle.testkit.crashes.processes import warm

from . import planted, plays

ROOT = Path(__file__).resolve().parents[3]
SORTS = 95
"""More than any of the plays has sorts of points: so one of each is among the sample."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


def kill(module: str, name: str, folder: Path, sample: int, seed: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "treadle.testkit.crashes", f"{module}:{name}"]
    options = ["--folder", str(folder / "killed"), "--sample", str(sample), "--seed", str(seed)]
    return subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)


def test_a_run_that_is_killed_comes_to_the_same_end(tmp_path: Path) -> None:
    done = kill(plays.__name__, "COMMITS", tmp_path, sample=5)

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["points"] == 5
    assert [path.name for path in (tmp_path / "killed").iterdir()] == ["whole"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["DEMO", "COMMITS", "ASKED", "SESSION"])
def test_a_run_that_is_killed_at_every_sort_of_point_comes_to_the_same_end(name: str, tmp_path: Path) -> None:
    done = kill(plays.__name__, name, tmp_path, sample=SORTS)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", planted.FAULTS)
def test_a_fault_that_is_planted_is_found_and_its_folder_is_kept(name: str, tmp_path: Path) -> None:
    done = kill(planted.__name__, name, tmp_path, sample=3, seed=4)

    assert done.returncode == 1
    assert planted.FAULTS[name] in done.stderr
    assert "killed " in done.stderr
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) != ["whole"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json:dumps", "no_such_module:PLAY", "PLAY"])
def test_what_is_no_play_is_refused(name: str, tmp_path: Path) -> None:
    module, _, attribute = name.partition(":")
    done = kill(module, attribute, tmp_path, sample=1)

    assert done.returncode == 2
    assert "play" in done.stderr.lower()


def test_a_process_with_other_threads_is_not_forked() -> None:
    gate = threading.Event()
    other = threading.Thread(target=gate.wait)
    other.start()
    try:
        with pytest.raises(InvalidInput, match=r"python -m treadle\.testkit\.crashes"):
            warm()
    finally:
        gate.set()
        other.join()
