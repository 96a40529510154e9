"""What every workspace does, whatever it keeps its files in."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle.graph.paths import ROOTS, WorkspacePath
from treadle.graph.text import sha256_bytes
from treadle.storage.workspace import Entry, FileMissing, FileNotText, IsDirectory, PathUnusable, Workspace


def at(text: str) -> WorkspacePath:
    return WorkspacePath(text)


class WorkspaceContract:
    """A subclass gives `workspace`: empty, the five roots made."""

    @pytest.mark.parametrize("data", [b"", b"a\r\nb\rc\n", b"\xef\xbb\xbfbom", "é日🙂\u2028".encode(), b"no newline"])
    def test_text_comes_back_byte_for_byte(self, workspace: Workspace, data: bytes) -> None:
        workspace.write_bytes(at("output/main.md"), data)

        assert workspace.read_bytes(at("output/main.md")) == data
        assert workspace.read_text(at("output/main.md")).encode() == data
        assert workspace.sha256(at("output/main.md")) == sha256_bytes(data)

    # each write replaces the file whole, so examples may share a workspace; twins each run their own
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors])
    @given(data=st.binary())
    def test_any_bytes_come_back(self, workspace: Workspace, data: bytes) -> None:
        workspace.write_bytes(at("scratch/any"), data)

        assert workspace.read_bytes(at("scratch/any")) == data

    def test_a_byte_order_mark_is_kept_in_the_text(self, workspace: Workspace) -> None:
        workspace.write_bytes(at("output/a"), b"\xef\xbb\xbfx")

        assert workspace.read_text(at("output/a")) == "\ufeffx"

    def test_a_write_replaces_the_whole_file(self, workspace: Workspace) -> None:
        workspace.write_bytes(at("output/a"), b"a long first text")
        workspace.write_bytes(at("output/a"), b"short")

        assert workspace.read_bytes(at("output/a")) == b"short"

    def test_folders_above_a_new_file_are_made(self, workspace: Workspace) -> None:
        workspace.write_bytes(at("plan/a/b/c.md"), b"x")

        assert workspace.kind(at("plan/a/b")) == "directory"
        assert workspace.kind(at("plan/a/b/c.md")) == "file"

    def test_what_is_missing_is_said_to_be_missing(self, workspace: Workspace) -> None:
        workspace.write_bytes(at("output/file"), b"x")

        for path in ("output/none", "output/none/none", "output/file/none", "other"):
            assert workspace.kind(at(path)) is None
            assert workspace.sha256(at(path)) is None
            with pytest.raises(FileMissing):
                workspace.read_text(at(path))

    def test_a_folder_is_no_file(self, workspace: Workspace) -> None:
        workspace.write_bytes(at("output/folder/a"), b"x")

        with pytest.raises(IsDirectory):
            workspace.read_bytes(at("output/folder"))
        with pytest.raises(IsDirectory):
            workspace.sha256(at("output/folder"))
        with pytest.raises(IsDirectory):
            workspace.write_bytes(at("output/folder"), b"y")

    def test_no_file_can_stand_below_a_file(self, workspace: Workspace) -> None:
        workspace.write_bytes(at("output/a"), b"x")

        with pytest.raises(PathUnusable, match="output/a is a file"):
            workspace.write_bytes(at("output/a/b/c"), b"y")

    def test_bytes_that_are_no_text_are_named_so_and_can_still_be_read(self, workspace: Workspace) -> None:
        workspace.write_bytes(at("output/a.bin"), b"ok \xff\xfe")

        with pytest.raises(FileNotText, match="byte 3"):
            workspace.read_text(at("output/a.bin"))
        assert workspace.read_bytes(at("output/a.bin")) == b"ok \xff\xfe"

    def test_names_of_unfinished_files_are_kept(self, workspace: Workspace) -> None:
        with pytest.raises(PathUnusable):
            workspace.write_bytes(at("output/a.0123456789abcdef.tmp"), b"x")

    @pytest.mark.parametrize("name", ["日" * 85, "n" * 255, ".hidden.md", "%2e%2e", "a..b.md"])
    def test_names_as_long_and_odd_as_allowed_can_be_written(self, workspace: Workspace, name: str) -> None:
        workspace.write_bytes(at(f"output/{name}"), b"x")

        assert [entry.path for entry in workspace.scan(at("output"), (), 0)] == [f"output/{name}"]

    def test_a_listing_has_folders_first_and_each_group_by_full_path(self, workspace: Workspace) -> None:
        for path in ("output/b.md", "output/a/z.md", "output/a.md", "output/a/b/deep.md", "plan/x.md"):
            workspace.write_bytes(at(path), b"12345")

        assert list(workspace.scan(None, ("plan", "output"), 2)) == [
            *(Entry(at(path), "directory") for path in ("output", "output/a", "output/a/b", "plan")),
            *(Entry(at(path), "file", 5) for path in ("output/a.md", "output/a/z.md", "output/b.md", "plan/x.md")),
        ]

    def test_depth_counts_levels_below_the_starts_children(self, workspace: Workspace) -> None:
        workspace.write_bytes(at("output/1/2/3/f"), b"")

        def listed(start: str | None, depth: int) -> list[str]:
            return [entry.path for entry in workspace.scan(at(start) if start else None, ("output",), depth)]

        assert listed("output", 0) == ["output/1"]
        assert listed("output", 1) == ["output/1", "output/1/2"]
        assert listed("output", 9) == ["output/1", "output/1/2", "output/1/2/3", "output/1/2/3/f"]
        assert listed(None, 0) == ["output"]
        assert listed(None, 1) == ["output", "output/1"]
        assert listed("output/1/2/3/f", 0) == ["output/1/2/3/f"]

    def test_only_the_roots_asked_for_are_listed(self, workspace: Workspace) -> None:
        for root in ROOTS:
            workspace.write_bytes(at(f"{root}/f"), b"")

        assert {entry.path.split("/")[0] for entry in workspace.scan(None, ("plan", "persist"), 4)} == {
            "plan",
            "persist",
        }

    def test_a_listing_of_nothing(self, workspace: Workspace) -> None:
        assert list(workspace.scan(at("output"), ROOTS, 4)) == []
        with pytest.raises(FileMissing):
            list(workspace.scan(at("output/none"), ROOTS, 0))
