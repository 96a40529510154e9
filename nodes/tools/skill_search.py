"""`skill.search`: where words stand in a skill's files."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ..arguments.given import given, integer, schema, string
from ..file_search import Hit, Search, search
from ..files import counted
from ..skills import asked_path, check_visible, exhausted, files, parsed, read, ref, remaining
from ..tool import Answer, Bench

LIMIT = 20
MOST_LIMIT = 50
CONTEXT_LINES = 2
MOST_CONTEXT_LINES = 5

SPEC = ToolSpec(
    name="skill.search",
    title="Search a skill",
    description=(
        "Find lines in the files of one skill by the words of a query, in any order and letter case; the best matches "
        "come first, with line numbers. What is shown counts against the characters of skills that a run may read."
    ),
    input_schema=schema(
        {
            "name": string("The skill, as skill_list names it."),
            "query": string("Words to look for."),
            "path": string("File or folder of the skill to search in, such as references. Default: all its files."),
            "limit": integer(f"Most matches to show: 1 to {MOST_LIMIT}, default {LIMIT}."),
            "context_lines": integer(
                f"Lines to show before and after each match: 0 to {MOST_CONTEXT_LINES}, default {CONTEXT_LINES}."
            ),
        },
        required=("name", "query"),
    ),
    annotations=Annotations(read_only=True, source_kind="skill"),
)

JUDGES = frozenset({"path"})
"""What is no text is as good as nothing, and a path is refused by what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Arguments:
    name: str
    query: str
    path: str | None = None
    limit: int = LIMIT
    context_lines: int = CONTEXT_LINES


def run(arguments: Json, bench: Bench) -> Answer:
    asked = _asked(arguments)
    check_visible(asked.name, bench)
    _check_limits(asked)
    left = remaining(bench)
    found = _search(asked, bench)
    chars, words = sum(hit.chars for hit in found.hits), sum(hit.words for hit in found.hits)
    if chars > left:
        raise exhausted(
            f"The matches hold {chars} characters, and only {left} of skills are left to read in this run; give a "
            "smaller limit or fewer context_lines."
        )
    refs = tuple(ref(asked.name, hit.place) for hit in found.hits)
    hits = [{**hit.to_json(), "resourceRef": shown} for hit, shown in zip(found.hits, refs, strict=True)]
    return Answer(
        content=_content(asked, found.hits, refs, found.more),
        structured={
            "name": asked.name, "query": asked.query, "hits": hits, "searchedFiles": found.searched,
            "skippedFiles": found.skipped, "truncated": found.more, "returnedChars": chars, "returnedWords": words,
        },
        resource_refs=refs,
    )  # fmt: skip


def _asked(arguments: Json) -> Arguments:
    fields = given(arguments)
    return Arguments(
        name=fields.text("name"),
        query=fields.text("query"),
        path=asked_path(fields),
        limit=fields.number("limit", LIMIT),
        context_lines=fields.number("context_lines", CONTEXT_LINES),
    )


def _check_limits(asked: Arguments) -> None:
    if asked.limit == 0:
        raise ToolRefused("skill.search_limit_invalid", f"limit must be 1 to {MOST_LIMIT}.")
    if asked.limit > MOST_LIMIT:
        raise ToolRefused("skill.search_limit_too_large", f"limit must be 1 to {MOST_LIMIT}.")
    if asked.context_lines > MOST_CONTEXT_LINES:
        raise ToolRefused("skill.search_context_too_large", f"context_lines must be 0 to {MOST_CONTEXT_LINES}.")


def _search(asked: Arguments, bench: Bench) -> Search:
    within = None if asked.path is None else parsed(asked.path)
    paths = [file.path for file in files(asked.name, bench)]
    if within is not None:
        paths = [path for path in paths if path == within or path.startswith(f"{within}/")]
        if not paths:
            message = f"The skill {asked.name} has no file or folder {within}; leave path out to search all its files."
            raise ToolRefused("skill.not_found", message)
    texts = ((path, _data(asked.name, path, bench)) for path in paths)
    return search(texts, asked.query, context=asked.context_lines, limit=asked.limit)


def _data(name: str, path: str, bench: Bench) -> bytes | None:
    """None where the file has gone since the skill's files were listed."""
    try:
        return read(name, path, bench)
    except ToolRefused:
        return None


def _content(asked: Arguments, hits: list[Hit], refs: tuple[str, ...], truncated: bool) -> str:
    if not hits:
        return f'Nothing was found for "{asked.query}" in the skill {asked.name}.'
    advice = "Read around a match with skill_read before you rely on it."
    blocks = [
        f'{counted(len(hits), "hit")} for "{asked.query}" in the skill {asked.name}. {advice}',
        *(hit.block(shown) for hit, shown in zip(hits, refs, strict=True)),
    ]
    if truncated:
        blocks.append("(there is more than is shown; narrow the query or the path)")
    return "\n\n".join(blocks)
