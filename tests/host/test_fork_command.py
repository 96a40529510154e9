"""`treadle runs fork`: a run is gone on from where it stood, on the screen and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.host.serving import serving
from treadle.host.cli import exit_code
from treadle.host.demo.sample import Sample, fresh_sample

from .test_run_command import COMMIT, FINISH, GOOD, Said, command

BEGINS_AGAIN = (*GOOD, COMMIT, FINISH)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return fresh_sample(tmp_path)


def fork(sample: Sample, *more: str) -> list[str]:
    return ["runs", "fork", "mine", "--data", str(sample.prompt.parents[2]), *more]


def test_a_fork_is_seen_to_its_end_from_where_it_began(sample: Sample, capsys: Said) -> None:
    with serving(BEGINS_AGAIN) as server:
        exit_code(command(sample, server.base_url, "--run-id", "mine"))
        capsys.readouterr()
        code = exit_code(fork(sample, "--checkpoint", "cp_000001", "--run-id", "other"))

    out, err = capsys.readouterr()
    steps = [line.split()[0] for line in out.splitlines() if line.startswith(("call_model", "commit", "checkpoint"))]
    assert (code, err) == (0, "")
    assert steps == ["call_model", "commit", "call_model"]
    assert "Run other: completed" in out


def test_json_tells_the_end_of_the_fork_and_its_own_message(sample: Sample, capsys: Said) -> None:
    with serving([*GOOD, FINISH, COMMIT, FINISH]) as server:
        exit_code(command(sample, server.base_url, "--run-id", "mine", "--json"))
        before = json.loads(capsys.readouterr().out)
        root = str(sample.prompt.parents[2])
        exit_code(["runs", "events", "mine", "--data", root, "--json"])
        events = json.loads(capsys.readouterr().out)["events"]
        at = next(event["seq"] for event in events if event["type"] == "chat_commit_recorded")
        code = exit_code(fork(sample, "--at", str(at), "--run-id", "other", "--json"))

    told = json.loads(capsys.readouterr().out)
    exit_code(["runs", "show", "other", "--data", root, "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (told["runId"], told["reply"]) == ("other", before["reply"])
    assert int(told["messageId"]) == int(before["messageId"]) + 1
    assert (shown["commitCount"], shown["messageId"]) == (1, told["messageId"])


def test_what_can_not_be_forked_is_one_line(sample: Sample, capsys: Said) -> None:
    with serving(GOOD) as server:
        exit_code(command(sample, server.base_url, "--run-id", "mine"))
    capsys.readouterr()

    for more, told in (
        ((), "give either atSeq or checkpointId"),
        (("--at", "2"), "start a new run instead"),
        (("--checkpoint", "cp_000077"), "has no checkpoint cp_000077"),
        (("--at", "30", "--profile", "nobody"), "there is no profile nobody"),
    ):
        assert exit_code(fork(sample, *more)) == 2
        err = capsys.readouterr().err
        assert told in err
        assert err.count("\n") == 1
