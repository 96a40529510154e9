"""What the user gets wrong is told in one line, and the way out is in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from treadle import __version__
from treadle.graph.drawing import as_json, mermaid
from treadle.host.cli import exit_code
from treadle.host.demo.sample import Sample, fresh_sample
from treadle.host.svg import svg

SERVER = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
Said = pytest.CaptureFixture[str]


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return fresh_sample(tmp_path)


def refused(said: Said, *arguments: object) -> str:
    """The one line that a command with bad input leaves."""
    code = exit_code([str(argument) for argument in arguments])

    out, err = said.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("treadle: ")
    assert err.count("\n") == 1
    return err


def test_without_a_command_the_help_is_shown(capsys: Said) -> None:
    assert exit_code([]) == 0
    assert "demo" in capsys.readouterr().out


def test_the_version_is_said(capsys: Said) -> None:
    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out == f"treadle {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["weave"], "No such command 'weave'. See: treadle --help"),
        (["runs", "list", "--loud"], "No such option: --loud. See: treadle runs list --help"),
        (["run"], "Missing option '--chat'. See: treadle run --help"),
        (["graph", "--format", "gif"], "'gif' is not one of 'mermaid', 'json', 'svg', 'png'"),
        (["graph", "-o", "/nowhere/at/all.txt"], "the folder of /nowhere/at/all.txt does not exist; make it first"),
        (["runs", "list", "--limit", "0"], "--limit"),
    ],
)
def test_a_call_that_no_command_understands_says_where_to_look(capsys: Said, arguments: list[str], words: str) -> None:
    assert words in refused(capsys, *arguments)


@pytest.mark.parametrize(
    "command", [["list"], ["show", "r"], ["events", "r"], ["turn", "r", "1"], ["file", "r", "output/main.md"]]
)
def test_reading_below_a_folder_that_is_no_data_root_says_so(capsys: Said, tmp_path: Path, command: list[str]) -> None:
    assert "holds no runs; name the right one with --data" in refused(capsys, "runs", *command, "--data", tmp_path)
    assert "does not exist" in refused(capsys, "runs", *command, "--data", tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_a_data_root_that_is_a_file_is_refused(capsys: Said, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert "is a file; name a folder with --data" in refused(capsys, "demo", "--data", tmp_path / "file")


def run_with(said: Said, sample: Sample, tmp_path: Path, **changes: object) -> str:
    options = {"--chat": sample.chat, "--prompt": sample.prompt, "--data": tmp_path, **changes}
    given = [part for option, value in options.items() for part in (option, value)]
    before = sample.chat.read_bytes()

    line = refused(said, "run", *SERVER, *given)

    assert sample.chat.read_bytes() == before
    assert not (tmp_path / "_tauritavern").exists()
    return line


def test_a_chat_that_is_not_there_is_named(capsys: Said, sample: Sample, tmp_path: Path) -> None:
    missing = sample.chat.with_name("missing.jsonl")

    assert f"no chat file {missing}" in run_with(capsys, sample, tmp_path, **{"--chat": missing})


def test_a_chat_without_integrity_is_refused_with_the_remedy(capsys: Said, sample: Sample, tmp_path: Path) -> None:
    sample.chat.write_text('{"user_name":"U","character_name":"C","chat_metadata":{}}\n')

    line = run_with(capsys, sample, tmp_path)
    assert 'add an "integrity" string' in line


def test_a_snapshot_that_is_not_json_is_named_with_its_line(capsys: Said, sample: Sample, tmp_path: Path) -> None:
    sample.prompt.write_text('{\n  "a": 1,\n  oops\n}\n')

    assert f"{sample.prompt} is not JSON: line 3, column 3" in run_with(capsys, sample, tmp_path)


def test_a_snapshot_or_profile_that_is_missing_is_named(capsys: Said, sample: Sample, tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"

    assert f"{missing} does not exist" in run_with(capsys, sample, tmp_path, **{"--prompt": missing})
    assert f"no profile file {missing}" in run_with(capsys, sample, tmp_path, **{"--profile": missing})


def test_a_profile_that_breaks_a_rule_is_told_with_its_code(capsys: Said, sample: Sample, tmp_path: Path) -> None:
    profile = json.loads(sample.profile.read_text("utf-8"))
    profile["tools"]["maxRounds"] = 0
    sample.profile.write_text(json.dumps(profile))

    line = run_with(capsys, sample, tmp_path, **{"--profile": sample.profile})
    assert "agent.profile_max_rounds_invalid" in line


def test_a_key_variable_that_is_not_set_is_named(capsys: Said, sample: Sample, tmp_path: Path) -> None:
    line = run_with(capsys, sample, tmp_path, **{"--api-key-env": "TREADLE_TEST_NO_SUCH_KEY"})

    assert "TREADLE_TEST_NO_SUCH_KEY is not set" in line


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--base-url", "localhost:8080", "--base-url must begin with http:// or https://"),
        ("--generation-type", " ", "agent.invalid_generation_type"),
        ("--presentation", "loud", 'must be "foreground" or "background"'),
        ("--run-id", "../up", "A-Z a-z 0-9 _ -"),
    ],
)
def test_an_option_with_an_impossible_value_is_told(
    capsys: Said, sample: Sample, tmp_path: Path, option: str, value: str, words: str
) -> None:
    assert words in run_with(capsys, sample, tmp_path, **{option: value})


def test_a_graph_is_printed_in_the_words_of_its_format(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    drawn: dict[str, bytes] = {}
    for name in ("mermaid", "json", "svg"):
        assert exit_code(["graph", "--format", name]) == 0
        drawn[name] = capfdbinary.readouterr().out

    assert drawn["mermaid"].decode() == mermaid()
    assert json.loads(drawn["json"]) == as_json()
    assert drawn["svg"].decode() == svg()


def test_a_graph_goes_into_a_file_on_demand(capsys: Said, tmp_path: Path) -> None:
    assert exit_code(["graph", "--format", "svg", "-o", str(tmp_path / "g.svg")]) == 0

    assert (tmp_path / "g.svg").read_text("utf-8") == svg()
    assert capsys.readouterr().out == ""


def test_png_without_its_renderer_names_the_remedy(tmp_path: Path) -> None:
    code = "import sys; sys.modules['resvg_py'] = None; from treadle.host.cli import main; main()"
    command = [sys.executable, "-c", code, "graph", "--format", "png", "-o", str(tmp_path / "g.png")]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("treadle: PNG needs the extra `draw`: pip install 'treadle[draw]'")
    assert not (tmp_path / "g.png").exists()


def test_drawing_the_graph_does_not_import_the_graph_runtime() -> None:
    code = (
        "import sys; from treadle.host.cli import exit_code; exit_code(['graph']); "
        "sys.exit('langgraph' in sys.modules or 'langchain_core' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
