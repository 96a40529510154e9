"""`treadle runs prune`: shows first, does nothing unasked, and says what it did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.graph.status import RunStatus
from treadle.host.cli import exit_code

from ..storage.run_shelf import RunShelf

FEW = ("--keep-recent", "2", "--keep-full", "1")


@pytest.fixture
def shelf(tmp_path: Path) -> RunShelf:
    shelf = RunShelf(tmp_path)
    for number in range(4):
        shelf.put(f"run_{number}", created=number)
    shelf.put("run_left", status=RunStatus.CALLING_MODEL)
    return shelf


def prune(shelf: RunShelf, *options: str) -> int:
    return exit_code(["runs", "prune", *options, "--data", str(shelf.data_root)])


def runs(shelf: RunShelf) -> list[str]:
    return sorted(path.stem for path in (shelf.store.root / "index" / "runs").iterdir())


def test_the_plan_is_shown_and_nothing_is_changed(shelf: RunShelf, capsys: pytest.CaptureFixture[str]) -> None:
    before = runs(shelf)

    assert prune(shelf, *FEW) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4:3] for line in lines[2:-1]] == [
        ["run_1", "delete"],
        ["run_0", "delete"],
        ["run_2", "slim"],
        ["run_left", "active"],
    ]
    assert "outside history retention window" in lines[2]
    assert "left alone active run: the run has not ended: calling_model" in " ".join(lines[-2].split())
    assert lines[-1] == "2 to delete, 1 to slim, 1 kept, 1 left alone"
    assert runs(shelf) == before


def test_without_numbers_the_settings_count(shelf: RunShelf, capsys: pytest.CaptureFixture[str]) -> None:
    assert prune(shelf) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 to delete, 0 to slim, 4 kept, 1 left alone"


def test_it_is_done_when_asked_for_and_a_second_time_there_is_nothing(
    shelf: RunShelf, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prune(shelf, *FEW, "--apply", "--yes") == 0
    assert capsys.readouterr().out == "2 deleted, 1 slimmed\n"
    assert runs(shelf) == ["run_2", "run_3", "run_left"]

    assert prune(shelf, *FEW, "--apply", "--yes") == 0
    assert capsys.readouterr().out == "0 deleted, 0 slimmed\n"


def test_programs_get_json(shelf: RunShelf, capsys: pytest.CaptureFixture[str]) -> None:
    assert prune(shelf, *FEW, "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert prune(shelf, *FEW, "--apply", "--yes", "--details", "1", "--json") == 0
    result = json.loads(capsys.readouterr().out)

    assert plan["counts"] == {
        "keep": 1,
        "slim_heavy_artifacts": 1,
        "delete_run": 2,
        "blocked": 1,
        "unfinishedDeletions": 0,
    }
    assert (result["deleted"], result["slimmed"], result["failed"]) == (2, 1, 0)
    assert (len(result["plan"]["runs"]), result["plan"]["omitted"]) == (1, 1)


def test_nothing_is_deleted_where_nobody_can_be_asked(shelf: RunShelf, capsys: pytest.CaptureFixture[str]) -> None:
    before = runs(shelf)

    assert prune(shelf, *FEW, "--apply") == 2

    assert "add --yes" in capsys.readouterr().err
    assert runs(shelf) == before


def test_a_failure_is_told_by_its_run_and_its_exit_code(shelf: RunShelf, capsys: pytest.CaptureFixture[str]) -> None:
    mark = shelf.store.root / "index" / "deleting" / "run_1.json"
    mark.mkdir(parents=True)

    assert prune(shelf, *FEW, "--apply", "--yes") == 1

    out, err = capsys.readouterr()
    assert out == "1 deleted, 1 slimmed\n"
    assert "treadle: run run_1: " in err
    assert "run_1" in runs(shelf)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--keep-recent", "-1"), "agent.retention_invalid"),
        (("--keep-recent", "5"), "must not be more than keepRecentTerminalRuns"),
        (("--details", "1001"), "agent.retention_detail_limit_invalid"),
    ],
)
def test_what_can_not_be_asked_is_told_in_one_line(
    shelf: RunShelf, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    assert prune(shelf, *options) == 2

    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
