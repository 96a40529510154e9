"""The pages say what the code does: made parts are up to date, examples print what they say, links lead somewhere."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from treadle.host.cli import exit_code

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WITH_EXAMPLES = ("approval", "context", "embedding", "errors", "machine", "mcp", "profiles", "rewinding")
WITH_COMMANDS = ("skills",)


class Example(NamedTuple):
    line: int
    code: str
    prints: str


def test_what_is_made_from_the_code_is_up_to_date() -> None:
    made = _make("--check")

    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.slow
def test_a_page_that_says_otherwise_than_the_code_is_named(tmp_path: Path) -> None:
    for path in (*PAGES, DOCS / "profile.schema.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    altered = (
        (tmp_path / "events.md").read_text("utf-8").replace("| `run_created` | info |", "| `run_created` | warn |")
    )
    (tmp_path / "events.md").write_text(altered, "utf-8")

    made = _make("--check", "--pages", str(tmp_path))

    assert (made.returncode, made.stdout) == (1, "stale: events.md\n")


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_the_examples_of_a_page_run_and_print_what_it_says(page: str, tmp_path: Path) -> None:
    names: dict[str, object] = {}
    with contextlib.chdir(tmp_path):
        for example in _examples(DOCS / f"{page}.md"):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(example.code, f"{page}.md, example at line {example.line}", "exec"), names)  # noqa: S102 - our own pages

            assert said.getvalue() == example.prints, f"{page}.md, line {example.line}"


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_examples_and_commands_of_a_page_print_what_it_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREADLE_DATA", raising=False)
    names: dict[str, object] = {}
    with contextlib.chdir(tmp_path):
        for example in _examples_and_commands(DOCS / f"{page}.md"):
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                if example.code.startswith("treadle "):
                    exit_code(shlex.split(example.code)[1:])
                else:
                    exec(compile(example.code, f"{page}.md, example at line {example.line}", "exec"), names)  # noqa: S102 - our own pages

            assert said.getvalue() == example.prints, f"{page}.md, line {example.line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_link_of_a_page_leads_to_a_file_or_a_heading(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    inside = [link for link in links if "://" not in link]

    assert [link for link in inside if not _leads(page, link)] == []


def test_the_index_names_every_page() -> None:
    index = (DOCS / "README.md").read_text("utf-8")

    assert [page.name for page in PAGES if page.name != "README.md" and f"({page.name})" not in index] == []


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DOCS / "make.py"), *arguments], capture_output=True, text=True, check=False
    )


def _examples(page: Path) -> list[Example]:
    """Each python block, and what the text block right below it says that it prints."""
    text = page.read_text("utf-8")
    found = re.finditer(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", text, re.DOTALL | re.MULTILINE)
    return [Example(text.count("\n", 0, match.start()) + 1, match[1], match[2] or "") for match in found]


def _examples_and_commands(page: Path) -> list[Example]:
    """The examples, and each `$ treadle …` of the console blocks with the lines below it, in the order of the page."""
    text = page.read_text("utf-8")
    found = _examples(page)
    for block in re.finditer(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for match in re.finditer(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block[1], re.MULTILINE):
            found.append(Example(text.count("\n", 0, block.start(1) + match.start()) + 1, match[1], match[2]))
    return sorted(found)


def _leads(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name) if name else page
    if not target.exists():
        return False
    headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE) if anchor else []
    return not anchor or anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
