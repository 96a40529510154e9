"""The list of MCP servers is read where it may be trusted, and an error quotes nothing of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, PermissionDenied
from treadle.storage.disk import RealDisk
from treadle.storage.mcp_servers import FILE, McpServersFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    return path


def test_the_document_is_read_as_it_is_and_none_is_none(path: Path, tmp_path: Path) -> None:
    file = McpServersFile(tmp_path, RealDisk())
    before = file.read()
    path.write_text('{"servers": {}}')

    assert (before, file.read()) == (None, {"servers": {}})


def test_what_is_no_json_is_refused_without_a_word_of_it(path: Path, tmp_path: Path) -> None:
    path.write_text('{"env": "sk-canary"')

    with pytest.raises(InvalidData) as refused:
        McpServersFile(tmp_path, RealDisk()).read()
    assert refused.value.error_code == "mcp.settings_invalid"
    assert "canary" not in refused.value.message
    assert (refused.value.__cause__, refused.value.__context__) == (None, None)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_file_that_anybody_may_write_is_refused(path: Path, tmp_path: Path) -> None:
    path.write_text("{}")
    path.chmod(0o646)

    with pytest.raises(PermissionDenied, match="chmod o-w"):
        McpServersFile(tmp_path, RealDisk()).read()
