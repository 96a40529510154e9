"""A workspace in memory: what a tool's test reads and writes instead of a run's folder."""

from __future__ import annotations

from ..graph.paths import WorkspacePath
from ..graph.text import sha256_bytes
from ..storage.workspace import (
    Entry,
    FileMissing,
    IsDirectory,
    Kind,
    PathUnusable,
    check_name,
    decode,
    in_output_order,
)


class MemoryWorkspace:
    """A workspace that is gone with the process, for tests; folders are the roots and what files stand in."""

    def __init__(self, files: dict[str, bytes] | None = None, *, roots: tuple[str, ...] = ()) -> None:
        self.files: dict[str, bytes] = dict(files or {})
        self._roots = roots

    def kind(self, path: WorkspacePath) -> Kind | None:
        if path in self.files:
            return "file"
        return "directory" if path in self._folders() else None

    def read_bytes(self, path: WorkspacePath) -> bytes:
        kind = self.kind(path)
        if kind is None:
            raise FileMissing(f"{path} does not exist")
        if kind == "directory":
            raise IsDirectory(f"{path} is a folder")
        return self.files[path]

    def read_text(self, path: WorkspacePath) -> str:
        return decode(path, self.read_bytes(path))

    def sha256(self, path: WorkspacePath) -> str | None:
        return None if self.kind(path) is None else sha256_bytes(self.read_bytes(path))

    def write_bytes(self, path: WorkspacePath, data: bytes) -> None:
        check_name(path)
        blocked = next((above for above in _above(path) if above in self.files), None)
        if blocked is not None:
            raise PathUnusable(f"{path} can't be written: {blocked} is a file")
        if self.kind(path) == "directory":
            raise IsDirectory(f"{path} is a folder")
        self.files[path] = data

    def scan(self, start: WorkspacePath | None, roots: tuple[str, ...], depth: int) -> list[Entry]:
        if start is not None and self.kind(start) is None:
            raise FileMissing(f"{start} does not exist")
        everything = [Entry(WorkspacePath(path), "file", len(data)) for path, data in self.files.items()]
        everything += [Entry(WorkspacePath(path), "directory") for path in self._folders()]
        if start is None:
            kept = [
                entry for entry in everything if entry.path.split("/")[0] in roots and entry.path.count("/") <= depth
            ]
        elif start in self.files:
            kept = [entry for entry in everything if entry.path == start]
        else:
            deepest = start.count("/") + 1 + depth
            kept = [
                entry for entry in everything if entry.path.startswith(f"{start}/") and entry.path.count("/") <= deepest
            ]
        return in_output_order(kept)

    def _folders(self) -> set[str]:
        return {*self._roots, *(above for path in self.files for above in _above(path))}


def _above(path: str) -> list[str]:
    """The folders above a path, the top one first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
