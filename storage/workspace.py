"""The files of a run's workspace, byte for byte, and nothing outside it: no link is ever followed.

What a path may look like is `graph/paths.py`'s business; here it meets the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from ..graph.errors import InvalidData, InvalidInput, NotFound, ToolRefused, TreadleError
from ..graph.paths import WorkspacePath, parse
from ..graph.text import count_chars, count_words, sha256_bytes
from .disk import Disk, RealDisk, is_temporary, storage_failed

Kind = Literal["file", "directory"]

_DEEPEST = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or folder; `bytes` is None for a folder."""

    path: WorkspacePath
    kind: Kind
    bytes: int | None = None


class Workspace(Protocol):
    """Blocking; call it in a thread. Every method raises PathEscapes for links, StorageFailed for the disk."""

    def kind(self, path: WorkspacePath) -> Kind | None:
        """None where nothing is there."""
        ...

    def read_bytes(self, path: WorkspacePath) -> bytes:
        """Raises FileMissing, IsDirectory."""
        ...

    def read_text(self, path: WorkspacePath) -> str:
        """The file as UTF-8, nothing translated or stripped; raises FileMissing, IsDirectory, FileNotText."""
        ...

    def sha256(self, path: WorkspacePath) -> str | None:
        """64 hex digits of the file's bytes, None where there is no file; raises IsDirectory."""
        ...

    def write_bytes(self, path: WorkspacePath, data: bytes) -> None:
        """The whole file at once, folders above it made; raises IsDirectory, PathUnusable."""
        ...

    def scan(self, start: WorkspacePath | None, roots: tuple[str, ...], depth: int) -> Iterable[Entry]:
        """Folders first, then files, each by full path; None starts at `roots`, of which missing ones are skipped.

        `depth` 0 is the start's children alone (without a start: the roots alone). A start that is a file gives itself;
        raises FileMissing where the start is missing.
        """
        ...


class FileMissing(NotFound):
    """There is no such file or folder in the workspace."""

    code = "workspace.file_not_found"


class IsDirectory(InvalidInput):
    """The path is a folder, not a file."""

    code = "workspace.path_is_directory"


class PathUnusable(InvalidInput):
    """No file can have this path."""

    code = "workspace.invalid_path"


class FileNotText(InvalidData):
    """The file is not UTF-8 text."""

    code = "workspace.file_not_text"


class PathEscapes(InvalidData):
    """A link stands in the workspace, and links are not followed."""

    code = "workspace.path_escapes"


class FolderWorkspace:
    """The workspace in a run's folder."""

    def __init__(self, run_dir: Path, disk: Disk) -> None:
        self._run_dir = run_dir
        self._above = f"{run_dir}/"
        self._disk = disk

    def kind(self, path: WorkspacePath) -> Kind | None:
        if self._blocked(path):
            return None
        return _kind_of(path, self._lstat(path))

    def read_bytes(self, path: WorkspacePath) -> bytes:
        if self._blocked(path):
            raise FileMissing(f"{path} does not exist")
        try:
            return self._disk.read_plain(self._run_dir / path)
        except OSError as error:
            raise _named(error, path, "reading") from error

    def read_text(self, path: WorkspacePath) -> str:
        return decode(path, self.read_bytes(path))

    def sha256(self, path: WorkspacePath) -> str | None:
        try:
            return sha256_bytes(self.read_bytes(path))
        except FileMissing:
            return None

    def write_bytes(self, path: WorkspacePath, data: bytes, *, durable: bool = False) -> None:
        check_name(path)
        blocked = self._blocked(path)
        if blocked and self._lstat(blocked) is not None:
            raise PathUnusable(f"{path} can't be written: {blocked} is a file")
        if not blocked and _kind_of(path, self._lstat(path)) == "directory":
            raise IsDirectory(f"{path} is a folder")
        try:
            self._disk.replace(self._run_dir / path, data, durable=durable)
        except OSError as error:
            raise _named(error, path, "writing") from error

    def remove(self, path: WorkspacePath) -> None:
        """A file, or a folder in which no file is left; missing is fine. Raises PathUnusable for a folder with files."""
        kind = self.kind(path)
        if kind == "directory" and any(entry.kind == "file" for entry in self.scan(path, (), _DEEPEST)):
            raise PathUnusable(f"{path} is a folder with files in it")
        if kind is None:
            return
        try:
            self._disk.remove(self._run_dir / path)
        except OSError as error:
            raise _named(error, path, "removing") from error

    def scan(self, start: WorkspacePath | None, roots: tuple[str, ...], depth: int) -> list[Entry]:
        if start is None:
            tops = [entry for root in roots if (entry := _entry(WorkspacePath(root), self._lstat(WorkspacePath(root))))]
            return self._below(tops, depth - 1, [*tops])
        top = None if self._blocked(start) else _entry(start, self._lstat(start))
        if top is None:
            raise FileMissing(f"{start} does not exist")
        return [top] if top.kind == "file" else self._below([top], depth, [])

    def _below(self, tops: list[Entry], depth: int, found: list[Entry]) -> list[Entry]:
        """`found` and what lies below `tops`, `depth` levels deeper than their children, in output order."""
        level = tops
        for _ in range(depth + 1):
            level = [child for entry in level if entry.kind == "directory" for child in self._children(entry.path)]
            if not level:
                break
            found += level
        return in_output_order(found)

    def _children(self, folder: WorkspacePath) -> list[Entry]:
        try:
            with os.scandir(self._run_dir / folder) as children:
                listed = [(child.name, child.stat(follow_symlinks=False)) for child in children]
        except OSError as error:
            raise _named(error, folder, "listing") from error
        found = (_entry(WorkspacePath(f"{folder}/{name}"), status) for name, status in listed if not is_temporary(name))
        return [entry for entry in found if entry is not None]

    def _blocked(self, path: WorkspacePath) -> WorkspacePath | None:
        """The first folder above `path` that is missing or is no folder; raises PathEscapes for a link."""
        parts = path.split("/")
        for count in range(1, len(parts)):
            above = WorkspacePath("/".join(parts[:count]))
            if _kind_of(above, self._lstat(above)) != "directory":
                return above
        return None

    def _lstat(self, path: WorkspacePath) -> os.stat_result | None:
        try:
            return os.lstat(self._above + path)  # as text: a write looks at five paths
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _named(error, path, "looking at") from error


@dataclass(frozen=True, slots=True)
class HostFile:
    """A file as `readWorkspaceFile` gives it; `sha256` is of the file's bytes."""

    path: str
    text: str
    sha256: str
    chars: int
    words: int


def read_host_file(run_dir: Path, path_text: str, *, disk: Disk | None = None) -> HostFile:
    """Any text file of the run folder, hidden ones too; raises InvalidInput, FileMissing, IsDirectory, FileNotText."""
    try:
        path = parse(path_text)
    except ToolRefused as refusal:
        raise InvalidInput(refusal.message, code=refusal.code) from refusal
    data = FolderWorkspace(run_dir, disk or RealDisk()).read_bytes(path)
    text = decode(path, data)
    return HostFile(path, text, sha256_bytes(data), count_chars(text), count_words(text))


def decode(path: WorkspacePath, data: bytes) -> str:
    """The bytes as UTF-8, a byte order mark kept; raises FileNotText."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileNotText(f"{path} is not UTF-8 text (byte {error.start})") from error


def check_name(path: WorkspacePath) -> None:
    """Raises PathUnusable for a name that a crash may leave behind and no listing shows."""
    if is_temporary(path):
        raise PathUnusable(f"{path} has a name that is kept for unfinished files")


def in_output_order(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.kind == "file", entry.path))


def _entry(path: WorkspacePath, status: os.stat_result | None) -> Entry | None:
    if status is None:
        return None
    if not path.isascii() and any(0xD800 <= ord(char) <= 0xDFFF for char in path):
        raise InvalidData(f"the workspace holds a file whose name is not UTF-8: {path!r}")
    kind = _kind_of(path, status)
    return Entry(path, "file", status.st_size) if kind == "file" else Entry(path, "directory")


def _kind_of(path: WorkspacePath, status: os.stat_result | None) -> Kind | None:
    if status is None:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise PathEscapes(f"{path} is a link; links are not followed")
    if stat.S_ISDIR(status.st_mode):
        return "directory"
    if stat.S_ISREG(status.st_mode):
        return "file"
    raise InvalidData(f"{path} is neither a file nor a folder")


def _named(error: OSError, path: WorkspacePath, doing: str) -> TreadleError:
    match error.errno:
        case errno.ENOENT:
            return FileMissing(f"{path} does not exist")
        case errno.EISDIR:
            return IsDirectory(f"{path} is a folder")
        case errno.ELOOP:
            return PathEscapes(f"{path} is a link; links are not followed")
        case errno.ENAMETOOLONG:
            return PathUnusable("the path is longer than this system can hold")
        case errno.ENOTDIR:
            return PathUnusable(f"{path} has a file where a folder should be")
        case errno.EINVAL if doing == "reading":
            return InvalidData(f"{path} is neither a file nor a folder")
        case _:
            return storage_failed(error, f"{doing} {path}")
