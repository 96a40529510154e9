"""The benchmark of searches over files runs, and tells what it says it tells; times are not looked at."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.graph.jsontext import Json

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "file_search.py"


@pytest.fixture(scope="module")
def searches() -> Json:
    asked = [sys.executable, str(SCRIPT), "--quick", "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["searches"]


def test_both_tools_are_asked_the_same(searches: Json) -> None:
    queries = ["zeppelin", "river", "river zeppelin", "齐柏林", "河边", "quasar"]

    assert [(each["tool"], each["query"]) for each in searches] == [
        (tool, query) for tool in ("workspace.search_files", "skill.search") for query in queries
    ]


def test_all_files_are_read_and_what_is_in_them_is_found(searches: Json) -> None:
    assert {each["read"] for each in searches} == {60}
    assert [each["hits"] for each in searches] == [1, 20, 20, 1, 20, 0] * 2


def test_every_figure_is_one(searches: Json) -> None:
    for each in searches:
        assert each["first_ms"] > 0 < each["later_ms"]
        assert each["memory_bytes"] >= 0
        assert (each["ratio"] is None) == (shutil.which("rg") is None)
