"""The documents show what the code prints, and their examples run."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.host.serving import serving
from treadle.graph.drawing import mermaid
from treadle.graph.table import TRANSITIONS
from treadle.host.cli import exit_code
from treadle.host.demo.sample import fresh_sample
from treadle.host.demo.script import turns
from treadle.host.svg import svg

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/graph.md", "docs/cli.md", "docs/reading-runs.md")


def blocks(page: str, language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", read(page), re.MULTILINE | re.DOTALL)
    return found


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def test_the_picture_is_the_one_that_the_code_draws() -> None:
    assert read("docs/graph.svg") == svg(), "make it anew: treadle graph --format svg -o docs/graph.svg"


def test_the_mermaid_text_is_the_one_that_the_code_draws() -> None:
    assert blocks("docs/graph.md", "mermaid") == [mermaid()], "make it anew: treadle graph"


def test_every_step_is_explained() -> None:
    assert [step for step in TRANSITIONS if f"| `{step}` |" not in read("docs/graph.md")] == []


def test_the_readme_shows_the_picture_and_two_set_up_commands() -> None:
    commands = blocks("README.md", "sh")

    assert "](docs/graph.svg)" in read("README.md")
    assert [command.count("\n") for command in commands] == [1, 1]
    assert commands[0].endswith("&& .venv/bin/treadle demo\n")
    assert "-r requirements/run.txt" in commands[0]
    assert commands[1] == ".ci/test\n"


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        assert exit_code(["demo", "--data", str(tmp_path)]) == 0

    (shown,) = blocks("README.md", "text")
    assert _timeless(shown) in _timeless(out.getvalue())


@pytest.mark.parametrize("example", blocks("README.md", "python"))
def test_an_example_of_the_readme_runs(example: str, tmp_path: Path) -> None:
    sample = fresh_sample(tmp_path)
    with serving(turns()[1:]) as server:
        said = _run(example, str(sample.chat), str(sample.prompt), server.base_url, folder=tmp_path)

    assert said.splitlines()[-1].endswith("completed")
    assert "She threads the shuttle" in sample.chat.read_text("utf-8")


def test_the_example_that_reads_runs_runs(tmp_path: Path) -> None:
    with redirect_stdout(io.StringIO()):
        exit_code(["demo", "--data", str(tmp_path)])
    (example,) = blocks("docs/reading-runs.md", "python")

    said = _run(example, str(tmp_path), folder=tmp_path)

    assert "run_completed" in said
    assert "Odile holds the hem" in said


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", read(page))
    missing = [link for link in links if "://" not in link and not (ROOT / page).parent.joinpath(link).exists()]

    assert missing == []


@pytest.fixture(scope="module")
def options() -> set[str]:
    """Every option that a command's help names."""
    commands = [["demo"], ["run"], ["graph"], ["resume"], ["approve"], ["cancel"], ["runs", "list"], ["runs", "events"]]
    commands += [["connections", "add"], ["secrets", "set"], ["profiles", "new"], ["profiles", "save"]]
    commands += [["skills", "install"], ["runs", "fork"], ["runs", "prune"], ["runs", "diff"], ["runs", "rollback"]]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for command in [*commands, ["doctor"]]:
            exit_code([*command, "--help"])
    return set(re.findall(r"--[a-z-]+", said.getvalue()))


@pytest.mark.parametrize("page", PAGES)
def test_every_option_that_is_named_exists(page: str, options: set[str]) -> None:
    pip = {"--no-deps"}

    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", read(page))) - options - pip == set()


def _run(example: str, *arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example, *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _timeless(text: str) -> str:
    """The text without its times, and with single blanks: what is the same in every run."""
    return re.sub(r" +", " ", re.sub(r"\b\d+ ms(?=  |$)", "# ms", text, flags=re.MULTILINE))
