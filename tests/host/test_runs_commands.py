"""Runs are read back as they were: as tables by people, as JSON by programs."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from treadle.host.cli import exit_code
from treadle.host.demo.script import BETTER, DRAFT, FOUND, THREADS
from treadle.storage.run_summaries import SUMMARIES
from treadle.storage.runs import INDEX, TREE


@dataclass(frozen=True)
class Reader:
    """`treadle runs` over one data root that holds a demo's run."""

    root: Path

    @property
    def run(self) -> str:
        (file,) = (self.root / TREE / INDEX).iterdir()
        return file.stem

    def text(self, *arguments: str) -> str:
        out = io.StringIO()
        with redirect_stdout(out):
            assert exit_code(["runs", *arguments, "--data", str(self.root)]) == 0
        return out.getvalue()

    def json(self, *arguments: str) -> Any:
        return json.loads(self.text(*arguments, "--json"))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    root = tmp_path_factory.mktemp("data")
    with redirect_stdout(io.StringIO()):
        assert exit_code(["demo", "--data", str(root)]) == 0
    return Reader(root)


def test_the_list_names_each_run_with_its_status_and_chat(reader: Reader) -> None:
    line = reader.text("list").splitlines()[-1]

    assert line.startswith(reader.run)
    assert "completed" in line
    assert "Odile Marr/" in line


def test_the_list_in_json_holds_the_page_of_summaries(reader: Reader) -> None:
    page = reader.json("list")
    (run,) = page["runs"]

    assert (page["damaged"], "nextCursor" in page) == ([], False)
    assert (run["runId"], run["status"], run["generationType"]) == (reader.run, "completed", "normal")
    assert (run["commitCount"], run["committedMessage"]["messageId"]) == (2, "8")


def test_a_run_is_shown_with_what_it_did(reader: Reader) -> None:
    shown = reader.text("show", reader.run)

    for fact in ("9, 1 asked again", "16, 1 refused", "2, message 8", "persist/threads.md", str(reader.root)):
        assert fact in shown


def test_a_run_in_json_holds_its_record_and_the_facts(reader: Reader) -> None:
    shown = reader.json("show", reader.run)

    assert shown["id"] == reader.run
    assert (shown["roundCount"], shown["attemptCount"], shown["commitCount"]) == (9, 10, 2)
    assert (shown["toolCallCount"], shown["refusedToolCallCount"]) == (16, 1)
    assert shown["files"] == ["output/coda.md", "output/main.md", "persist/threads.md"]
    assert shown["error"] is None


def test_the_events_are_the_whole_journal(reader: Reader) -> None:
    events = reader.json("events", reader.run)["events"]

    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run_created", "run_completed")
    assert len(reader.text("events", reader.run).splitlines()) == len(events) + 2  # the heading and its rule


def test_events_are_paged_by_their_numbers(reader: Reader) -> None:
    def seqs(*options: str) -> list[int]:
        return [event["seq"] for event in reader.json("events", reader.run, *options)["events"]]

    assert seqs("--after", "10", "--limit", "3") == [11, 12, 13]
    assert seqs("--before", "10", "--limit", "3") == [7, 8, 9]
    assert seqs("--limit", "2") == [1, 2]


def test_a_turn_is_what_the_model_said_and_called(reader: Reader) -> None:
    turn = reader.json("turn", reader.run, "5")

    assert [call["name"] for call in turn["toolCalls"]] == ["workspace.read_file", "workspace.apply_patch"]
    assert turn["assistant"]["text"] in reader.text("turn", reader.run, "5")


def test_a_file_is_printed_as_it_is(reader: Reader) -> None:
    assert reader.text("file", reader.run, "output/main.md") == DRAFT.replace(FOUND, BETTER)
    assert reader.json("file", reader.run, "persist/threads.md")["text"] == THREADS


def test_tables_for_a_pipe_have_no_blanks_at_the_ends_of_their_lines(reader: Reader) -> None:
    for arguments in (["list"], ["show", reader.run], ["events", reader.run], ["turn", reader.run, "1"]):
        assert [line for line in reader.text(*arguments).splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "run_nobody"], "no run run_nobody"),
        (["show", "../x"], "no run '../x'"),
        (["events", "run_nobody"], "no run run_nobody"),
        (["turn", "RUN", "99"], "has no round 99"),
        (["turn", "RUN", "0"], "agent.model_turn_round_invalid"),
        (["file", "RUN", "output/none.md"], "output/none.md"),
        (["file", "RUN", "../../run.json"], "leaves the workspace"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(
    reader: Reader, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    given = [reader.run if argument == "RUN" else argument for argument in arguments]

    code = exit_code(["runs", *given, "--data", str(reader.root)])

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_reading_changes_nothing_but_a_cache(reader: Reader) -> None:
    shutil.rmtree(reader.root / TREE / SUMMARIES, ignore_errors=True)
    before = {path: path.read_bytes() for path in reader.root.rglob("*") if path.is_file()}

    for arguments in (["list"], ["show", reader.run], ["events", reader.run], ["turn", reader.run, "1"]):
        reader.text(*arguments)

    assert [path.name for path in (reader.root / TREE / SUMMARIES).iterdir()] == [f"{reader.run}.json"]
    shutil.rmtree(reader.root / TREE / SUMMARIES)
    assert {path: path.read_bytes() for path in reader.root.rglob("*") if path.is_file()} == before
