"""The benchmark of the gateway runs, and tells what it says it tells; times are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from treadle.gateway.gateway import FORMATS
from treadle.graph.jsontext import Json

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "gateway.py"


@pytest.fixture(scope="module")
def figures() -> Json:
    asked = [sys.executable, str(SCRIPT), "--quick", "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_request_is_measured_in_every_format(figures: Json) -> None:
    assert [cost["format"] for cost in figures["encode"]] == sorted(FORMATS)
    assert {cost["what"] for cost in figures["encode"]} == {"request"}
    assert all(35_000 < cost["bytes"] < 50_000 for cost in figures["encode"])


def test_two_answers_are_measured_in_every_format(figures: Json) -> None:
    told = [(cost["format"], cost["what"], cost["items"]) for cost in figures["decode"]]

    assert told == [(name, what, calls) for name in sorted(FORMATS) for what, calls in (("text", 0), ("calls", 2))]


def test_every_time_is_a_time(figures: Json) -> None:
    for cost in [*figures["encode"], *figures["decode"]]:
        assert cost["ms"] > 0 < cost["floor_ms"]


def test_nothing_that_is_probed_is_changed_on_its_way_back(figures: Json) -> None:
    replays = [replay for replay in figures["fidelity"] if replay["name"] == "this gateway"]

    assert Counter(replay["format"] for replay in replays) == {
        "claude_messages": 7, "gemini": 7, "openai_responses": 10, "openai_compatible": 7,
    }  # fmt: skip
    assert {replay["outcome"] for replay in replays} == {"byte for byte"}
