"""Connections on disk: one private file each, written whole, and none outside its folder."""

from __future__ import annotations

import stat
import sys
import traceback
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, StorageFailed, TreadleError
from treadle.storage.connections import FOLDER, SETTINGS, ConnectionFiles
from treadle.storage.disk import RealDisk

KEY = "sk-canary-7f3a9"


@pytest.fixture
def files(tmp_path: Path) -> ConnectionFiles:
    return ConnectionFiles(tmp_path, RealDisk())


def test_a_connection_is_one_file_that_comes_back_as_it_was(files: ConnectionFiles, tmp_path: Path) -> None:
    files.put("work", {"id": "work", "é": [1.5, None]})

    assert files.get("work") == {"id": "work", "é": [1.5, None]}
    assert (tmp_path / FOLDER / "work.json").is_file()


def test_the_ids_are_told_in_order_and_what_is_not_there_is_none(files: ConnectionFiles) -> None:
    assert (files.ids(), files.get("work"), files.settings(), files.remove("work")) == ([], None, None, False)
    for name in ("work", "home"):
        files.put(name, {})

    assert files.ids() == ["home", "work"]
    assert files.remove("home") is True
    assert files.ids() == ["work"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_record_is_for_its_owner_alone_also_where_an_older_one_was_not(files: ConnectionFiles) -> None:
    path = files.folder / "work.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    path.chmod(0o644)

    files.put("work", {"id": "work"})

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [left.name for left in files.folder.iterdir()] == ["work.json"]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", "a\0"])
def test_no_id_leads_out_of_the_folder(files: ConnectionFiles, name: str) -> None:
    for use in (lambda: files.get(name), lambda: files.put(name, {}), lambda: files.remove(name)):
        with pytest.raises(TreadleError):
            use()


def test_a_damaged_file_is_told_by_its_name_and_not_quoted(files: ConnectionFiles, tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "work.json").write_text(f'{{"a": "{KEY}')
    (tmp_path / SETTINGS).write_bytes(b"\xff")

    with pytest.raises(InvalidData, match=r"llm-connections/work\.json is not JSON") as refused:
        files.get("work")
    assert KEY not in "".join(traceback.format_exception(refused.value))
    with pytest.raises(InvalidData, match=r"llm-settings\.json is not JSON"):
        files.settings()


def test_a_disk_that_refuses_is_told_as_that(files: ConnectionFiles, tmp_path: Path) -> None:
    (tmp_path / FOLDER / "work.json").mkdir(parents=True)

    for use in (lambda: files.get("work"), lambda: files.put("work", {}), lambda: files.remove("work")):
        with pytest.raises(StorageFailed, match=r"work\.json"):
            use()
    assert [left.name for left in files.folder.iterdir()] == ["work.json"]
