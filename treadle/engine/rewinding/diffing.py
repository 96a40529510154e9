"""What changed in a run's workspace from one moment to another, file by file. Blocking; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from ...graph.errors import InvalidInput, NotFound, ToolRefused
from ...graph.jsontext import Json
from ...graph.paths import ROOTS, WorkspacePath, parse, root_of
from ...graph.text import sha256_bytes
from ...storage.file_map import FileMap
from ...storage.restoring import standing
from ..services import Services
from .past import Past, past_of
from .unified import text_diff

FileStatus = Literal["added", "modified", "deleted", "unchanged"]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file; `unified_diff` is None where it is unchanged, `binary` or `content_lost`."""

    path: str
    status: FileStatus
    unified_diff: str | None = None
    """What `patch -p1` and `git apply` take, with `a/` and `b/` before the path."""
    binary: bool = False
    """On one side it is not UTF-8 text, or holds a NUL character."""
    content_lost: bool = False
    """What it held on one side is kept nowhere: a person changed a file by hand that the run never had changed."""
    coarse: bool = False
    """The diff is right but longer than it must be: a stretch of lines that repeat was too long to compare."""

    def to_json(self) -> dict[str, Json]:
        """`path`, `status`, and of the rest what there is to tell."""
        told: dict[str, Json] = {"path": self.path, "status": self.status}
        if self.unified_diff is not None:
            told["unifiedDiff"] = self.unified_diff
        flags = {"binary": self.binary, "contentLost": self.content_lost, "coarse": self.coarse}
        return told | {name: True for name, is_so in flags.items() if is_so}


@dataclass(frozen=True, slots=True)
class AgentDiff:
    """From one moment of a run to another, files by path."""

    run_id: str
    from_checkpoint_id: str | None
    """None: the run's start."""
    to_checkpoint_id: str | None
    """None: the workspace as it was on disk when the question was asked."""
    files: tuple[FileDiff, ...]

    def to_json(self) -> dict[str, Json]:
        ends = {"fromCheckpointId": self.from_checkpoint_id, "toCheckpointId": self.to_checkpoint_id}
        named = {name: end for name, end in ends.items() if end is not None}
        return {"runId": self.run_id, **named, "files": [file.to_json() for file in self.files]}


def read_diff(
    services: Services, run_id: str, from_id: str | None, to_id: str | None, paths: Sequence[str] | None
) -> AgentDiff:
    """Raises NotFound for a run, checkpoint or path that there is not, InvalidInput for a path that can't be one."""
    wanted = None if paths is None else _parsed(paths)
    past = past_of(services, run_id)
    old, new = _at(past, from_id), _at(past, to_id) if to_id is not None else _now(past)
    known = sorted(old.files.keys() | new.files.keys())
    chosen = known if wanted is None else _chosen(wanted, known, past)
    found = [_file_diff(path, old, new) for path in chosen]
    named = set(wanted or ())
    told = tuple(file for file in found if file.status != "unchanged" or file.path in named)
    return AgentDiff(past.record.id, from_id, to_id, told)


@dataclass(frozen=True, slots=True)
class _Side:
    """The files at one end, and how their bytes are read; None where they are lost."""

    files: FileMap
    read: Callable[[WorkspacePath], bytes | None]


def _at(past: Past, checkpoint_id: str | None) -> _Side:
    files, contents = past.files_at(checkpoint_id), past.contents()
    return _Side(files, lambda path: contents.find(path, files[path]))


def _now(past: Past) -> _Side:
    held = standing(past.workspace)
    return _Side({path: sha256_bytes(data) for path, data in held.items()}, held.get)


def _file_diff(path: WorkspacePath, old: _Side, new: _Side) -> FileDiff:
    before, after = old.files.get(path), new.files.get(path)
    if before == after:
        return FileDiff(path, "unchanged")
    status: FileStatus = "added" if before is None else "deleted" if after is None else "modified"
    try:
        texts = [None if sha256 is None else _text(side.read(path)) for side, sha256 in ((old, before), (new, after))]
    except LookupError:
        return FileDiff(path, status, content_lost=True)
    except UnicodeDecodeError:
        return FileDiff(path, status, binary=True)
    diff = text_diff(path, *texts)
    return FileDiff(path, status, diff.text, coarse=diff.coarse)


def _text(data: bytes | None) -> str:
    """Raises LookupError for lost bytes, UnicodeDecodeError for what no line-by-line diff can show."""
    if data is None:
        raise LookupError
    if b"\0" in data:  # as git tells binary files
        raise UnicodeDecodeError("utf-8", data, data.index(b"\0"), data.index(b"\0") + 1, "a NUL character")
    return data.decode("utf-8")


def _parsed(paths: Sequence[str]) -> list[WorkspacePath]:
    if isinstance(paths, str):
        raise InvalidInput(f"paths must be a list of paths, not the text {paths!r}")
    return [_path(given, place) for place, given in enumerate(paths)]


def _path(given: object, place: int) -> WorkspacePath:
    if not isinstance(given, str):
        raise InvalidInput(f"paths[{place}] must be a text, not {given!r}", code="workspace.invalid_path")
    try:
        path = parse(given)
    except ToolRefused as refusal:
        raise InvalidInput(f"paths[{place}]: {refusal.message}", code=refusal.code) from refusal
    if root_of(path) not in ROOTS:
        raise InvalidInput(
            f"paths[{place}]: {path} is not in the workspace; its folders are {', '.join(ROOTS)}",
            code="workspace.invalid_path",
        )
    return path


def _chosen(wanted: list[WorkspacePath], known: list[WorkspacePath], past: Past) -> list[WorkspacePath]:
    """The known files at or below what is wanted, each once."""
    chosen: set[WorkspacePath] = set()
    for place, path in enumerate(wanted):
        found = {each for each in known if each == path or each.startswith(f"{path}/")}
        if not found and path not in ROOTS and past.workspace.kind(path) is None:
            raise _not_there(place, path, known)
        chosen |= found
    return sorted(chosen)


def _not_there(place: int, path: str, known: list[WorkspacePath]) -> NotFound:
    near = get_close_matches(path, known, n=3)
    hint = f"; the nearest are {', '.join(near)}" if near else ""
    return NotFound(
        f"paths[{place}]: there is no {path} at either end of the diff{hint}", code="workspace.path_not_found"
    )
