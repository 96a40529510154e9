"""`paths`: one tool, many paths, each in a run of its own; and what lies outside the run's folder meanwhile."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json, is_list, is_object

from ..driving import refused
from ..faults import CaseFault, a_list, shown
from ..observed import Observed, Result
from ..session import Asked, asked_of, run_calls
from ..stage import Stage, files_of, staged

KEYS = frozenset(
    {
        "tool", "reject", "accept", "accept_or_recoverable_error", "host_read", "setup_symlinks", "calls", "workspace",
        "workspace_b64",
    }
)  # fmt: skip

_GROUPS = ("reject", "accept", "accept_or_recoverable_error")
_MARK = "a mark that is found nowhere else"
_SECRET = b"SECRET_OUTSIDE"
_ROOMS = frozenset({"output", "scratch", "plan", "summaries", "persist"})

_REST: dict[str, dict[str, Json]] = {
    "workspace.write_file": {"content": _MARK},
    "workspace.apply_patch": {"old_string": _MARK, "new_string": _MARK},
    "workspace.read_file": {},
    "workspace.list_files": {},
    "workspace.commit": {},
    "workspace.search_files": {"query": _MARK},
}
"""What a call of each tool needs beside its path."""


_TARGETS = frozenset({"target", "to", "points_to"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    seen = Observed()
    async with staged() as stage:
        outside = _Outside(stage)
        files = files_of(given, "workspace", "workspace_b64")
        links = list(_links(given.get("setup_symlinks") or []))
        play = _Play(stage, outside, files, links)
        for group in _GROUPS:
            calls = [_call(given, path) for path in given.get(group, [])]
            seen.facts[group] = [await play.alone(call, seen) for call in calls]
        asked = asked_of(given.get("calls") or [])
        seen.calls = [await play.alone(call, seen) for call in asked]
        if "host_read" in given:
            seen.facts["host_read"] = [await play.host_read(path, seen) for path in given["host_read"]]
        seen.facts["nothing_outside"] = outside.strays()
        seen.facts["outside_unchanged"] = outside.is_unchanged()
        seen.facts["through_link"] = [
            (call.arguments, result)
            for call, result in zip(asked, seen.calls, strict=True)
            if _is_through(call, [link for link, _ in links])
        ]
        seen.facts["outside_names"] = [outside.folder.name, outside.file.name, "inside.txt", _SECRET.decode()]
    return seen


class _Outside:
    """A folder and a file beside the data root that no run may touch or see."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.folder = stage.root / "outside_folder"
        self.file = stage.root / "outside_file.txt"
        self.folder.mkdir()
        (self.folder / "inside.txt").write_bytes(_SECRET)
        self.file.write_bytes(_SECRET)
        self._before = self._bytes()

    def is_unchanged(self) -> bool:
        return self._bytes() == self._before

    def strays(self) -> list[str]:
        """Files that hold the mark, or lie where nothing should: outside the rooms of every run's workspace."""
        known = {self._stage.data, self._stage.chats, self._stage.root / "worlds", self.folder, self.file}
        strays = [path for path in self._stage.root.iterdir() if path not in known]
        for path in self._stage.root.rglob("*"):
            if not path.is_symlink() and path.is_file() and path.read_bytes() == _MARK.encode():
                strays += [] if self._is_in_a_room(path) else [path]
        return [str(path.relative_to(self._stage.root)) for path in strays]

    def _is_in_a_room(self, path: Path) -> bool:
        """In a workspace, or a content that a checkpoint keeps."""
        for folder in self._stage.run_folders():
            if path.is_relative_to(folder):
                first, *rest = path.relative_to(folder).parts
                return first in _ROOMS or (first == "checkpoints" and rest[0] == "content")
        return False

    def _bytes(self) -> dict[str, bytes]:
        found = [self.file, *sorted(self.folder.rglob("*"))]
        return {str(path): path.read_bytes() for path in found if path.is_file()}


class _Play:
    def __init__(self, stage: Stage, outside: _Outside, files: dict[str, bytes], links: list[tuple[str, str]]) -> None:
        self._stage = stage
        self._outside = outside
        self._files = files
        self._links = links
        self._engine = stage.engine()
        self._runs = 0

    async def alone(self, call: Asked, seen: Observed) -> Result | None:
        """The call in a run of its own, which finds the files and links already there."""
        self._runs += 1
        run_id = f"run_{self._runs}"
        one = Observed()
        hooks = self._stage.upstream.hooks
        hooks.clear()
        hooks.append(lambda _number: self._lay_out(self._stage.folder(run_id)))
        await run_calls(self._stage, [call], one, run_id=run_id, engine=self._engine)
        seen.run = one.run
        seen.errors += one.errors
        seen.codes += one.codes
        return one.calls[0] if one.calls else None

    async def host_read(self, path: str, seen: Observed) -> bool:
        """Whether the read was refused."""
        if not self._runs:
            await self.alone(Asked("workspace.list_files", {}), seen)
        try:
            await self._engine.read_workspace_file(f"run_{self._runs}", path)
        except TreadleError as error:
            refused(seen, error)
            return True
        return False

    def _lay_out(self, folder: Path) -> None:
        for path, data in self._files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        for path, target in self._links:
            link = folder / path
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                if link.is_dir():
                    shutil.rmtree(link)  # a whole room may be a link
                link.symlink_to(self._target(target))

    def _target(self, target: str) -> str:
        named = {"<outside_dir>": str(self._outside.folder), "<outside_file>": str(self._outside.file)}
        for name, path in named.items():
            target = target.replace(name, path)
        return target


def _call(given: dict[str, Json], path: str) -> Asked:
    tool = given.get("tool")
    if tool not in _REST:
        raise CaseFault(f"the runner has no call of {tool!r} to put a path into")
    return Asked(tool, {"path": path, **_REST[tool]})


def _links(given: Json) -> Iterator[tuple[str, str]]:
    """`{path: target}`, or a list of `{path, target}` or of pairs."""
    if is_object(given):
        yield from given.items()
        return
    for entry in a_list(given, "setup_symlinks"):
        if is_object(entry) and len(entry) == 2 and entry.keys() & _TARGETS:
            (target,) = entry.keys() & _TARGETS
            (name,) = entry.keys() - {target}
            yield entry[name], entry[target]
        elif is_list(entry) and len(entry) == 2:
            yield entry[0], entry[1]
        else:
            raise CaseFault(f"setup_symlinks holds {shown(entry)}")


def _is_through(call: Asked, links: list[str]) -> bool:
    path = call.arguments.get("path") if is_object(call.arguments) else None
    return isinstance(path, str) and any(path == link or path.startswith(f"{link}/") for link in links)
