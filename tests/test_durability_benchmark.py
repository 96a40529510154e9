"""The benchmark of durability runs all its parts; times are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.graph.jsontext import Json

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "durability.py"


@pytest.fixture(scope="module")
def figures() -> list[dict[str, Json]]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--json"], capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Json]] = json.loads(done.stdout)["figures"]
    return found


def test_every_figure_stands_beside_a_floor(figures: list[dict[str, Json]]) -> None:
    assert [(each["what"], each["floor"]) for each in figures] == [
        ("resume", "reading its files"),
        ("resume", "reading its files"),
        ("page from the middle", "sed"),
        ("page from the middle", "reading it whole"),
        ("last page", "tail"),
        ("page from the middle, index lost", "sed"),
        ("round with followers", "with one"),
        ("list_runs, warm", "reading the index"),
    ]
    assert all(each["ms"] > 0 and each["floor_ms"] > 0 for each in figures)


def test_a_part_is_printed_as_a_table() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--part", "pages", "--quick"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("| what | size | ms | floor | floor ms | ratio | target |")
