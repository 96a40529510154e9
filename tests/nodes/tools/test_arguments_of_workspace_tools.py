"""Each argument of the workspace tools: missing, null, of another type, out of range, unknown."""

from __future__ import annotations

import pytest

from tests.nodes.desk import Desk, desk, profile
from treadle.graph.jsontext import Json
from treadle.nodes.registry import TOOLS

from .argument_rows import (
    ABSENT,
    INVALID,
    Row,
    optional_string,
    raw_string,
    refused,
    string,
    taken,
    untold,
    whole_number,
)

LIST, SEARCH, READ = "workspace.list_files", "workspace.search_files", "workspace.read_file"
WRITE, PATCH, COMMIT, FINISH = (
    "workspace.write_file", "workspace.apply_patch", "workspace.commit", "workspace.finish",
)  # fmt: skip
FILE = "output/main.md"
GOOD: dict[str, dict[str, Json]] = {
    LIST: {},
    SEARCH: {"query": "door"},
    READ: {"path": FILE},
    WRITE: {"path": FILE, "content": "x"},
    PATCH: {"path": FILE, "old_string": "red", "new_string": "blue"},
    COMMIT: {},
    FINISH: {},
}
BROKEN_PATHS = ("..", "/", "/etc/passwd", "\\x", "C:\\x", "output/../input", "a\0", "con", "a/" * 600)
HIDDEN_PATHS = ("input", "input/x", "events.jsonl", "outputs/x")

TABLE = [
    *optional_string(LIST, "path"),
    *taken(LIST, "path", ".", "./", "output", "output\\", FILE),
    *refused(LIST, "path", *BROKEN_PATHS),
    *refused(LIST, "path", *HIDDEN_PATHS, code="workspace.path_not_visible"),
    *refused(LIST, "path", "output/none", code="workspace.path_not_found"),
    *whole_number(LIST, "depth"),
    *taken(LIST, "depth", 0, 4),
    *refused(LIST, "depth", 5, 10**30, code="workspace.list_depth_too_large"),
    *string(SEARCH, "query"),
    *taken(SEARCH, "query", "?!", "门", "🙂", "x" * 10_000),
    *optional_string(SEARCH, "path"),
    *taken(SEARCH, "path", ".", "./", "output", FILE),
    *refused(SEARCH, "path", *BROKEN_PATHS),
    *refused(SEARCH, "path", *HIDDEN_PATHS, code="workspace.path_not_visible"),
    *refused(SEARCH, "path", "output/none", code="workspace.path_not_found"),
    *whole_number(SEARCH, "limit"),
    *taken(SEARCH, "limit", 1, 50),
    *refused(SEARCH, "limit", 0, code="workspace.search_limit_invalid"),
    *refused(SEARCH, "limit", 51, 10**30, code="workspace.search_limit_too_large"),
    *whole_number(SEARCH, "context_lines"),
    *taken(SEARCH, "context_lines", 0, 5),
    *refused(SEARCH, "context_lines", 6, 10**30, code="workspace.search_context_too_large"),
    *string(READ, "path"),
    *refused(READ, "path", *BROKEN_PATHS, code="workspace.invalid_path"),
    *refused(READ, "path", *HIDDEN_PATHS, code="workspace.path_not_visible"),
    *refused(READ, "path", "output/none", code="workspace.file_not_found"),
    *refused(READ, "path", "output", code="workspace.path_is_directory"),
    *whole_number(READ, "start_line"),
    *taken(READ, "start_line", 1, 2),
    *refused(READ, "start_line", 0, 3, 10**30, code="workspace.invalid_line_range"),
    *whole_number(READ, "line_count"),
    *taken(READ, "line_count", 1, 1200),
    *refused(READ, "line_count", 0, code="workspace.invalid_line_range"),
    *refused(READ, "line_count", 1201, 10**30, code="workspace.read_line_count_too_large"),
    *whole_number(READ, "start_char"),
    *taken(READ, "start_char", 0, 1),
    *refused(READ, "start_char", 100, 10**30, code="workspace.invalid_char_range"),
    *whole_number(READ, "max_chars"),
    *taken(READ, "max_chars", 1, 80_000),
    *refused(READ, "max_chars", 0, code="workspace.invalid_char_range"),
    *refused(READ, "max_chars", 80_001, 10**30, code="workspace.read_char_count_too_large"),
    *string(WRITE, "path"),
    *refused(WRITE, "path", *BROKEN_PATHS, code="workspace.invalid_path"),
    *refused(WRITE, "path", *HIDDEN_PATHS, "output", "plan/x", code="workspace.path_not_writable"),
    *raw_string(WRITE, "content"),
    *taken(WRITE, "content", "", " ", "\n"),
    *taken(WRITE, "mode", ABSENT, "replace", "append"),
    *refused(WRITE, "mode", None, 3, True, "", "Replace", [], code="workspace.write_mode_invalid"),
    *string(PATCH, "path"),
    *refused(PATCH, "path", *BROKEN_PATHS, code="workspace.invalid_path"),
    *refused(PATCH, "path", *HIDDEN_PATHS, "output", "plan/x", code="workspace.path_not_writable"),
    *raw_string(PATCH, "old_string"),
    *refused(PATCH, "old_string", "", code="workspace.patch_empty_old_string"),
    *refused(PATCH, "old_string", "blue", code="workspace.patch_no_change"),
    *refused(PATCH, "old_string", "green", code="workspace.patch_old_string_not_found"),
    *refused(PATCH, "old_string", "o", code="workspace.patch_old_string_not_unique"),
    *raw_string(PATCH, "new_string"),
    *taken(PATCH, "new_string", "", " "),
    *taken(PATCH, "replace_all", ABSENT, True, False),
    *refused(PATCH, "replace_all", None, "true", "", 0, 1, [], {}),
    *optional_string(COMMIT, "path"),
    *refused(COMMIT, "path", *BROKEN_PATHS, code="workspace.invalid_path"),
    *refused(COMMIT, "path", *HIDDEN_PATHS, code="workspace.path_not_visible"),
    *optional_string(COMMIT, "mode"),
    *taken(COMMIT, "mode", "replace", "append"),
    *refused(COMMIT, "mode", "Replace", "over", code="workspace.commit_mode_invalid"),
    *optional_string(COMMIT, "reason"),
    *taken(FINISH, "reason", ABSENT, None, "", "done", 3, 3.0, True, [], {}, "half \ud83d"),
]
"""`output/main.md` has two lines, was read in full, and is published; plan/ is for looking only."""


def seated() -> Desk:
    made = desk({FILE: "the red door\nstood open"}, profile(writable=("output", "scratch")))
    made.commit_count = 1
    made.call(READ, path=FILE)
    return made


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_an_argument_is_taken_or_refused_by_its_name(row: Row) -> None:
    desktop = seated()

    result = desktop.send(row.tool, row.arguments(GOOD[row.tool]))

    assert result.error_code == row.code
    assert row.code is None or row.is_named_in(result.content)
    assert row.code is None or desktop.text(FILE) == "the red door\nstood open"


def test_every_argument_has_its_rows() -> None:
    assert untold(TABLE, *GOOD) == set()
    assert set(GOOD) == {name for name in TOOLS if name.startswith("workspace.")}


@pytest.mark.parametrize("tool", GOOD)
def test_an_unknown_argument_is_left_alone(tool: str) -> None:
    assert seated().send(tool, {**GOOD[tool], "unknown": 1}) == seated().send(tool, GOOD[tool])


@pytest.mark.parametrize("tool", [tool for tool in GOOD if tool != FINISH])
@pytest.mark.parametrize("arguments", [[], "x", '{"path":', 3, True])
def test_what_is_no_object_is_refused(tool: str, arguments: Json) -> None:
    result = seated().send(tool, arguments)

    assert (result.error_code, "arguments" in result.content) == (INVALID, True)


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_a_model_that_wants_to_stop_is_not_held_up_by_what_it_sends(arguments: Json) -> None:
    assert seated().send(FINISH, arguments).structured == {"reason": None}
