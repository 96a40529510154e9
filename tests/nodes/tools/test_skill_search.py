from __future__ import annotations

import hashlib

import pytest

from tests.nodes.desk import Desk, desk
from tests.nodes.skill_desk import TONE, skill_desk
from treadle.graph.jsontext import Json
from treadle.storage.skills.shelf import SkillNotFound
from treadle.testkit.skills import MemorySkills

SEARCH = "skill.search"


def found(desktop: Desk, query: str, **more: Json) -> list[tuple[str, int, int]]:
    hits = desktop.call(SEARCH, name="style", query=query, **more).structured["hits"]
    return [(hit["path"], hit["startLine"], hit["endLine"]) for hit in hits]


def test_a_hit_shows_its_numbered_lines_score_and_reference() -> None:
    result = skill_desk().call(SEARCH, name=" style ", query=" red DOOR ", context_lines=1)

    snippet = "1 | Calm.\n2 | The red door\n3 | stays shut."
    ref = "skills/style/references/tone.md#L1-L3"
    assert result.structured == {
        "name": "style", "query": "red DOOR",
        "hits": [
            {
                "path": "references/tone.md", "score": 1.0, "startLine": 1, "endLine": 3, "snippet": snippet,
                "chars": len(snippet), "words": 9, "sha256": hashlib.sha256(TONE.encode()).hexdigest(),
                "resourceRef": ref,
            }
        ],
        "searchedFiles": 3, "skippedFiles": 1, "truncated": False, "returnedChars": len(snippet), "returnedWords": 9,
    }  # fmt: skip
    assert result.content.startswith('1 hit for "red DOOR" in the skill style. ')
    assert result.content.endswith(f"\n\nreferences/tone.md score 1.000 ref {ref}\n{snippet}")
    assert result.resource_refs == (ref,)


def test_nothing_found_is_a_success_and_costs_nothing() -> None:
    desktop = skill_desk()
    for query in ("absent", "?!"):
        result = desktop.call(SEARCH, name="style", query=query)

        assert (result.is_error, result.structured["hits"], result.structured["returnedChars"]) == (False, [], 0)
        assert "Nothing was found" in result.content
    assert desktop.spending.chars == 0


@pytest.mark.parametrize(
    ("path", "paths"),
    [
        ("references/tone.md", ["references/tone.md"]),
        ("references", ["references/tone.md"]),
        (" ./references// ", ["references/tone.md"]),
        ("SKILL.md", ["SKILL.md"]),
        ("", ["SKILL.md", "references/tone.md"]),
        ("  ", ["SKILL.md", "references/tone.md"]),
        (None, ["SKILL.md", "references/tone.md"]),
        (3, ["SKILL.md", "references/tone.md"]),
    ],
)
def test_a_file_or_a_folder_may_be_searched_else_all(path: Json, paths: list[str]) -> None:
    files: dict[str, str | bytes] = {"SKILL.md": "door", "references/tone.md": "door"}

    assert [hit for hit, *_ in found(skill_desk(files), "door", path=path)] == paths


def test_the_start_of_a_folders_name_is_not_that_folder() -> None:
    files: dict[str, str | bytes] = {"ref/a.md": "door", "references/b.md": "door"}

    assert [path for path, *_ in found(skill_desk(files), "door", path="ref")] == ["ref/a.md"]


def test_only_what_is_asked_for_is_read() -> None:
    class Counting(MemorySkills):
        def read(self, name: str, path: str) -> bytes:
            asked.append((name, path))
            return super().read(name, path)

    asked: list[tuple[str, str]] = []
    files = {"SKILL.md": b"door", "a/1.md": b"door", "a/2.md": b"", "b/3.md": b"door"}
    desktop = Desk(skills=Counting({"style": files, "lore": files}))

    desktop.call(SEARCH, name="style", query="door", path="a")

    assert asked == [("style", "a/1.md"), ("style", "a/2.md")]


@pytest.mark.slow
def test_five_thousand_files_are_searched() -> None:
    files: dict[str, str | bytes] = {f"{number:04}.md": "river" for number in range(5000)}
    files["4999.md"] = "the door"

    result = skill_desk(files).call(SEARCH, name="style", query="door")

    assert [hit["path"] for hit in result.structured["hits"]] == ["4999.md"]
    assert (result.structured["searchedFiles"], result.structured["truncated"]) == (5000, False)


def test_a_file_that_goes_while_the_skill_is_searched_is_skipped_and_counted() -> None:
    class Leaky(MemorySkills):
        def read(self, name: str, path: str) -> bytes:
            if path == "a.md":
                raise SkillNotFound("it was removed")
            return super().read(name, path)

    result = Desk(skills=Leaky({"s": {"a.md": b"door", "b.md": b"door"}})).call(SEARCH, name="s", query="door")

    assert (result.structured["searchedFiles"], result.structured["skippedFiles"]) == (1, 1)


@pytest.mark.parametrize("lines", [2, 3])
def test_what_is_cut_at_the_limit_is_told(lines: int) -> None:
    result = skill_desk({"SKILL.md": "door\n" * lines}).call(
        SEARCH, name="style", query="door", context_lines=0, limit=2
    )

    assert result.structured["truncated"] is (lines == 3)
    assert ("there is more" in result.content) is (lines == 3)


def test_what_is_shown_is_charged_in_characters() -> None:
    desktop = skill_desk({"SKILL.md": "门🙂 door"})

    result = desktop.call(SEARCH, name="style", query="door")

    assert desktop.spending.chars == result.structured["returnedChars"] == len("1 | 门🙂 door")


def test_a_search_that_the_budget_can_not_hold_costs_nothing() -> None:
    desktop = skill_desk({"SKILL.md": "door\ndoor\ndoor"}, maxReadCharsPerRun=17)  # a line is 8 characters

    result = desktop.call(SEARCH, name="style", query="door", context_lines=0)
    assert (result.error_code, desktop.spending.chars) == ("skill.read_budget_exhausted", 0)
    assert "24 characters" in result.content
    assert "only 17" in result.content

    result = desktop.call(SEARCH, name="style", query="door", context_lines=0, limit=2)
    assert (result.is_error, desktop.spending.chars) == (False, 16)


def test_nothing_is_searched_once_the_budget_is_spent() -> None:
    desktop = skill_desk({"SKILL.md": "door"}, maxReadCharsPerRun=8)
    desktop.call(SEARCH, name="style", query="door")

    result = desktop.call(SEARCH, name="style", query="nothing")

    assert result.error_code == "skill.read_budget_exhausted"
    assert "8 characters" in result.content


HIDDEN = {"name": "hidden", "query": "a"}
SPENT = {"name": "style", "query": "a"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({**HIDDEN, "limit": -1}, "tool.invalid_arguments", "limit"),
        ({**HIDDEN, "limit": 0}, "skill.policy_denied", '"hidden"'),
        ({"name": "style", "query": "a", "limit": 51, "context_lines": 6}, "skill.search_limit_too_large", "limit"),
        ({"name": "none", "query": "a", "context_lines": 6}, "skill.search_context_too_large", "context_lines"),
        ({"name": "none", "query": "a", "path": "../x"}, "skill.invalid_request", "leaves the skill"),
        ({"name": "none", "query": "a", "path": "x"}, "skill.not_found", "skill_list"),
        ({"name": "style", "query": "a", "path": "/SKILL.md"}, "skill.invalid_request", "absolute"),
        ({"name": "style", "query": "a", "path": "x\ud800"}, "skill.invalid_request", "lone surrogate"),
        ({"name": "style", "query": "a", "path": "none"}, "skill.not_found", "leave path out"),
    ],
)
def test_the_first_fault_is_told(arguments: Json, code: str, says: str) -> None:
    result = skill_desk(deny=["hidden"]).send(SEARCH, arguments)

    assert (result.error_code, says in result.content) == (code, True)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({**SPENT, "context_lines": 6}, "skill.search_context_too_large"),
        ({**SPENT, "path": "../x"}, "skill.read_budget_exhausted"),
    ],
)
def test_the_budget_is_looked_at_between_the_limits_and_the_files(arguments: Json, code: str) -> None:
    desktop = skill_desk(maxReadCharsPerRun=5)
    desktop.spending.chars = 5

    assert desktop.send(SEARCH, arguments).error_code == code


def test_without_skills_none_is_found() -> None:
    result = desk().call(SEARCH, name="style", query="a")

    assert (result.error_code, '"style"' in result.content) == ("skill.not_found", True)
