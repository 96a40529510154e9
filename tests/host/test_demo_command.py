"""The demo is a whole run, and what it prints at its end is true."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from treadle.graph.profiles.resolved import SEED_TOOLS, default_writer, parse_profile
from treadle.host.cli import exit_code
from treadle.host.demo.sample import Sample, bundled, fresh_sample
from treadle.host.demo.script import BETTER, CODA, DRAFT, FOUND, MISREMEMBERED
from treadle.testkit.simulators.registry import SIMULATORS


@dataclass(frozen=True)
class Shown:
    root: Path
    out: str
    err: str

    @property
    def chat(self) -> list[dict[str, Any]]:
        (file,) = self.root.glob("demo/1/chats/*/*.jsonl")
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    root = tmp_path_factory.mktemp("data")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), chdir(root.parent):
        assert exit_code(["demo", "--data", str(root)]) == 0
    return Shown(root, out.getvalue(), err.getvalue())


def test_the_writer_is_said_to_be_scripted(shown: Shown) -> None:
    assert "the writer is scripted" in shown.out.splitlines()[0]


@pytest.mark.parametrize("provider_format", list(SIMULATORS))
def test_each_provider_format_shows_the_same_run(provider_format: str, tmp_path: Path, shown: Shown) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        assert exit_code(["demo", "--format", provider_format, "--data", str(tmp_path)]) == 0

    assert f"a local server that speaks {provider_format}." in out.getvalue().splitlines()[0]
    (chat,) = tmp_path.glob("demo/1/chats/*/*.jsonl")
    assert [json.loads(line).get("mes") for line in chat.read_text("utf-8").splitlines()] == [
        message.get("mes") for message in shown.chat
    ]


def test_a_format_that_is_not_known_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["demo", "--format", "bedrock", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (f"treadle: --format bedrock is not known; these are: {', '.join(SIMULATORS)}\n")


def test_each_step_is_a_line_with_its_outcome_and_time(shown: Shown) -> None:
    assert re.search(r"^resolve_profile +resolved +\d+ ms  harbour-writer", shown.out, re.MULTILINE)
    assert re.search(r"^finish +completed +\d+ ms", shown.out, re.MULTILINE)


@pytest.mark.parametrize(
    "line",
    [
        r"call_model +transient .* answered 429",
        r"dispatch_tools +next_round .* chat.search chat:current#1",
        r" +worldinfo.read_activated worldinfo:Sill Harbour#7",
        r" +skill.read skills/slow-reveal/SKILL.md",
        r"dispatch_tools +approval_needed .* commit waits for approval",
        r"await_approval +decided .* commit approved",
        r"  backoff +waited .* attempt 2 after 100 ms",
        r"  attempt +tools_called .* round 1: 3 tool calls",
        r"dispatch_tools +wrote .* write_file output/main.md",
        r"dispatch_tools +next_round .* apply_patch refused: workspace.patch_old_string_not_found",
        r" +apply_patch output/main.md",
        r"dispatch_tools +next_round .* search_files",
        r"commit +committed .* output/main.md -> message 8 \(replace\)",
        r"commit +committed .* output/coda.md -> message 8 \(append\)",
        r"dispatch_tools +finish_called .* finish",
    ],
)
def test_the_script_shows_what_a_run_can_meet(shown: Shown, line: str) -> None:
    assert re.search(rf"^{line}", shown.out, re.MULTILINE)


def test_the_reply_on_the_screen_is_the_one_in_the_chat_file(shown: Shown) -> None:
    reply = shown.chat[-1]

    assert reply["mes"] == DRAFT.replace(FOUND, BETTER) + CODA
    assert reply["mes"] in shown.out
    assert reply["name"] == "Odile Marr"
    assert len(shown.chat) == 10  # the header, the eight messages of the sample, and the reply


def test_nothing_goes_to_stderr(shown: Shown) -> None:
    assert shown.err == ""


@pytest.mark.slow
def test_the_next_commands_work_when_they_are_pasted(tmp_path: Path) -> None:
    demo = [sys.executable, "-m", "treadle", "demo", "--data", "my data"]
    shown = subprocess.run(demo, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    commands = shown.partition("Try next:\n")[2].splitlines()

    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "run_" in done.stdout or "== Round 1" in done.stdout


def test_the_run_folder_that_is_told_holds_the_run(shown: Shown) -> None:
    folder = re.search(r"^Run folder: (.+)$", shown.out, re.MULTILINE)

    assert folder
    assert (shown.root.parent / folder[1] / "events.jsonl").is_file()


def test_each_demo_works_on_a_chat_of_its_own(tmp_path: Path) -> None:
    first, second = fresh_sample(tmp_path), fresh_sample(tmp_path)

    headers = [json.loads(_header(sample)) for sample in (first, second)]
    assert first.chat != second.chat
    assert headers[0]["chat_metadata"]["integrity"] != headers[1]["chat_metadata"]["integrity"]
    assert first.chat.read_bytes().split(b"\n")[1:] == second.chat.read_bytes().split(b"\n")[1:]


def test_the_demos_profile_is_the_built_in_one_with_a_shorter_wait_and_a_question_before_a_commit() -> None:
    profile = parse_profile(json.loads(bundled("profile.json")), known_tools=SEED_TOOLS).to_json()
    built_in = default_writer().to_json()

    assert profile["run"]["modelRetry"].pop("intervalMs") == 100
    assert profile["tools"].pop("approval") == ["workspace.commit"]
    for document in (profile, built_in):
        document["run"]["modelRetry"].pop("intervalMs", None)
        document["tools"].pop("approval", None)
        for name in ("id", "displayName", "description"):
            document.pop(name)
    assert profile == built_in


def test_what_the_writer_searches_for_stands_in_the_chat_and_not_in_the_prompt() -> None:
    assert b"coppers" in bundled("chat.jsonl")
    assert b"coppers" not in bundled("prompt.json")


def test_with_no_terminal_the_demo_says_that_it_answers_itself(shown: Shown) -> None:
    assert "no terminal to ask at" in shown.out.splitlines()[2]


def test_the_word_yes_on_the_command_line_needs_no_telling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["demo", "--yes", "--data", str(tmp_path)]) == 0
    assert "no terminal" not in capsys.readouterr().out


def test_a_skill_that_the_user_has_changed_stays_as_it_is(tmp_path: Path) -> None:
    assert exit_code(["demo", "--yes", "--data", str(tmp_path)]) == 0
    (installed,) = tmp_path.glob("_tauritavern/skills/installed/*/SKILL.md")
    mine = installed.read_text("utf-8") + "\nAnd hurry.\n"
    installed.write_text(mine, "utf-8")

    assert exit_code(["demo", "--yes", "--data", str(tmp_path)]) == 0
    assert installed.read_text("utf-8") == mine


def test_the_first_patch_misquotes_the_draft_and_the_second_does_not() -> None:
    assert MISREMEMBERED not in DRAFT
    assert DRAFT.count(FOUND) == 1


def _header(sample: Sample) -> bytes:
    return sample.chat.read_bytes().split(b"\n", 1)[0]
