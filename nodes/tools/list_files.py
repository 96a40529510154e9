"""`workspace.list_files`: what files there are."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.paths import WorkspacePath
from ..arguments.given import given, integer, schema, string
from ..files import check_visible, entries
from ..tool import Answer, Bench

MOST_ENTRIES = 200
DEPTH = 2
MOST_DEPTH = 4

SPEC = ToolSpec(
    name="workspace.list_files",
    title="List workspace files",
    description=(
        f"List the files and folders that you may see, folders first, at most {MOST_ENTRIES}. "
        "Without a path, all visible folders are listed."
    ),
    input_schema=schema(
        {
            "path": string("Folder or file to list, relative to the workspace. Default: the workspace root."),
            "depth": integer(
                f"How many levels of folders to open below the start: 0 to {MOST_DEPTH}, default {DEPTH}; "
                "0 shows only what is directly in it."
            ),
        }
    ),
    annotations=Annotations(read_only=True),
)

JUDGES = frozenset({"path"})
"""Null is the root, and a path is refused by what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Arguments:
    path: WorkspacePath | None = None
    depth: int = DEPTH


def run(arguments: Json, bench: Bench) -> Answer:
    asked = _asked(arguments, bench)
    found = entries(asked.path, asked.depth, bench)
    listed, capped = found[:MOST_ENTRIES], len(found) > MOST_ENTRIES
    lines = [f"{entry.path}/" if entry.kind == "directory" else entry.path for entry in listed]
    if capped:
        lines.append(f"(only the first {MOST_ENTRIES} are shown; give a path to see the rest)")
    return Answer(
        content="\n".join(lines) or "There are no files here yet.",
        structured={"entries": [{"path": entry.path, "kind": entry.kind} for entry in listed], "truncated": capped},
        resource_refs=tuple(entry.path for entry in listed),
    )


def _asked(arguments: Json, bench: Bench) -> Arguments:
    fields = given(arguments)
    path = fields.start()
    if path is not None:
        check_visible(path, bench)
    depth = fields.number("depth", DEPTH)
    if depth > MOST_DEPTH:
        raise ToolRefused("workspace.list_depth_too_large", f"depth must be 0 to {MOST_DEPTH}.")
    return Arguments(path, depth)
