from __future__ import annotations

import hashlib

import pytest

from tests.nodes.desk import desk, profile
from treadle.graph.jsontext import Json
from treadle.nodes.tools.search_files import MOST_FILES

SEARCH = "workspace.search_files"


def found(files: dict[str, str | bytes], query: str, **more: Json) -> list[tuple[str, int, int]]:
    hits = desk(files).call(SEARCH, query=query, **more).structured["hits"]
    return [(hit["path"], hit["startLine"], hit["endLine"]) for hit in hits]


def test_a_hit_shows_its_numbered_lines_score_and_reference() -> None:
    text = "one\nthe Red door\ntwo\n"

    result = desk({"output/a.md": text}).call(SEARCH, query=" red DOOR ", context_lines=1)

    snippet = "1 | one\n2 | the Red door\n3 | two"
    assert result.structured == {
        "query": "red DOOR",
        "hits": [
            {
                "path": "output/a.md", "score": 1.0, "startLine": 1, "endLine": 3, "snippet": snippet,
                "chars": len(snippet), "words": 8, "sha256": hashlib.sha256(text.encode()).hexdigest(),
                "ref": "workspace:output/a.md#L1-L3",
            }
        ],
        "searchedFiles": 1, "skippedFiles": 0, "truncated": False,
    }  # fmt: skip
    assert result.content.startswith('1 hit for "red DOOR". ')
    assert result.content.endswith(f"\n\noutput/a.md score 1.000 ref workspace:output/a.md#L1-L3\n{snippet}")
    assert result.resource_refs == ("workspace:output/a.md#L1-L3",)


def test_better_hits_come_first_then_paths_then_lines() -> None:
    files: dict[str, str | bytes] = {
        "scratch/b.md": "door\n\nred door",
        "output/a.md": "door",
    }

    assert found(files, "red door", context_lines=0) == [
        ("scratch/b.md", 3, 3), ("output/a.md", 1, 1), ("scratch/b.md", 1, 1),
    ]  # fmt: skip


def test_letter_case_never_matters() -> None:
    assert found({"output/a.md": "СОФИЯ вошла"}, "София") == [("output/a.md", 1, 1)]


def test_nothing_found_is_a_success() -> None:
    for query in ("absent", "?!"):
        result = desk({"output/a.md": "text"}).call(SEARCH, query=query)

        assert not result.is_error
        assert result.structured["hits"] == []
        assert "Nothing was found" in result.content


def test_one_file_or_folder_may_be_searched() -> None:
    files: dict[str, str | bytes] = {"output/a.md": "door", "output/in/b.md": "door", "plan/c.md": "door"}

    assert found(files, "door", path="output/in/b.md") == [("output/in/b.md", 1, 1)]
    assert [path for path, *_ in found(files, "door", path="output/")] == ["output/a.md", "output/in/b.md"]


def test_only_visible_folders_are_searched() -> None:
    files: dict[str, str | bytes] = {"output/a.md": "door", "plan/c.md": "door", "input/prompt.json": "door"}
    narrow = desk(files, profile(visible=("plan",), writable=()))

    assert [hit["path"] for hit in narrow.call(SEARCH, query="door").structured["hits"]] == ["plan/c.md"]


def test_files_that_are_not_text_are_skipped_and_counted() -> None:
    result = desk({"scratch/u.txt": b"\xff\xfeh\x00i\x00", "output/a.md": "hi"}).call(SEARCH, query="hi")

    told = result.structured
    assert (told["searchedFiles"], told["skippedFiles"], len(told["hits"])) == (1, 1, 1)
    assert "\x00" not in result.content


@pytest.mark.parametrize("lines", [20, 21])
def test_what_is_cut_at_the_limit_is_told(lines: int) -> None:
    result = desk({"output/a.md": "door\n" * lines}).call(SEARCH, query="door", context_lines=0)

    assert len(result.structured["hits"]) == 20
    assert result.structured["truncated"] is (lines == 21)
    assert ("there is more" in result.content) is (lines == 21)


def test_at_most_1000_files_are_searched() -> None:
    many: dict[str, str | bytes] = {f"output/{number:04d}.md": "x" for number in range(MOST_FILES)}
    desktop = desk(many)
    assert desktop.call(SEARCH, query="door").structured["truncated"] is False

    desktop.put("scratch/last.md", "door")
    result = desktop.call(SEARCH, query="door")

    assert (result.structured["searchedFiles"], result.structured["truncated"]) == (1000, True)


def test_files_eight_levels_down_are_found_and_deeper_ones_not() -> None:
    files: dict[str, str | bytes] = {f"output/{'d/' * depth}a.md": "door" for depth in (7, 8)}

    assert len(found(files, "door")) == 1


def test_a_search_teaches_nothing_for_a_patch() -> None:
    desktop = desk({"output/a.md": "door"})
    desktop.call(SEARCH, query="door")

    result = desktop.call("workspace.apply_patch", path="output/a.md", old_string="door", new_string="gate")

    assert result.error_code == "workspace.patch_requires_read"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (None, "tool.invalid_arguments", "object"),
        ({}, "tool.invalid_arguments", "query is missing"),
        ({"query": " "}, "tool.invalid_arguments", "query must not be blank"),
        ({"query": "a \ud800"}, "tool.invalid_arguments", "lone surrogate"),
        ({"query": "a", "path": "/x"}, "tool.invalid_arguments", "absolute"),
        ({"query": "a", "limit": 2.5}, "tool.invalid_arguments", "limit"),
        ({"query": "a", "context_lines": -1}, "tool.invalid_arguments", "context_lines"),
        ({"query": "a", "path": "input"}, "workspace.path_not_visible", "output/"),
        ({"query": "a", "limit": 0}, "workspace.search_limit_invalid", "limit must be 1 to 50"),
        ({"query": "a", "limit": 51}, "workspace.search_limit_too_large", "limit must be 1 to 50"),
        ({"query": "a", "context_lines": 6}, "workspace.search_context_too_large", "context_lines must be 0 to 5"),
        ({"query": "a", "path": "output/none.md"}, "workspace.path_not_found", "output/none.md"),
    ],
)
def test_what_the_model_can_mend_is_told(arguments: Json, code: str, says: str) -> None:
    result = desk({"output/a.md": "a"}).send(SEARCH, arguments)

    assert (result.is_error, result.error_code) == (True, code)
    assert says in result.content
