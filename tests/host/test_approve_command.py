"""A run from the command line whose calls wait for a person: at its terminal, at another one, or nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.host.serving import serving
from tests.scenarios.people import CODA, END, WRITE, WRITES, asking
from treadle.host.cli import exit_code
from treadle.host.demo.sample import Sample, fresh_sample
from treadle.testkit.replies import Call, calls

Said = pytest.CaptureFixture[str]
OTHER = Call("workspace.write_file", {"path": "output/main.md", "content": "The second try."}, id="other")


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return fresh_sample(tmp_path)


def command(sample: Sample, base_url: str, *more: str, approval: Sequence[str] = WRITES) -> list[str]:
    """`treadle run` on the sample, under a profile that lets nothing be written (or these be called) unasked."""
    profile = sample.prompt.parent / "asking.json"
    profile.write_text(json.dumps(asking(list(approval))))
    return [
        "run", "--chat", str(sample.chat), "--prompt", str(sample.prompt), "--base-url", base_url, "--model", "m",
        "--profile", str(profile), "--run-id", "mine", "--data", _root(sample), *more,
    ]  # fmt: skip


def test_where_nobody_is_there_the_run_is_left_and_the_way_on_is_told(sample: Sample, capsys: Said) -> None:
    with serving([calls(WRITE, CODA), END]) as server:
        left = exit_code(command(sample, server.base_url))
        out, err = capsys.readouterr()
        listed = exit_code(["approve", "mine", "--data", _root(sample)])
        told = capsys.readouterr().out
        approved = exit_code(["approve", "mine", "write", "--data", _root(sample)])
        kept = capsys.readouterr().out
        again = exit_code(["resume", "mine", "--data", _root(sample)])
        still = capsys.readouterr().err
        exit_code(["approve", "mine", "coda", "--deny", "--reason", "no coda", "--data", _root(sample)])
        ended = exit_code(["resume", "mine", "--data", _root(sample)])

    assert (left, listed, approved, again, ended) == (1, 0, 0, 1, 0)
    assert (
        err
        == "treadle: workspace.write_file (call write) waits for a person, and nobody is at a terminal; the run was left\n"
    )
    assert "Run mine: waits for a person\n" in out
    assert "approve mine write" in out
    assert "resume mine" in out
    assert told.startswith(
        "[waiting] workspace.write_file (call write, round 1) asks to run with:\n  path: output/main.md\n"
    )
    assert "[later] workspace.write_file (call coda, round 1)" in told
    assert kept.startswith("Run mine: call write approved\nNobody drives the run now")
    assert "call coda" in still
    assert _reply(sample) == WRITE.arguments["content"]


@pytest.mark.parametrize("arguments", [{}, {"path": "output/main.md"}, {"path": " "}])
def test_of_a_commit_the_text_that_it_would_publish_is_shown(
    sample: Sample, capsys: Said, arguments: dict[str, str]
) -> None:
    commit = Call("workspace.commit", arguments, id="commit")
    with serving([calls(WRITE, commit), END]) as server:
        exit_code(command(sample, server.base_url, approval=["workspace.commit"]))
        capsys.readouterr()
        exit_code(["approve", "mine", "--data", _root(sample)])

    assert f"  the text: {WRITE.arguments['content']}\n" in capsys.readouterr().out


def test_yes_answers_for_every_call(sample: Sample, capsys: Said) -> None:
    with serving([calls(WRITE, CODA), END]) as server:
        code = exit_code(command(sample, server.base_url, "--yes"))

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert "write_file waits for approval" in out
    assert out.count("write_file approved") == 2


def test_yes_answers_too_where_a_run_goes_on(sample: Sample) -> None:
    with serving([calls(WRITE), END]) as server:
        codes = [
            exit_code(command(sample, server.base_url)),
            exit_code(["resume", "mine", "--yes", "--data", _root(sample)]),
        ]

    assert codes == [1, 0]


def test_json_tells_what_the_run_waits_for(sample: Sample, capsys: Said) -> None:
    with serving([calls(WRITE), END]) as server:
        code = exit_code(command(sample, server.base_url, "--json"))
        told = json.loads(capsys.readouterr().out)
        exit_code(["approve", "mine", "--json", "--data", _root(sample)])
        listed = json.loads(capsys.readouterr().out)
        exit_code(["approve", "mine", "write", "--json", "--data", _root(sample)])
        decided = json.loads(capsys.readouterr().out)

    assert (code, told["exitCode"], told["status"]) == (1, 1, "dispatching_tool")
    assert told["waitsFor"] == {**listed[0], "state": "waiting"}
    assert decided == {"runId": "mine", "callId": "write", "approved": True, "seenByDriver": False}


def test_a_call_may_run_with_other_arguments_from_a_file(sample: Sample, tmp_path: Path) -> None:
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps({"path": "output/main.md", "content": "It is the postman."}))
    with serving([calls(WRITE), END]) as server:
        exit_code(command(sample, server.base_url))
        exit_code(["approve", "mine", "write", "--arguments", str(changed), "--data", _root(sample)])
        ended = exit_code(["resume", "mine", "--data", _root(sample)])

    assert ended == 0
    assert _reply(sample) == "It is the postman."


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        (["write", "--deny", "--arguments", "ARGUMENTS"], "editedArguments goes only with approved: true"),
        (["write", "--arguments", "nowhere.json"], "nowhere.json does not exist"),
        (["coda"], "no request coda is waiting; write is (agent.tool_approval_not_pending)"),
        (["--deny"], "name the call that is meant"),
    ],
)
def test_a_bad_word_is_one_line_on_stderr(
    sample: Sample, tmp_path: Path, capsys: Said, more: list[str], fault: str
) -> None:
    (tmp_path / "arguments.json").write_text("{}")
    given = [str(tmp_path / "arguments.json") if word == "ARGUMENTS" else word for word in more]
    with serving([calls(WRITE), END]) as server:
        exit_code(command(sample, server.base_url))
        capsys.readouterr()
        code = exit_code(["approve", "mine", *given, "--data", _root(sample)])

    err = capsys.readouterr().err
    assert code == 2
    assert fault in err
    assert err.count("\n") == 1


def test_a_run_at_which_nothing_waits_has_nothing_to_list(sample: Sample, capsys: Said) -> None:
    with serving([calls(WRITE), END]) as server:
        exit_code(command(sample, server.base_url, "--yes"))
    capsys.readouterr()

    assert exit_code(["approve", "mine", "--data", _root(sample)]) == 0
    assert capsys.readouterr().out == "Run mine: no call waits for a person\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
class TestTerminal:
    def test_a_person_says_no_with_a_reason_and_then_yes(self, sample: Sample, capsys: Said) -> None:
        with (
            serving([calls(WRITE), calls(OTHER), END]) as server,
            _at_a_terminal(sample, server.base_url) as (run, type_),
        ):
            _until(lambda: "Allow it?" in run.said())
            shown = run.said()
            type_("what?\nno\ntoo wet\n")
            _until(lambda: run.said().count("Allow it?") == 3)
            type_("y\n")
            code = run.process.wait(30)
            asked = server.requests[1].json()["messages"][-1]["content"]

        assert code == 0
        assert "  path: output/main.md\n" in shown
        assert WRITE.arguments["content"] in shown
        assert "too wet" in asked
        assert _reply(sample) == "The second try."

    def test_another_terminal_may_be_quicker(self, sample: Sample, capsys: Said) -> None:
        with serving([calls(WRITE), END]) as server, _at_a_terminal(sample, server.base_url) as (run, _):
            _until(lambda: "Allow it?" in run.said())
            approved = exit_code(["approve", "mine", "write", "--data", _root(sample)])
            code = run.process.wait(30)

        assert (approved, code) == (0, 0)
        assert capsys.readouterr().out == "Run mine: call write approved\n"
        assert "The question no longer stands." in run.said()

    def test_a_cancel_ends_the_question_and_the_program(self, sample: Sample, capsys: Said) -> None:
        with serving([calls(WRITE), END]) as server, _at_a_terminal(sample, server.base_url) as (run, _):
            _until(lambda: "Allow it?" in run.said())
            cancelled = exit_code(["cancel", "mine", "--data", _root(sample)])
            code = run.process.wait(30)

        assert (cancelled, code) == (0, 130)
        assert "Fatal" not in run.said()


class _Run:
    """A `treadle run` at a pseudo-terminal, and what it has said on stderr."""

    def __init__(self, process: subprocess.Popen[bytes], errors: Path) -> None:
        self.process = process
        self._errors = errors

    def said(self) -> str:
        return self._errors.read_text("utf-8")


@contextmanager
def _at_a_terminal(sample: Sample, base_url: str) -> Generator[tuple[_Run, Callable[[str], Any]]]:
    """Standard input is a terminal; the question whether to write into the chat is answered."""
    master, slave = os.openpty()
    errors = sample.prompt.parent / "stderr.txt"
    arguments = [sys.executable, "-m", "treadle", *command(sample, base_url)]
    with errors.open("wb") as stderr:
        process = subprocess.Popen(arguments, stdin=slave, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        run = _Run(process, errors)
        _until(lambda: "Write the reply into" in run.said())
        os.write(master, b"y\n")
        yield run, lambda text: os.write(master, text.encode())
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def _until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def _root(sample: Sample) -> str:
    return str(sample.prompt.parents[2])


def _reply(sample: Sample) -> str:
    last: dict[str, Any] = json.loads(sample.chat.read_text("utf-8").splitlines()[-1])
    return str(last["mes"])
