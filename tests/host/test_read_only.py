"""A data root that an ordinary user may read and not write: reading needs nothing more, and all else is refused in a line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from treadle.host.cli import exit_code
from treadle.host.demo.sample import Sample, fresh_sample
from treadle.storage.database import RunDatabase
from treadle.storage.disk import RealDisk
from treadle.storage.runs import DATABASE, RunStore
from treadle.testkit.ports import ManualClock

from . import ordinary

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="its permissions are other ones, and it can't fork"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where others may look in, as they may not below pytest's own."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    _writable(made)
    shutil.rmtree(made)


@pytest.fixture
def data(folder: Path) -> Path:
    """A data root with one run that has ended, read-only."""
    root = folder / "data"
    assert exit_code(["demo", "--yes", "--json", "--data", str(root)]) == 0
    _read_only(root)
    return root


def test_runs_are_read_back_and_nothing_is_written(data: Path) -> None:
    run = _run_of(data)
    asked = [
        ["runs", "list"], ["runs", "show", run], ["runs", "events", run], ["runs", "turn", run, "1"],
        ["runs", "file", run, "output/main.md"], ["wire", run, "1"], ["approve", run], ["resume", run],
        ["cancel", run], ["skills", "list"], ["profiles", "list"], ["connections", "list"],
    ]  # fmt: skip
    before = _tree(data)
    told = _as_ordinary_user("commands", data, asked)

    for arguments, (code, out, err) in zip(asked, told, strict=True):
        assert (code, err) == (0, ""), arguments
        assert out, arguments
    assert _tree(data) == before


def test_a_start_is_refused_in_a_line_and_leaves_nothing(data: Path, folder: Path) -> None:
    sample = _sample(folder)
    before = _tree(data)
    ((code, out, err),) = _as_ordinary_user("commands", data, [_start(sample)])

    assert (code, out) == (1, "")
    assert err.startswith("treadle: ")
    assert err.endswith("Permission denied (agent.storage_failed)\n")
    assert err.count("\n") == 1
    assert _tree(data) == before


def test_so_it_is_where_the_data_root_can_not_even_be_made(folder: Path) -> None:
    sample = _sample(folder)
    (folder / "closed").mkdir()
    _read_only(folder / "closed")
    ((code, out, err),) = _as_ordinary_user("commands", folder / "closed", [_start(sample, root="DATA/new")])

    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "Permission denied" in err
    assert list((folder / "closed").iterdir()) == []


@pytest.mark.parametrize("state", ["closed", "live", "left by a crash"])
def test_the_database_of_a_run_is_read_in_every_state(state: str, data: Path) -> None:
    _writable(data)
    store = RunStore(data, RealDisk())
    database = RunDatabase(store.folder(store.load(*store.names())) / DATABASE, clock=ManualClock())
    database.acquire("somebody")
    database.mark("word", "said")
    copy = data.with_name("copy")
    if state == "closed":
        database.close()
    if state == "left by a crash":
        shutil.copytree(data, copy)
    read = copy if state == "left by a crash" else data
    _read_only(read)
    before = _tree(read)
    told = _as_ordinary_user("database", read, [])
    after = _tree(read)
    _writable(read)
    database.close()

    assert told == [["said", True]]
    assert after == before


def test_a_folder_that_becomes_read_only_ends_its_run_in_the_journal_and_a_resume_in_its_record(folder: Path) -> None:
    own = folder / "own"
    own.mkdir()
    if os.geteuid() == 0:
        os.chown(own, ordinary.NOBODY, ordinary.NOBODY)
    stopped, ended = _as_ordinary_user("writing", own, [])

    reason = "writing wire/round-002-1.json: Permission denied"
    assert stopped[0].startswith(f"agent.storage_failed: {reason} (and the run's end could not be recorded: ")
    assert stopped[1:] == ["run_failed", reason]
    assert ended == ["failed", "run_failed", reason]


def _as_ordinary_user(play: str, data: Path, lines: list[list[str]]) -> list[Any]:
    words = [json.dumps([*line, "--data", "DATA"] if "--data" not in line else line) for line in lines]
    told = subprocess.run(
        [sys.executable, "-m", ordinary.__name__, play, str(data), *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert told.stdout.strip(), told.stderr
    found: list[Any] = json.loads(told.stdout)
    return found


def _run_of(data: Path) -> str:
    (name,) = RunStore(data, RealDisk()).names()
    return name


def _sample(folder: Path) -> Sample:
    """A chat of the user's own; nothing listens where the model should be."""
    (folder / "chats").mkdir()
    sample = fresh_sample(folder / "chats")
    for path in (folder / "chats", *(folder / "chats").rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return sample


def _start(sample: Sample, root: str = "DATA") -> list[str]:
    return [
        "run", "--chat", str(sample.chat), "--prompt", str(sample.prompt), "--base-url", "http://127.0.0.1:9/v1",
        "--model", "m", "--data", root,
    ]  # fmt: skip


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of each file; of each folder, what is in it."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in (folder, *folder.rglob("*"))
    }


def _read_only(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)


def _writable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
