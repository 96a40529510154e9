"""Each argument of the skill tools: missing, null, of another type, out of range, unknown."""

from __future__ import annotations

import pytest

from tests.nodes.skill_desk import skill_desk
from treadle.graph.jsontext import Json

from .argument_rows import ABSENT, INVALID, Row, refused, string, taken, untold, whole_number

LIST, SEARCH, READ = "skill.list", "skill.search", "skill.read"
GOOD: dict[str, dict[str, Json]] = {LIST: {}, SEARCH: {"name": "style", "query": "door"}, READ: {"name": "style"}}

NOT_STRINGS: tuple[Json, ...] = (None, "", "  ", 0, 3, 3.0, True, ["a"], {})

TABLE = [
    *string(SEARCH, "name"),
    *refused(SEARCH, "name", "none", code="skill.not_found"),
    *string(SEARCH, "query"),
    *taken(SEARCH, "query", "?!", "门", "🙂", "x" * 10_000),
    *taken(SEARCH, "path", ABSENT, *NOT_STRINGS),
    *refused(SEARCH, "path", "..", "/", "/SKILL.md", "C:\\x", "a\0", "half \ud83d", code="skill.invalid_request"),
    *refused(SEARCH, "path", "none", "SKILL", "SKILL.md/x", code="skill.not_found"),
    *whole_number(SEARCH, "limit"),
    *taken(SEARCH, "limit", 1, 50),
    *refused(SEARCH, "limit", 0, code="skill.search_limit_invalid"),
    *refused(SEARCH, "limit", 51, 10**30, code="skill.search_limit_too_large"),
    *whole_number(SEARCH, "context_lines"),
    *taken(SEARCH, "context_lines", 0, 5),
    *refused(SEARCH, "context_lines", 6, 10**30, code="skill.search_context_too_large"),
    *string(READ, "name"),
    *refused(READ, "name", "none", code="skill.not_found"),
    *taken(READ, "path", ABSENT, *NOT_STRINGS, "references/tone.md", ".\\references/./tone.md"),
    *refused(READ, "path", "..", "/", "/SKILL.md", "C:\\x", "a\0", "half \ud83d", code="skill.invalid_request"),
    *refused(READ, "path", "none", "SKILL", "SKILL.md/x", code="skill.not_found"),
    *whole_number(READ, "start_line"),
    *taken(READ, "start_line", 1, 6),
    *refused(READ, "start_line", 0, 7, 10**30, code="skill.invalid_request"),
    *whole_number(READ, "line_count"),
    *taken(READ, "line_count", 1, 10**30),
    *refused(READ, "line_count", 0, code="skill.invalid_request"),
    *whole_number(READ, "start_char"),
    *taken(READ, "start_char", 0, 1),
    *refused(READ, "start_char", 10_000, 10**30, code="skill.invalid_request"),
    *whole_number(READ, "max_chars"),
    *taken(READ, "max_chars", 1, 100),
    *refused(READ, "max_chars", 0, code="skill.invalid_request"),
    *refused(READ, "max_chars", 101, 10**30, code="skill.read_budget_exceeded"),
]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_an_argument_is_taken_or_refused_by_its_name(row: Row) -> None:
    desktop = skill_desk(maxReadCharsPerCall=100)

    result = desktop.send(row.tool, row.arguments(GOOD[row.tool]))

    assert result.error_code == row.code
    assert row.code is None or row.is_named_in(result.content)
    assert row.code is None or desktop.spending.chars == 0


def test_every_argument_has_its_rows() -> None:
    assert untold(TABLE, LIST, SEARCH, READ) == set()


@pytest.mark.parametrize("tool", GOOD)
def test_an_unknown_argument_is_left_alone(tool: str) -> None:
    assert skill_desk().send(tool, {**GOOD[tool], "unknown": 1}) == skill_desk().send(tool, GOOD[tool])


@pytest.mark.parametrize("tool", [SEARCH, READ])
@pytest.mark.parametrize("arguments", [None, [], "style", '{"name":', 3, True])
def test_what_is_no_object_is_refused(tool: str, arguments: Json) -> None:
    result = skill_desk().send(tool, arguments)

    assert (result.error_code, "arguments" in result.content) == (INVALID, True)
