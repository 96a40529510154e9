"""The benchmark of the tools runs all its parts; times are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.graph.jsontext import Json

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "tools.py"


@pytest.fixture(scope="module")
def figures() -> Json:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--json"], capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_part_tells_its_figures(figures: Json) -> None:
    for part, told in figures.items():
        assert told["benchmark"] == part
        assert told["machine"]["cores"]


def test_the_check_is_measured_for_a_sound_call_and_for_one_that_is_refused(figures: Json) -> None:
    for tool in figures["argument_check"]["tools"]:
        assert tool["sound_us"] > 0
        assert tool["refused_us"] > 0
        assert " must be " in tool["refusal"]


def test_one_part_is_printed_under_its_heading() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--part", "argument_check", "--quick"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("## Checking the arguments of a call\n\n| ")
