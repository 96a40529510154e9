"""`treadle run` against a server, to each of its ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.host.serving import serving
from treadle.host.cli import exit_code
from treadle.host.demo.sample import Sample, fresh_sample
from treadle.testkit.replies import call, calls, error, text

WRITE = calls(call("workspace.write_file", path="output/main.md", content="The fog lifts."))
COMMIT = calls(call("workspace.commit"))
FINISH = calls(call("workspace.finish"))
GOOD = (WRITE, COMMIT, FINISH)

Said = pytest.CaptureFixture[str]


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return fresh_sample(tmp_path)


def command(sample: Sample, base_url: str, *more: str) -> list[str]:
    """`treadle run` on the sample; its data root is where the sample lies."""
    root = sample.prompt.parents[2]
    return [
        "run", "--chat", str(sample.chat), "--prompt", str(sample.prompt), "--base-url", base_url, "--model", "m",
        "--data", str(root), *more,
    ]  # fmt: skip


def reply_of(sample: Sample) -> str:
    last: dict[str, Any] = json.loads(sample.chat.read_text("utf-8").splitlines()[-1])
    return str(last["mes"])


def test_a_run_that_completes_shows_the_reply_and_leaves_0(sample: Sample, capsys: Said) -> None:
    with serving(GOOD) as server:
        code = exit_code(command(sample, server.base_url))

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert reply_of(sample) == "The fog lifts."
    assert "The fog lifts." in out
    assert ": completed\n" in out


def test_a_run_that_fails_says_why_on_stderr_and_leaves_1(sample: Sample, capsys: Said) -> None:
    with serving([text("I would rather talk.")]) as server:
        code = exit_code(command(sample, server.base_url))

    err = capsys.readouterr().err
    assert code == 1
    assert "model.tool_call_required" in err
    assert err.count("\n") == 1


def test_a_run_that_fails_after_a_commit_keeps_it_and_leaves_4(sample: Sample, capsys: Said) -> None:
    with serving([WRITE, COMMIT, error(400, "No more.")]) as server:
        code = exit_code(command(sample, server.base_url))

    assert code == 4
    assert reply_of(sample) == "The fog lifts."
    assert "partial success" in capsys.readouterr().out


def test_json_tells_the_end_and_nothing_else(sample: Sample, capsys: Said) -> None:
    with serving(GOOD) as server:
        exit_code(command(sample, server.base_url, "--json", "--run-id", "mine"))

    told = json.loads(capsys.readouterr().out)
    assert told["runId"] == "mine"
    assert told["status"] == "completed"
    assert told["exitCode"] == 0
    assert told["reply"] == "The fog lifts."
    assert Path(told["runFolder"], "run.json").is_file()


def test_the_chat_is_known_by_its_folder_and_its_stem(sample: Sample, capsys: Said) -> None:
    with serving(GOOD) as server:
        exit_code(command(sample, server.base_url, "--json"))

    chat_ref = json.loads(capsys.readouterr().out)["chatRef"]
    assert chat_ref == {"kind": "character", "characterId": sample.chat.parent.name, "fileName": sample.chat.stem}


def test_the_key_goes_to_the_server_and_only_its_name_to_the_disk(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOM_KEY", "sk-warp-and-weft")
    with serving(GOOD, api_key="sk-warp-and-weft") as server:
        code = exit_code(command(sample, server.base_url, "--api-key-env", "LOOM_KEY"))

    written = b"".join(path.read_bytes() for path in sample.prompt.parents[2].rglob("*") if path.is_file())
    assert code == 0
    assert b"env:LOOM_KEY" in written
    assert b"sk-warp-and-weft" not in written


def named(sample: Sample, **fields: str) -> None:
    """Let the sample's snapshot name its model itself."""
    snapshot = json.loads(sample.prompt.read_text("utf-8"))
    snapshot["chatCompletionPayload"] |= fields
    sample.prompt.write_text(json.dumps(snapshot))


def test_a_snapshot_that_names_another_model_is_refused(sample: Sample, capsys: Said) -> None:
    named(sample, model="theirs")

    with serving(GOOD) as server:
        code = exit_code(command(sample, server.base_url))
        assert server.requests == []

    assert code == 2
    assert "the snapshot says model 'theirs', --model says 'm'" in capsys.readouterr().err


def test_yes_takes_the_command_lines_model(sample: Sample) -> None:
    named(sample, model="theirs", chat_completion_source="openai")

    with serving(GOOD) as server:
        code = exit_code(command(sample, server.base_url, "--yes"))

    assert code == 0
    assert {request.json()["model"] for request in server.requests} == {"m"}


def test_the_same_run_id_and_input_is_the_same_run(sample: Sample, capsys: Said) -> None:
    with serving(GOOD) as server:
        again = [exit_code(command(sample, server.base_url, "--run-id", "mine")) for _ in range(2)]
        assert len(server.requests) == 3
        capsys.readouterr()

        other = exit_code(command(sample, server.base_url, "--run-id", "mine", "--generation-type", "swipe"))

    assert again == [0, 0]
    assert other == 2
    assert "agent.run_id_conflict" in capsys.readouterr().err


def test_ctrl_c_cancels_the_run_and_leaves_130(sample: Sample) -> None:
    with serving([WRITE, COMMIT.after(60)]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "treadle", *command(sample, server.base_url, "--run-id", "mine")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        _until(lambda: len(server.requests) == 2)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert err == "treadle: cancelling; Ctrl-C again leaves at once\n"
    assert "Run mine: cancelled" in out


def test_a_run_that_was_killed_is_cancelled_or_goes_on_from_another_process(sample: Sample, capsys: Said) -> None:
    root = sample.prompt.parents[2]
    with serving([WRITE, COMMIT.after(60)]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "treadle", *command(sample, server.base_url, "--run-id", "mine")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        _until(lambda: len(server.requests) == 2)

        assert exit_code(["runs", "events", "mine", "--data", str(root), "--json"]) == 0
        types = [event["type"] for event in json.loads(capsys.readouterr().out)["events"]]
        assert exit_code(["resume", "mine", "--data", str(root)]) == 1
        busy = capsys.readouterr().err
        assert exit_code(["cancel", "mine", "--data", str(root)]) == 0
        cancelled = capsys.readouterr().out
        process.wait(30)

    assert types[-1] == "model_call_attempt_started"
    assert "another process is driving run mine" in busy
    assert cancelled == "Run mine: cancelled\n"
    assert process.returncode == 130


def _until(true: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_cancel_leaves_a_run_that_ended_as_it_is(sample: Sample, capsys: Said) -> None:
    root = str(sample.prompt.parents[2])
    with serving(GOOD) as server:
        exit_code(command(sample, server.base_url, "--run-id", "mine"))
    capsys.readouterr()

    assert exit_code(["cancel", "mine", "--data", root]) == 0
    assert capsys.readouterr().out == "Run mine: already completed\n"


def test_resume_finds_the_chat_by_itself(sample: Sample, capsys: Said) -> None:
    root = str(sample.prompt.parents[2])
    with serving(GOOD) as server:
        exit_code(command(sample, server.base_url, "--run-id", "mine"))
    capsys.readouterr()

    assert exit_code(["resume", "mine", "--data", root]) == 0
    assert "The fog lifts." in capsys.readouterr().out
