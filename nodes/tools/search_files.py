"""`workspace.search_files`: where words stand in the files."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.paths import WorkspacePath
from ..arguments.given import given, integer, schema, string
from ..file_search import Hit, search
from ..files import check_visible, counted, entries, read_bytes
from ..tool import Answer, Bench

LIMIT = 20
MOST_LIMIT = 50
CONTEXT_LINES = 2
MOST_CONTEXT_LINES = 5
DEPTH = 8
MOST_FILES = 1000

SPEC = ToolSpec(
    name="workspace.search_files",
    title="Search workspace files",
    description=(
        "Find lines in the files that you may see by the words of a query, in any order and letter case; the best "
        "matches come first, with line numbers. To change a file, read it with workspace_read_file first."
    ),
    input_schema=schema(
        {
            "query": string("Words to look for."),
            "path": string("Folder or file to search in, relative to the workspace. Default: all visible folders."),
            "limit": integer(f"Most matches to show: 1 to {MOST_LIMIT}, default {LIMIT}."),
            "context_lines": integer(
                f"Lines to show before and after each match: 0 to {MOST_CONTEXT_LINES}, default {CONTEXT_LINES}."
            ),
        },
        required=("query",),
    ),
    annotations=Annotations(read_only=True),
)

JUDGES = frozenset({"path"})
"""Null is every visible folder, and a path is refused by what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Arguments:
    query: str
    path: WorkspacePath | None = None
    limit: int = LIMIT
    context_lines: int = CONTEXT_LINES


def run(arguments: Json, bench: Bench) -> Answer:
    asked = _asked(arguments, bench)
    paths = [entry.path for entry in entries(asked.path, DEPTH, bench) if entry.kind == "file"]
    files = ((path, _data(path, bench)) for path in paths[:MOST_FILES])
    found = search(files, asked.query, context=asked.context_lines, limit=asked.limit)
    truncated = found.more or len(paths) > MOST_FILES
    refs = tuple(f"workspace:{hit.place}" for hit in found.hits)
    hits = [{**hit.to_json(), "ref": ref} for hit, ref in zip(found.hits, refs, strict=True)]
    return Answer(
        content=_content(asked.query, found.hits, refs, truncated),
        structured={
            "query": asked.query, "hits": hits, "searchedFiles": found.searched, "skippedFiles": found.skipped,
            "truncated": truncated,
        },
        resource_refs=refs,
    )  # fmt: skip


def _asked(arguments: Json, bench: Bench) -> Arguments:
    fields = given(arguments)
    asked = Arguments(
        query=fields.text("query"),
        path=fields.start(),
        limit=fields.number("limit", LIMIT),
        context_lines=fields.number("context_lines", CONTEXT_LINES),
    )
    if asked.path is not None:
        check_visible(asked.path, bench)
    if asked.limit == 0:
        raise ToolRefused("workspace.search_limit_invalid", f"limit must be 1 to {MOST_LIMIT}.")
    if asked.limit > MOST_LIMIT:
        raise ToolRefused("workspace.search_limit_too_large", f"limit must be 1 to {MOST_LIMIT}.")
    if asked.context_lines > MOST_CONTEXT_LINES:
        raise ToolRefused("workspace.search_context_too_large", f"context_lines must be 0 to {MOST_CONTEXT_LINES}.")
    return asked


def _data(path: WorkspacePath, bench: Bench) -> bytes | None:
    """None where the file has gone since the scan, or another thing has its name."""
    try:
        return read_bytes(bench.workspace, path)
    except ToolRefused:
        return None


def _content(query: str, hits: list[Hit], refs: tuple[str, ...], truncated: bool) -> str:
    if not hits:
        return f'Nothing was found for "{query}".'
    advice = "Read a file with workspace_read_file before you rely on it or change it."
    blocks = [
        f'{counted(len(hits), "hit")} for "{query}". {advice}',
        *(hit.block(ref) for hit, ref in zip(hits, refs, strict=True)),
    ]
    if truncated:
        blocks.append("(there is more than is shown; narrow the query or the path)")
    return "\n\n".join(blocks)
