from __future__ import annotations

import pytest

from treadle.graph.errors import ToolRefused
from treadle.graph.jsontext import Json
from treadle.nodes.arguments.given import Given
from treadle.nodes.ranges import MOST_TOTAL, MOST_WHOLE, Range, asked_range, check_total, part

BAD = "thing.invalid_range"


def test_the_whole_text_is_the_default() -> None:
    told = part("红门 opens", Range(), name="It", code=BAD)

    assert told.text == "红门 opens"
    assert told.to_json() == {
        "chars": 8, "words": 3, "totalChars": 8, "totalWords": 3, "startChar": 0, "endChar": 8, "truncated": False,
    }  # fmt: skip


def test_a_part_has_its_own_measures_beside_the_wholes() -> None:
    told = part("red door 👩‍👩‍👧 red", Range(4, 5), name="It", code=BAD)

    assert told.text == "door "
    assert told.to_json() == {
        "chars": 5, "words": 1, "totalChars": 18, "totalWords": 3, "startChar": 4, "endChar": 9, "truncated": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "asked", "shown"),
    [
        ("", Range(), ""),
        ("", Range(0, 5), ""),
        ("abc", Range(1), "bc"),
        ("abc", Range(2, 8000), "c"),
        ("x" * MOST_WHOLE, Range(), "x" * MOST_WHOLE),
        ("x" * (MOST_WHOLE + 1), Range(MOST_WHOLE, 1), "x"),
    ],
)
def test_a_range_ends_where_the_text_does(text: str, asked: Range, shown: str) -> None:
    assert part(text, asked, name="It", code=BAD).text == shown


@pytest.mark.parametrize(
    ("text", "asked", "says"),
    [
        ("abc", Range(3), "start_char 3 is past the end: it has 3 characters"),
        ("abc", Range(4, 1), "start_char 4 is past the end: it has 3 characters"),
        ("", Range(1), "start_char 1 is past the end: it is empty"),
        ("x" * (MOST_WHOLE + 1), Range(), "It has 8001 characters, and at most 8000"),
        ("x" * (MOST_WHOLE + 1), Range(MOST_WHOLE), "give start_char and max_chars"),
    ],
)
def test_a_range_that_can_not_be_read_is_refused(text: str, asked: Range, says: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        part(text, asked, name="It", code=BAD)

    assert refused.value.code == BAD
    assert says in refused.value.message


def test_a_call_reads_20000_characters_and_no_more() -> None:
    whole = part("x" * 5000, Range(), name="It", code=BAD)
    assert MOST_TOTAL == 4 * 5000
    check_total([whole] * 4, code="thing.too_large")

    with pytest.raises(ToolRefused, match="20001 characters") as refused:
        check_total([*[whole] * 4, part("x", Range(), name="It", code=BAD)], code="thing.too_large")

    assert refused.value.code == "thing.too_large"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"start_char": -1}, "items[2].start_char"),
        ({"start_char": None}, "items[2].start_char"),
        ({"start_char": True}, "items[2].start_char"),
        ({"max_chars": 1.0}, "items[2].max_chars"),
        ({"max_chars": "1"}, "items[2].max_chars"),
        ({"max_chars": 0}, "items[2].max_chars must be 1 to 8000"),
        ({"max_chars": 8001}, "items[2].max_chars must be 1 to 8000"),
    ],
)
def test_a_range_that_is_none_is_refused_by_its_place(fields: dict[str, Json], says: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        asked_range(Given(fields, "items[2]."))

    assert refused.value.code == "tool.invalid_arguments"
    assert says in refused.value.message


def test_a_range_is_taken_from_its_fields() -> None:
    assert asked_range(Given({})) == Range()
    assert asked_range(Given({"start_char": 3, "max_chars": 8000, "other": 1})) == Range(3, 8000)
