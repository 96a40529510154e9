"""`workspace.search_files`: where words stand in the files."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.paths import WorkspacePath
from ...graph.text import count_chars, count_words
from ..arguments import given, integer, schema, string
from ..files import FileText, check_visible, counted, entries, read
from ..lines import numbered, split
from ..ranking import Found, best, tokens, windows
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


@dataclass(frozen=True, slots=True)
class Arguments:
    query: str
    path: WorkspacePath | None = None
    limit: int = LIMIT
    context_lines: int = CONTEXT_LINES


@dataclass(slots=True)
class _Search:
    """What one pass over the files found."""

    found: list[Found] = field(default_factory=list[Found])
    files: dict[str, FileText] = field(default_factory=dict[str, FileText])
    """Those with a hit."""
    searched: int = 0
    skipped: int = 0
    overflowed: bool = False


def run(arguments: Json, bench: Bench) -> Answer:
    asked = _asked(arguments, bench)
    search = _search(asked, bench)
    hits = [_hit(one, search.files[one.path]) for one in best(search.found, asked.limit)]
    truncated = search.overflowed or len(search.found) > asked.limit
    return Answer(
        content=_content(asked.query, hits, truncated),
        structured={
            "query": asked.query, "hits": hits, "searchedFiles": search.searched, "skippedFiles": search.skipped,
            "truncated": truncated,
        },
        resource_refs=tuple(hit["ref"] for hit in hits),
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


def _search(asked: Arguments, bench: Bench) -> _Search:
    search = _Search()
    words = tokens(asked.query)
    files = [entry.path for entry in entries(asked.path, DEPTH, bench) if entry.kind == "file"]
    search.overflowed = len(files) > MOST_FILES
    for path in islice(files, MOST_FILES):
        try:
            file = read(bench.workspace, path)
        except ToolRefused:  # not text, or gone since the scan
            search.skipped += 1
            continue
        search.searched += 1
        # One more than can be shown, so that a cut is seen.
        chosen = windows(file.text, words, context=asked.context_lines, limit=asked.limit + 1)
        if chosen:
            search.files[path] = file
            search.found += [Found(path, window) for window in chosen]
    return search


def _hit(one: Found, file: FileText) -> dict[str, Json]:
    window = one.window
    snippet = numbered(split(file.text)[window.first - 1 : window.last], window.first)
    return {
        "path": one.path, "score": window.score, "startLine": window.first, "endLine": window.last, "snippet": snippet,
        "chars": count_chars(snippet), "words": count_words(snippet), "sha256": file.sha256,
        "ref": f"workspace:{one.path}#L{window.first}-L{window.last}",
    }  # fmt: skip


def _content(query: str, hits: list[dict[str, Json]], truncated: bool) -> str:
    if not hits:
        return f'Nothing was found for "{query}".'
    advice = "Read a file with workspace_read_file before you rely on it or change it."
    blocks = [
        f'{counted(len(hits), "hit")} for "{query}". {advice}',
        *(f"{hit['path']} score {hit['score']:.3f} ref {hit['ref']}\n{hit['snippet']}" for hit in hits),
    ]
    if truncated:
        blocks.append("(there is more than is shown; narrow the query or the path)")
    return "\n\n".join(blocks)
