"""`treadle runs list`: pages and choices, for people and for programs, and a line for each file that can't be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treadle.graph.status import RunStatus
from treadle.host.cli import exit_code

from ..storage.chats.samples import GREETING, STABLE_ID, write_chat
from ..storage.run_shelf import RunShelf


@pytest.fixture
def shelf(tmp_path: Path) -> RunShelf:
    shelf = RunShelf(tmp_path / "data")
    for number, status in enumerate((RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.COMPLETED)):
        shelf.put(f"run_{number}", created=number, status=status, chat=STABLE_ID if number == 1 else "other")
    return shelf


def listed(shelf: RunShelf, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert exit_code(["runs", "list", *options, "--data", str(shelf.data_root)]) == 0
    return capsys.readouterr().out


def page(shelf: RunShelf, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    return json.loads(listed(shelf, capsys, *options, "--json"))


def ids(found: Any) -> list[str]:
    return [run["runId"] for run in found["runs"]]


def test_pages_are_had_one_after_the_other(shelf: RunShelf, capsys: pytest.CaptureFixture[str]) -> None:
    first = page(shelf, capsys, "--limit", "2")
    second = page(shelf, capsys, "--limit", "2", "--before", first["nextCursor"]["runId"])

    assert (ids(first), ids(second)) == (["run_2", "run_1"], ["run_0"])
    assert "nextCursor" not in second


def test_people_are_told_how_to_go_on(shelf: RunShelf, capsys: pytest.CaptureFixture[str]) -> None:
    last = listed(shelf, capsys, "--limit", "2").splitlines()[-1]

    assert last.startswith("more: ")
    assert "runs list --before run_1 --data " in last


def test_runs_are_chosen_by_status_and_by_chat(
    shelf: RunShelf, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chat = write_chat(tmp_path / "chats", GREETING)

    assert ids(page(shelf, capsys, "--status", "failed")) == ["run_1"]
    assert ids(page(shelf, capsys, "--status", "failed", "--status", "completed")) == ["run_2", "run_1", "run_0"]
    assert ids(page(shelf, capsys, "--chat", str(chat))) == ["run_1"]


def test_a_file_that_can_not_be_read_has_a_line_below(shelf: RunShelf, capsys: pytest.CaptureFixture[str]) -> None:
    (shelf.store.root / "index/runs/run_bad.json").write_bytes(b"{")

    *table, last = listed(shelf, capsys).splitlines()

    assert [line.split()[0] for line in table[-3:]] == ["run_2", "run_1", "run_0"]
    assert last.startswith("can't be read: index/runs/run_bad.json: it is not a run record")
    assert [each["runId"] for each in page(shelf, capsys)["damaged"]] == ["run_bad"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--limit", "0"), "--limit"),
        (("--limit", "201"), "--limit"),
        (("--before", "run_nobody"), "no run run_nobody"),
        (("--status", "done"), "'done' is not one of"),
        (("--chat", "nowhere/tea.jsonl"), "tea"),
    ],
)
def test_what_can_not_be_asked_is_told_in_one_line(
    shelf: RunShelf, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    code = exit_code(["runs", "list", *options, "--data", str(shelf.data_root)])

    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
