"""`treadle wire` prints a round's calls as they went over the wire."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from treadle.host.cli import exit_code
from treadle.storage.runs import INDEX, TREE


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    printed("demo", "--data", str(root))
    return root


def printed(*arguments: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        assert exit_code(arguments) == 0
    return out.getvalue()


def run_of(root: Path) -> str:
    (file,) = (root / TREE / INDEX).iterdir()
    return file.stem


def test_each_attempt_is_printed_with_what_went_out_and_what_came(root: Path) -> None:
    told = printed("wire", run_of(root), "1", "--data", str(root))

    first, second = told.split("== Round 1, attempt ")[1:]
    assert first.startswith("1, call 1: scripted-writer (openai_compatible, http)")
    assert "\n> POST http://127.0.0.1:" in first
    assert '{"model":"scripted-writer","stream":false' in first
    assert "\n< 429\n" in first
    assert "Out of breath; ask again." in first
    assert "\n< 200\n" in second
    assert '"tool_calls":[' in second


def test_programs_get_the_records(root: Path) -> None:
    told = json.loads(printed("wire", run_of(root), "7", "--data", str(root), "--json"))

    ((call,),) = [attempt["calls"] for attempt in told["attempts"]]
    assert len(json.loads(call["request"]["body"])["messages"]) > 15
    assert "authorization" not in call["request"]["headers"]


def test_a_round_that_was_not_asked_for_is_one_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["wire", run_of(root), "99", "--data", str(root)]) == 2
    assert capsys.readouterr().err.startswith(f"treadle: the wire log of run {run_of(root)} holds no round 99")
