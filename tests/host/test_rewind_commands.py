"""What a run changed is shown as a diff that other programs take, and it is rolled back once a person said so."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from treadle.host.cli import exit_code
from treadle.host.demo.script import DRAFT
from treadle.storage.disk import RealDisk
from treadle.storage.runs import RunStore


@dataclass(frozen=True)
class Root:
    """A data root that holds a demo's run and its chat."""

    path: Path

    @property
    def run(self) -> str:
        (name,) = RunStore(self.path, RealDisk()).names()
        return name

    @property
    def run_folder(self) -> Path:
        return next(self.path.glob("_tauritavern/agent-workspaces/chats/*/runs/*"))

    @property
    def chat(self) -> Path:
        return next(self.path.glob("demo/1/chats/*/*.jsonl"))

    def call(self, command: str, *arguments: str, code: int = 0) -> tuple[str, str]:
        """What `treadle runs <command> RUN …` prints on both streams; here is no terminal."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            assert exit_code(["runs", command, self.run, *arguments, "--data", str(self.path)]) == code, err.getvalue()
        return out.getvalue(), err.getvalue()

    def json(self, command: str, *arguments: str) -> Any:
        return json.loads(self.call(command, *arguments, "--json")[0])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = tmp_path_factory.mktemp("data")
    with redirect_stdout(io.StringIO()):
        assert exit_code(["demo", "--data", str(root)]) == 0
    return Root(root)


@pytest.fixture
def root(demo: Root, tmp_path: Path) -> Root:
    """A copy, to be changed."""
    return Root(Path(shutil.copytree(demo.path, tmp_path / "data")))


def test_the_checkpoints_are_listed(demo: Root) -> None:
    lines = demo.call("checkpoints")[0].splitlines()

    assert lines[0].split() == ["checkpoint", "seq", "time", "reason", "files"]
    assert lines[2].split()[0] == "cp_000001"
    assert "output/main.md (" in lines[2]
    assert [one["id"] for one in demo.json("checkpoints")] == [f"cp_{number:06d}" for number in range(1, 7)]


def test_a_diff_is_printed_as_it_is_and_can_be_applied(demo: Root, tmp_path: Path) -> None:
    shown, _ = demo.call("diff", "--from", "cp_000001", "--to", "cp_000002")
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "main.md").write_text(DRAFT, "utf-8")
    subprocess.run(["git", "apply", "-p1"], cwd=tmp_path, input=shown.encode(), check=True)

    now = (demo.run_folder / "output" / "main.md").read_text("utf-8")
    assert (tmp_path / "output" / "main.md").read_text("utf-8") == now


def test_a_diff_of_some_paths_in_json(demo: Root) -> None:
    found = demo.json("diff", "output/main.md", "persist", "--from", "cp_000002")

    assert [(file["path"], file["status"]) for file in found["files"]] == [
        ("output/main.md", "unchanged"),
        ("persist/threads.md", "added"),
    ]
    assert found["fromCheckpointId"] == "cp_000002"


def test_a_file_without_a_diff_is_a_remark(root: Root) -> None:
    (root.run_folder / "output" / "main.md").write_bytes(b"\xff")

    assert root.call("diff", "output/main.md", "persist/threads.md", "--from", "cp_000003")[0].splitlines() == [
        "# output/main.md: modified (no text, so no diff)",
        "# persist/threads.md: unchanged",
    ]


def test_without_a_terminal_a_rollback_says_what_it_would_do_and_needs_yes(root: Root) -> None:
    before = (root.run_folder / "events.jsonl").read_bytes()
    _, said = root.call("rollback", "cp_000001", code=2)

    assert said.splitlines() == [
        "remove output/coda.md",
        "put back output/main.md",
        "remove persist/threads.md",
        "treadle: there is no terminal to ask at; add --yes to do it. Nothing was changed",
    ]
    assert (root.run_folder / "events.jsonl").read_bytes() == before


def test_with_yes_the_files_are_put_back(root: Root) -> None:
    done = root.json("rollback", "cp_000001", "--yes")

    assert done["scope"] == "workspace"
    assert [file["path"] for file in done["files"]] == ["output/coda.md", "output/main.md", "persist/threads.md"]
    assert (root.run_folder / "output" / "main.md").read_text("utf-8") == DRAFT
    assert root.call("rollback", "cp_000001", "--yes")[1] == "no file changes\n"


def test_the_message_is_put_back_in_the_chat_that_is_named(root: Root) -> None:
    messages = root.chat.read_bytes().splitlines()
    options = ("--scope", "committed-message", "--chat", str(root.chat), "--yes")
    out, said = root.call("rollback", "cp_000004", *options)

    assert "will be what these commits made it: output/main.md (replace, cp_000004)" in said
    assert out == f"Run {root.run}: its message is as at cp_000004.\n"
    now = (root.run_folder / "output" / "main.md").read_text("utf-8")
    assert json.loads(root.chat.read_bytes().splitlines()[-1])["mes"] == now
    _, said = root.call("rollback", "cp_000001", *options)

    assert said == f"the run's message, or its swipe, will be removed from {root.chat}\n"
    assert root.chat.read_bytes().splitlines() == messages[:-1]


def test_an_unknown_checkpoint_is_one_line_and_nothing_is_asked(root: Root) -> None:
    _, said = root.call("rollback", "cp_000009", code=2)

    assert said == (
        f"treadle: run {root.run} has no checkpoint 'cp_000009'; the nearest are cp_000006, cp_000005, cp_000004\n"
    )


def test_how_long_a_run_took_is_not_changed_by_a_rollback(root: Root) -> None:
    before = root.json("show")["seconds"]
    root.call("rollback", "cp_000001", "--yes")

    assert root.json("show")["seconds"] == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(("answer", "code"), [("n", 130), ("y", 0)])
def test_at_a_terminal_a_person_is_asked(root: Root, answer: str, code: int) -> None:
    ours, theirs = os.openpty()
    os.write(ours, f"{answer}\n".encode())
    command = [sys.executable, "-m", "treadle", "runs", "rollback", root.run, "cp_000001", "--data", str(root.path)]
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False, timeout=60)
    os.close(ours)
    os.close(theirs)

    assert done.returncode == code
    assert done.stderr.startswith("remove output/coda.md\nput back output/main.md\nremove persist/threads.md\nDo it?")
    assert ((root.run_folder / "output" / "main.md").read_text("utf-8") == DRAFT) is (answer == "y")
