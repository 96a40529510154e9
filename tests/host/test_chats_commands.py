"""`treadle chats forget`: all that is kept of a chat goes, the chat file stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.engine.services import SystemClock
from treadle.graph.status import RunStatus
from treadle.host.cli import exit_code
from treadle.storage.database import RunDatabase
from treadle.storage.runs import DATABASE

from ..storage.chats.samples import GREETING, STABLE_ID, write_chat
from ..storage.run_shelf import RunShelf


@pytest.fixture
def shelf(tmp_path: Path) -> RunShelf:
    shelf = RunShelf(tmp_path / "data")
    shelf.put("run_1", chat=STABLE_ID)
    shelf.put("run_2", chat="other")
    return shelf


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    return write_chat(tmp_path / "chats", GREETING)


def forget(shelf: RunShelf, *arguments: str) -> int:
    return exit_code(["chats", "forget", *arguments, "--data", str(shelf.data_root)])


def test_what_is_kept_goes_and_the_chat_stays(shelf: RunShelf, chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = chat.read_bytes()

    assert forget(shelf, str(chat), "--yes") == 0
    assert capsys.readouterr().out == f"{chat}: 1 run and the persistent files removed\n"
    assert forget(shelf, str(chat), "--yes") == 0
    assert capsys.readouterr().out == f"{chat}: there was nothing\n"

    assert [path for path in shelf.files() if "run_1" in path] == []
    assert shelf.store.exists("run_2")
    assert chat.read_bytes() == before


def test_programs_get_json(shelf: RunShelf, chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert forget(shelf, str(chat), "--yes", "--json") == 0

    (gone,) = json.loads(capsys.readouterr().out)
    assert (gone["removed"], gone["runIds"]) == (True, ["run_1"])


def test_nothing_goes_where_nobody_can_be_asked(
    shelf: RunShelf, chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forget(shelf, str(chat)) == 2

    assert "add --yes" in capsys.readouterr().err
    assert shelf.store.exists("run_1")


def test_a_run_under_way_is_named(shelf: RunShelf, chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = shelf.put("run_3", chat=STABLE_ID, status=RunStatus.CALLING_MODEL)
    database = RunDatabase(shelf.store.folder(record) / DATABASE, clock=SystemClock())
    database.acquire("somebody")
    database.close()

    assert forget(shelf, str(chat), "--yes") == 2

    err = capsys.readouterr().err
    assert "run_3" in err
    assert "agent.workspace_in_use" in err
    assert shelf.store.exists("run_1")


def test_chats_of_two_folders_are_forgotten_one_by_one(
    shelf: RunShelf, chat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_chat(tmp_path / "more", GREETING)

    assert forget(shelf, str(chat), str(other), "--yes") == 2

    assert "is not in the same folder of chats" in capsys.readouterr().err
    assert shelf.store.exists("run_1")
