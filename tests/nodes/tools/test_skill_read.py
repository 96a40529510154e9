from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes.desk import desk
from tests.nodes.skill_desk import STYLE_MD, TONE, skill_desk
from treadle.graph.jsontext import Json

READ = "skill.read"
DOC = "references/tone.md"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_whole_file_is_raw_text_with_sizes_and_hash() -> None:
    result = skill_desk().call(READ, name="style", path=DOC)

    ref = f"skills/style/{DOC}"
    assert result.content == f"31 chars / 6 words from {ref}, sha256 {sha256(TONE)}, lines 1-4 of 4\n{TONE}"
    assert result.structured == {
        "name": "style", "path": DOC, "sha256": sha256(TONE), "chars": 31, "words": 6, "totalChars": 31,
        "totalWords": 6, "startChar": 0, "endChar": 31, "truncated": False, "totalLines": 4, "startLine": 1,
        "endLine": 4, "resourceRef": ref,
    }  # fmt: skip
    assert result.resource_refs == (ref,)


@pytest.mark.parametrize("path", [{}, {"path": None}, {"path": " "}, {"path": 3}, {"path": "./SKILL.md"}])
def test_skill_md_is_read_unless_another_file_is_named(path: dict[str, Json]) -> None:
    result = skill_desk().call(READ, name=" style ", **path)

    assert result.structured["path"] == "SKILL.md"
    assert result.content.split("\n", 1)[1] == STYLE_MD


def test_a_range_of_lines_tells_which_characters_it_holds() -> None:
    result = skill_desk().call(READ, name="style", path=DOC, start_line=2, line_count=1)

    told = result.structured
    assert result.content.endswith(" (truncated), lines 2-2 of 4\nThe red door")
    assert (told["startLine"], told["endLine"], told["startChar"], told["endChar"]) == (2, 2, 6, 18)
    assert (told["chars"], told["words"], told["truncated"]) == (12, 3, True)


def test_a_range_of_characters_tells_no_lines() -> None:
    result = skill_desk({"SKILL.md": "日本語 text"}).call(READ, name="style", start_char=1, max_chars=3)

    told = result.structured
    assert result.content.endswith(" (truncated), chars 1-4 of 8\n本語 ")
    assert (told["startLine"], told["endLine"], told["totalLines"]) == (0, 0, 1)
    assert (told["words"], told["totalWords"]) == (2, 4)


def test_all_characters_are_not_truncated() -> None:
    result = skill_desk({"SKILL.md": "abc"}).call(READ, name="style", start_char=0)

    assert result.structured["truncated"] is False
    assert "(truncated)" not in result.content


@pytest.mark.parametrize(
    ("max_chars", "text", "last"),
    [(1, "C", 1), (5, "Calm.", 1), (6, "Calm.\n", 1), (7, "Calm.\nT", 2), (30, TONE[:-1], 3), (31, TONE, 4)],
)
def test_lines_are_cut_at_max_chars_and_the_last_line_told_is_shown(max_chars: int, text: str, last: int) -> None:
    result = skill_desk().call(READ, name="style", path=DOC, max_chars=max_chars)

    assert result.content.split("\n", 1)[1] == text
    assert (result.structured["startLine"], result.structured["endLine"]) == (1, last)
    assert result.structured["truncated"] is (text != TONE)


def test_an_empty_file_has_no_lines() -> None:
    result = skill_desk().call(READ, name="style", path="references/empty.md")

    assert result.content.endswith(", lines 0-0 of 0\n")
    assert (result.structured["startLine"], result.structured["endLine"], result.structured["chars"]) == (0, 0, 0)


@pytest.mark.parametrize("text", ["\ufeffA\r\nB\r\n", "lone\rreturn", "line\u2028separator", "null\x00byte"])
def test_nothing_in_the_text_is_changed(text: str) -> None:
    for arguments in ({}, {"start_char": 0}):
        result = skill_desk({"SKILL.md": text}).call(READ, name="style", **arguments)

        assert result.content.split("\n", 1)[1] == text


@given(
    st.text(st.sampled_from("ab\n\r🙂字"), max_size=30),
    st.integers(1, 12),
    st.none() | st.integers(1, 12),
    st.none() | st.integers(1, 40),
)
def test_lines_are_the_characters_that_they_say(
    text: str, start_line: int, line_count: int | None, max_chars: int | None
) -> None:
    asked = {"start_line": start_line, "line_count": line_count, "max_chars": max_chars}
    desktop = skill_desk({"SKILL.md": text})

    result = desktop.call(READ, name="style", **{key: value for key, value in asked.items() if value is not None})

    if start_line > max(1, len(text.split("\n"))) or (not text and start_line > 1):
        assert result.error_code == "skill.invalid_request"
        return
    told, shown = result.structured, result.content.split("\n", 1)[1]
    assert shown == text[told["startChar"] : told["endChar"]]
    assert desktop.spending.chars == told["chars"] == len(shown)
    assert told["startChar"] == 0 or text[told["startChar"] - 1] == "\n"
    assert text.count("\n", 0, told["startChar"]) == max(0, told["startLine"] - 1)
    assert told["truncated"] is (shown != text)


def test_a_read_without_max_chars_takes_what_a_call_may() -> None:
    desktop = skill_desk({"SKILL.md": "x" * 100}, maxReadCharsPerCall=30, maxReadCharsPerRun=70)

    spent = [desktop.call(READ, name="style").structured["chars"] for _ in range(3)]

    assert (spent, desktop.spending.chars) == ([30, 30, 10], 70)
    last = desktop.call(READ, name="style")
    assert (last.error_code, desktop.spending.chars) == ("skill.read_budget_exhausted", 70)
    assert "70 characters" in last.content


def test_reads_and_searches_spend_the_same_budget() -> None:
    desktop = skill_desk({"SKILL.md": "door"}, maxReadCharsPerRun=20)
    desktop.call("skill.search", name="style", query="door")
    desktop.call("skill.list")

    result = desktop.call(READ, name="style", max_chars=13)

    assert desktop.spending.chars == 8
    assert (result.error_code, "only 12" in result.content) == ("skill.read_budget_exhausted", True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"name": "hidden", "max_chars": -1}, "tool.invalid_arguments", "max_chars"),
        ({"name": "hidden", "max_chars": 101}, "skill.policy_denied", '"hidden"'),
        (
            {"name": "none", "path": "../x", "max_chars": 101},
            "skill.read_budget_exceeded",
            "max_chars must be 1 to 100",
        ),
        ({"name": "none", "path": "../x"}, "skill.invalid_request", "leaves the skill"),
        ({"name": "none", "start_line": 0}, "skill.invalid_request", "start_line must be 1 or more"),
        ({"name": "none"}, "skill.not_found", "skill_list"),
        ({"name": "style", "path": "C:x"}, "skill.invalid_request", "drive prefix"),
        ({"name": "style", "path": "x\ud800"}, "skill.invalid_request", "lone surrogate"),
        ({"name": "style", "path": "none.md"}, "skill.not_found", "it has SKILL.md, art/cover.png"),
        ({"name": "style", "path": "references"}, "skill.invalid_request", "references is a folder"),
        ({"name": "style", "path": "art/cover.png"}, "skill.invalid_request", "no text"),
        ({"name": "style", "start_char": 0, "start_line": 1}, "skill.invalid_request", "not both"),
        ({"name": "style", "start_char": 0, "line_count": 1}, "skill.invalid_request", "not both"),
        ({"name": "style", "path": DOC, "start_line": 5}, "skill.invalid_request", "the file has 4 lines"),
        ({"name": "style", "path": DOC, "start_char": 31}, "skill.invalid_request", "the file has 31 characters"),
        ({"name": "style", "path": "references/empty.md", "start_char": 1}, "skill.invalid_request", "empty"),
        ({"name": "style", "path": "references/empty.md", "start_line": 2}, "skill.invalid_request", "empty"),
    ],
)
def test_the_first_fault_is_told_and_nothing_is_charged(arguments: Json, code: str, says: str) -> None:
    desktop = skill_desk(deny=["hidden"], maxReadCharsPerCall=100)

    result = desktop.send(READ, arguments)

    assert (result.error_code, says in result.content, desktop.spending.chars) == (code, True, 0)


@pytest.mark.parametrize(
    ("max_chars", "code"), [(101, "skill.read_budget_exhausted"), (None, "skill.read_budget_exhausted")]
)
def test_a_spent_budget_is_told_before_the_limit_of_a_call(max_chars: int | None, code: str) -> None:
    desktop = skill_desk(maxReadCharsPerCall=100, maxReadCharsPerRun=200)
    desktop.spending.chars = 200

    more = {} if max_chars is None else {"max_chars": max_chars}
    assert desktop.call(READ, name="none", path="../x", **more).error_code == code


def test_without_skills_none_is_found() -> None:
    assert desk().call(READ, name="style").error_code == "skill.not_found"
