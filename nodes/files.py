"""The model's way to a file: what its profile lets it see or change, and refusals that say how to mend the call."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from ..graph.errors import ToolRefused
from ..graph.paths import WorkspacePath, is_visible, is_writable, parse
from ..graph.text import is_binary, sha256_bytes
from ..storage.workspace import Entry, FileMissing, IsDirectory, PathUnusable, Workspace, check_name
from .tool import Bench


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as it was read, once: its bytes, their text (BOM and line ends kept) and their hash."""

    data: bytes
    text: str
    sha256: str


def visible(text: str, bench: Bench) -> WorkspacePath:
    """The path, if the model may see it; raises `workspace.invalid_path`, `workspace.path_not_visible`."""
    path = parse(text)
    check_visible(path, bench)
    return path


def check_visible(path: WorkspacePath, bench: Bench) -> None:
    roots = bench.profile.visible_roots
    if not is_visible(path, roots):
        raise ToolRefused("workspace.path_not_visible", f"{path} is not visible; only {folders(roots)} can be read.")


def writable(text: str, bench: Bench) -> WorkspacePath:
    """The path, if the model may change it; raises `workspace.invalid_path`, `workspace.path_not_writable`."""
    path = parse(text)
    roots = bench.profile.writable_roots
    if is_writable(path, roots):
        return path
    if path in roots:
        raise ToolRefused(
            "workspace.path_not_writable", f"{path} is a folder; name a file in it, such as {path}/notes.md."
        )
    where = f"only files in {folders(roots)} can be" if roots else "no folder can be"
    raise ToolRefused("workspace.path_not_writable", f"{path} can't be written; {where}.")


def entries(start: WorkspacePath | None, depth: int, bench: Bench) -> list[Entry]:
    """What there is below `start`, as `Workspace.scan` has it; raises `workspace.path_not_found`.

    A visible folder that was never made is an empty one.
    """
    roots = bench.profile.visible_roots
    try:
        with _told(start or ""):
            return list(bench.workspace.scan(start, roots, depth))
    except ToolRefused as refusal:
        if refusal.code != FileMissing.code:
            raise
        if start in roots:
            return []
        message = f"There is no {start}; list the workspace to see what there is."
        raise ToolRefused("workspace.path_not_found", message) from refusal


def check_can_hold(workspace: Workspace, path: WorkspacePath) -> bool:
    """Whether the file exists; raises where it can't: a folder has its name, or a file that of one of its folders."""
    with _told(path):
        check_name(path)
        kind = workspace.kind(path)
    if kind == "directory":
        raise _is_directory(path)
    if kind is None:
        for above in _folders_above(path):
            if workspace.kind(above) == "file":
                raise ToolRefused("workspace.invalid_path", f"{above} is a file, so {path} can't be in it.")
    return kind == "file"


def read(workspace: Workspace, path: WorkspacePath) -> FileText:
    """The file; raises `workspace.file_not_found`, `.path_is_directory`, `.invalid_path`, `.file_not_text`."""
    data = read_bytes(workspace, path)
    if is_binary(data):
        raise _not_text(path, "much of it is NUL bytes, as in UTF-16 and binary files")
    try:
        return FileText(data, data.decode(), sha256_bytes(data))
    except UnicodeDecodeError as error:
        raise _not_text(path, f"its byte {error.start} can't be read") from error


def read_bytes(workspace: Workspace, path: WorkspacePath) -> bytes:
    """The file as it is, text or not; raises `workspace.file_not_found`, `.path_is_directory`, `.invalid_path`."""
    with _told(path):
        return workspace.read_bytes(path)


def read_text(workspace: Workspace, path: WorkspacePath) -> str:
    """The file's text alone; raises as `read` does."""
    return read(workspace, path).text


def folders(roots: tuple[str, ...]) -> str:
    """`output/, scratch/ and plan/`, for a sentence."""
    names = [f"{root}/" for root in roots]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def size(chars: int, words: int) -> str:
    """`1 char, 1 word`, for a sentence."""
    return f"{counted(chars, 'char')}, {counted(words, 'word')}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@contextmanager
def _told(path: str) -> Generator[None]:
    """What the model can mend is told to it; links and disks that fail are not among it."""
    try:
        yield
    except FileMissing as error:
        message = f"There is no file {path}; workspace_list_files shows which there are."
        raise ToolRefused(FileMissing.code, message) from error
    except IsDirectory as error:
        raise _is_directory(path) from error
    except PathUnusable as error:
        raise ToolRefused(PathUnusable.code, f"{error.message}.") from error


def _not_text(path: str, reason: str) -> ToolRefused:
    message = f"{path} is not text in UTF-8 ({reason}); it can only be replaced whole."
    return ToolRefused("workspace.file_not_text", message)


def _is_directory(path: str) -> ToolRefused:
    return ToolRefused(IsDirectory.code, f"{path} is a folder; workspace_list_files shows what is in it.")


def _folders_above(path: WorkspacePath) -> list[WorkspacePath]:
    parts = path.split("/")
    return [WorkspacePath("/".join(parts[:end])) for end in range(len(parts) - 1, 1, -1)]
