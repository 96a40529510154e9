"""The workspace in a folder and its twin in memory; links and other traps of a real disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, InvalidInput, StorageFailed
from treadle.graph.paths import ROOTS, WorkspacePath
from treadle.graph.text import sha256_bytes
from treadle.storage.disk import RealDisk
from treadle.storage.workspace import (
    FileMissing,
    FileNotText,
    FolderWorkspace,
    IsDirectory,
    PathEscapes,
    PathUnusable,
    Workspace,
    read_host_file,
)
from treadle.testkit.faults import FaultyDisk
from treadle.testkit.workspace import MemoryWorkspace

from .workspace_contract import WorkspaceContract, at


class TestMemoryWorkspace(WorkspaceContract):
    @pytest.fixture
    def workspace(self) -> Workspace:
        return MemoryWorkspace(roots=ROOTS)


class TestFolderWorkspace(WorkspaceContract):
    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Workspace:
        return folder_workspace(tmp_path / "run")


def folder_workspace(run_dir: Path) -> FolderWorkspace:
    for root in ROOTS:
        (run_dir / root).mkdir(parents=True)
    return FolderWorkspace(run_dir, RealDisk())


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def workspace(run_dir: Path) -> FolderWorkspace:
    return folder_workspace(run_dir)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("SECRET")
    return folder


Access = Callable[[FolderWorkspace, WorkspacePath], object]

ACCESSES: list[Access] = [
    lambda workspace, path: workspace.read_bytes(path),
    lambda workspace, path: workspace.read_text(path),
    lambda workspace, path: workspace.sha256(path),
    lambda workspace, path: workspace.kind(path),
    lambda workspace, path: workspace.write_bytes(path, b"new"),
    lambda workspace, path: workspace.scan(path, ROOTS, 2),
]


class TestLinks:
    @pytest.mark.parametrize("access", ACCESSES)
    @pytest.mark.parametrize("target", ["secret", "none", "."])
    def test_a_link_in_place_of_a_file_is_never_followed(
        self, workspace: FolderWorkspace, run_dir: Path, outside: Path, access: Access, target: str
    ) -> None:
        (run_dir / "output" / "link").symlink_to(outside / target)

        with pytest.raises(PathEscapes, match="output/link"):
            access(workspace, at("output/link"))
        assert [path.name for path in outside.iterdir()] == ["secret"]
        assert (outside / "secret").read_text() == "SECRET"

    @pytest.mark.parametrize("access", ACCESSES)
    @pytest.mark.parametrize("inside", [True, False])
    def test_a_link_above_a_file_is_never_followed_wherever_it_leads(
        self, workspace: FolderWorkspace, run_dir: Path, outside: Path, access: Access, inside: bool
    ) -> None:
        (run_dir / "input").mkdir()
        (run_dir / "input" / "secret").write_text("SECRET")
        folder = run_dir / "input" if inside else outside
        (run_dir / "output" / "link").symlink_to(folder, target_is_directory=True)

        for path in ("output/link/secret", "output/link/new/file"):
            with pytest.raises(PathEscapes):
                access(workspace, at(path))
        assert [path.name for path in folder.iterdir()] == ["secret"]
        assert (folder / "secret").read_text() == "SECRET"

    def test_a_root_that_is_a_link_is_refused(self, workspace: FolderWorkspace, run_dir: Path, outside: Path) -> None:
        (run_dir / "plan").rmdir()
        (run_dir / "plan").symlink_to(outside)

        with pytest.raises(PathEscapes):
            workspace.scan(None, ROOTS, 1)
        with pytest.raises(PathEscapes):
            workspace.read_bytes(at("plan/secret"))

    def test_a_link_met_while_listing_is_refused(
        self, workspace: FolderWorkspace, run_dir: Path, outside: Path
    ) -> None:
        (run_dir / "output" / "a").mkdir()
        (run_dir / "output" / "a" / "link").symlink_to(outside / "secret")

        assert [entry.path for entry in workspace.scan(at("output"), ROOTS, 0)] == ["output/a"]
        with pytest.raises(PathEscapes):
            workspace.scan(at("output"), ROOTS, 1)

    def test_the_way_to_the_run_may_hold_links(self, run_dir: Path, workspace: FolderWorkspace, tmp_path: Path) -> None:
        workspace.write_bytes(at("output/a"), b"x")
        (tmp_path / "way").symlink_to(run_dir)

        assert FolderWorkspace(tmp_path / "way", RealDisk()).read_bytes(at("output/a")) == b"x"


class TestOddFiles:
    @pytest.mark.parametrize("access", ACCESSES)
    def test_a_pipe_is_refused_and_does_not_hang(
        self, workspace: FolderWorkspace, run_dir: Path, access: Access
    ) -> None:
        os.mkfifo(run_dir / "output" / "pipe")

        with pytest.raises(InvalidData, match="neither a file nor a folder"):
            access(workspace, at("output/pipe"))

    def test_a_name_that_is_not_utf_8_is_refused(self, workspace: FolderWorkspace, run_dir: Path) -> None:
        try:
            (run_dir / "output" / os.fsdecode(b"\xff")).write_bytes(b"")
        except OSError:
            return  # this system holds no such names

        with pytest.raises(InvalidData, match="not UTF-8"):
            workspace.scan(at("output"), ROOTS, 0)

    def test_what_a_crash_left_of_a_write_is_not_listed(self, workspace: FolderWorkspace, run_dir: Path) -> None:
        (run_dir / "output" / "main.md.0123456789abcdef.tmp").write_bytes(b"half")

        assert workspace.scan(None, ("output",), 4) == workspace.scan(None, ("output",), 0)

    @pytest.mark.parametrize("access", ACCESSES[:5])
    @pytest.mark.parametrize("path", ["output/" + "n" * 256, "output/" + "n" * 256 + "/a"])
    def test_a_name_longer_than_the_system_holds_can_be_mended(
        self, workspace: FolderWorkspace, access: Access, path: str
    ) -> None:
        with pytest.raises(PathUnusable, match="longer"):
            access(workspace, at(path))

    def test_a_path_too_long_to_write_says_so(self, workspace: FolderWorkspace) -> None:
        with pytest.raises(PathUnusable, match="longer"):
            workspace.write_bytes(at("output/" + "/".join(["d" * 200] * 40)), b"x")


class TestFaults:
    def test_a_full_disk_leaves_the_old_text(self, workspace: FolderWorkspace, run_dir: Path) -> None:
        workspace.write_bytes(at("output/a"), b"old")
        disk = FaultyDisk(RealDisk())
        disk.fail("replace", error=errno.ENOSPC)

        with pytest.raises(StorageFailed, match="writing output/a"):
            FolderWorkspace(run_dir, disk).write_bytes(at("output/a"), b"new")
        assert workspace.read_bytes(at("output/a")) == b"old"

    def test_a_broken_disk_is_no_missing_file(self, workspace: FolderWorkspace, run_dir: Path) -> None:
        workspace.write_bytes(at("output/a"), b"old")
        disk = FaultyDisk(RealDisk())
        disk.fail("read_plain", error=errno.EIO)

        with pytest.raises(StorageFailed, match="reading output/a"):
            FolderWorkspace(run_dir, disk).sha256(at("output/a"))

    def test_a_write_into_an_existing_folder_makes_no_folder(self, workspace: FolderWorkspace, run_dir: Path) -> None:
        disk = FaultyDisk(RealDisk())
        FolderWorkspace(run_dir, disk).write_bytes(at("output/a"), b"x")

        assert [touch.operation for touch in disk.log] == ["replace"]
        assert [path.name for path in (run_dir / "output").iterdir()] == ["a"]


class TestHostFile:
    def test_any_text_file_of_the_run_can_be_read_whole(self, workspace: FolderWorkspace, run_dir: Path) -> None:
        workspace.write_bytes(at("input/prompt_snapshot.json"), text := "\ufeffzwei Wörter 日本\r\n".encode())
        found = read_host_file(run_dir, "./input//prompt_snapshot.json")

        assert found.path == "input/prompt_snapshot.json"
        assert found.text.encode() == text
        assert (found.sha256, found.chars, found.words) == (sha256_bytes(text), 17, 4)

    @pytest.mark.parametrize("path", ["", "  ", "../x", "/etc/passwd", "C:/x", "output\\..\\..\\x", "a\x00b", "."])
    def test_a_bad_path_is_refused(self, run_dir: Path, workspace: FolderWorkspace, path: str) -> None:
        with pytest.raises(InvalidInput):
            read_host_file(run_dir, path)

    @pytest.mark.parametrize("path", ["%2e%2e/secret", "..%2fsecret", "output/none"])
    def test_a_percent_sign_is_only_a_character(self, run_dir: Path, workspace: FolderWorkspace, path: str) -> None:
        (run_dir.parent / "secret").write_text("SECRET")

        with pytest.raises(FileMissing):
            read_host_file(run_dir, path)

    def test_folders_links_and_other_bytes_are_refused(
        self, run_dir: Path, workspace: FolderWorkspace, outside: Path
    ) -> None:
        (run_dir / "link").symlink_to(outside / "secret")
        (run_dir / "run.sqlite").write_bytes(b"SQLite\xff")

        for path, error in (("output", IsDirectory), ("link", PathEscapes), ("run.sqlite", FileNotText)):
            with pytest.raises(error):
                read_host_file(run_dir, path)


class TestRemoving:
    @pytest.fixture
    def workspace(self, tmp_path: Path) -> FolderWorkspace:
        return FolderWorkspace(tmp_path, RealDisk())

    def test_a_file_goes_and_nothing_else(self, workspace: FolderWorkspace) -> None:
        workspace.write_bytes(at("output/a/b.md"), b"x")
        workspace.write_bytes(at("output/c.md"), b"x")
        workspace.remove(at("output/a/b.md"))
        workspace.remove(at("output/none/none.md"))

        assert [entry.path for entry in workspace.scan(None, ROOTS, 9)] == ["output", "output/a", "output/c.md"]

    def test_a_folder_goes_only_without_files(self, workspace: FolderWorkspace, tmp_path: Path) -> None:
        workspace.write_bytes(at("output/a/b/c.md"), b"x")
        with pytest.raises(PathUnusable):
            workspace.remove(at("output/a"))
        workspace.remove(at("output/a/b/c.md"))
        workspace.remove(at("output/a"))

        assert list((tmp_path / "output").iterdir()) == []

    def test_no_link_is_followed(self, workspace: FolderWorkspace, tmp_path: Path) -> None:
        workspace.write_bytes(at("elsewhere/a.md"), b"x")
        (tmp_path / "output").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(PathEscapes):
            workspace.remove(at("output/a.md"))

        assert (tmp_path / "elsewhere" / "a.md").exists()
