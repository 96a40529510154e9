from __future__ import annotations

from pathlib import Path

import pytest

from tests.nodes.desk import Desk, desk
from treadle.graph.errors import ToolRefused
from treadle.graph.jsontext import Json
from treadle.graph.paths import WorkspacePath
from treadle.nodes.files import folders, read_text, size
from treadle.storage.disk import RealDisk
from treadle.storage.workspace import FolderWorkspace, PathEscapes


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside.md").write_text("SECRET")
    return tmp_path / "outside.md"


@pytest.fixture
def real(tmp_path: Path) -> Desk:
    folder = tmp_path / "run"
    (folder / "output").mkdir(parents=True)
    return Desk(workspace=FolderWorkspace(folder, RealDisk()))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("workspace.read_file", {"path": "output/link.md"}),
        ("workspace.write_file", {"path": "output/link.md", "content": "x"}),
        ("workspace.write_file", {"path": "output/link.md", "content": "x", "mode": "append"}),
        ("workspace.search_files", {"query": "SECRET"}),
        ("workspace.list_files", {"path": "output"}),
    ],
)
def test_no_tool_follows_a_link(name: str, arguments: Json, real: Desk, outside: Path, tmp_path: Path) -> None:
    (tmp_path / "run/output/link.md").symlink_to(outside)

    with pytest.raises(PathEscapes):
        real.send(name, arguments)
    assert outside.read_text() == "SECRET"


def test_the_tools_work_on_real_files_byte_for_byte(real: Desk, tmp_path: Path) -> None:
    real.call("workspace.write_file", path="output/b.md", content="\ufeffA\r\nB\r\n")

    assert not real.call("workspace.apply_patch", path="output/b.md", old_string="B", new_string="C").is_error
    assert (tmp_path / "run/output/b.md").read_bytes() == b"\xef\xbb\xbfA\r\nC\r\n"


def test_a_file_in_the_place_of_a_folder_is_told(real: Desk) -> None:
    real.call("workspace.write_file", path="output/a.md", content="x")

    assert real.call("workspace.read_file", path="output/a.md/b.md").error_code == "workspace.file_not_found"
    result = real.call("workspace.write_file", path="output/a.md/b.md", content="x")
    assert result.error_code == "workspace.invalid_path"


def test_the_longest_name_can_be_written(real: Desk) -> None:
    path = "output/" + "é" * 127

    assert not real.call("workspace.write_file", path=path, content="x").is_error
    assert real.call("workspace.write_file", path=path + "ab", content="x").error_code == "workspace.invalid_path"


def test_a_text_is_read_or_refused(real: Desk) -> None:
    real.put("output/a.md", "text")

    assert read_text(real.workspace, WorkspacePath("output/a.md")) == "text"
    with pytest.raises(ToolRefused) as refusal:
        read_text(real.workspace, WorkspacePath("output/none.md"))
    assert refusal.value.code == "workspace.file_not_found"


def test_folders_and_sizes_read_as_a_sentence() -> None:
    assert folders(("output",)) == "output/"
    assert folders(("output", "plan", "scratch")) == "output/, plan/ and scratch/"
    assert size(1, 1) == "1 char, 1 word"
    assert size(0, 2) == "0 chars, 2 words"


@pytest.mark.parametrize(("data", "text"), [(b"a\x00bc", True), (b"h\x00i\x00", False), (b"\x00", False), (b"", True)])
def test_a_file_that_is_mostly_nul_is_no_text(data: bytes, text: bool) -> None:
    seated = desk({"output/a.md": data})

    assert seated.call("workspace.read_file", path="output/a.md").is_error is not text
    assert seated.call("workspace.search_files", query="x").structured["skippedFiles"] == (0 if text else 1)
