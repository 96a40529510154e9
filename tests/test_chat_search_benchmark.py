"""The benchmark of chat.search runs, and what it counts is right; times are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.graph.jsontext import Json

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "chat_search.py"


def figures(*options: str) -> Json:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--json", *options],
        capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_query_is_measured_on_a_chat_that_is_parsed_once(tmp_path: Path) -> None:
    told = figures("--dir", str(tmp_path))

    assert (told["messages"], told["first_parsed"]) == (3000, 3000 + 20)
    assert 300 < told["bytes"] / told["messages"] < 700
    assert {each["what"]: each["words"] for each in told["timed"]} == {
        "one word": 7,
        "three words": 3,
        "a word that no message has": 6,
        "Chinese, four characters": 4,
        "Chinese, a sentence": 14,
        "Chinese, two words": 2,
    }
    assert all(each["later_ms"] > 0 for each in told["timed"])
    assert list(tmp_path.iterdir()) == []
