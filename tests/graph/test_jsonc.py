"""JSON with comments reads as the JSON without them, and every member's line is known."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.jsonc import JsoncFault, read
from treadle.graph.jsontext import Json, is_list, is_object

TEXT = """// the first line
{
  "id": "mine", /* for
  runs */ "tools": {
    "allow": [
      "a", // one
      "b",
    ],
    "words": {"skill.read": {"x y": 1}},
  },
}
"""


def test_comments_and_last_commas_are_no_part_of_the_value() -> None:
    assert read(TEXT).value == {
        "id": "mine", "tools": {"allow": ["a", "b"], "words": {"skill.read": {"x y": 1}}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("$", 2),
        ("$.id", 3),
        ("$.tools", 4),
        ("$.tools.allow", 5),
        ("$.tools.allow[0]", 6),
        ("$.tools.allow[1]", 7),
        ("$.tools.allow[2]", 5),
        ('$.tools.words["skill.read"]', 9),
        ('$.tools.words["skill.read"]["x y"]', 9),
        ("$.tools.maxRounds", 4),
        ("$.nothing.at.all", 2),
    ],
)
def test_a_path_has_the_line_of_its_key_or_of_what_would_hold_it(path: str, line: int) -> None:
    assert read(TEXT).line_of(path) == line


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "// no comment"}',
        '{"a": "/* none */", "b": ",]"}',
        '["\\"//"]',
        '"https://x"',
        "3",
        "[]",
        "{}",
        '[1,"\\\\"]',
    ],
)
def test_what_stands_in_a_string_is_text(text: str) -> None:
    assert read(text).value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("{\n  // why\n  'a': 1\n}", 3, 3),
        ("[1,, 2]", 1, 4),
        ("[,]", 1, 2),
        ("{,}", 1, 2),
        ("[1,,]", 1, 4),
        ("[1 2]", 1, 4),
        ("{/* open\n", 1, 2),
        ("{} // fine\n/", 2, 1),
        ('{"a": 1}\n}', 2, 1),
        ("", 1, 1),
        ("// only\n", 2, 1),
        ('{"a": "open\n}', 1, 12),
        ("[1, /* */ # ]", 1, 11),
    ],
)
def test_what_is_no_json_is_told_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(JsoncFault) as caught:
        read(text)

    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n"a": 1,\n"a": 2}', 'line 3, column 1: "a" is given twice, also on line 2; keep one'),
        ('{"a": [{"b": 1, "\\u0062": 2}]}', '"b" is given twice'),
    ],
)
def test_a_key_that_is_given_twice_is_refused(text: str, words: str) -> None:
    with pytest.raises(JsoncFault, match=words):
        read(text)


@pytest.mark.parametrize("text", ["[NaN]", "[1e999]", "\ufeff{}", "[" * 100_000])
def test_what_no_reader_of_json_takes_is_refused(text: str) -> None:
    with pytest.raises(JsoncFault):
        read(text)


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
COMMENTS = st.sampled_from(["", " ", "\n", '// x, [ { "\n', '/* } ] , " */', "/**/", "\t// 字\n"])


@given(VALUES, st.lists(COMMENTS, min_size=1, max_size=5))
def test_comments_anywhere_between_the_pieces_change_nothing(value: Json, comments: list[str]) -> None:
    pieces = _pieces(value)
    commented = "".join(f"{piece}{comments[at % len(comments)]}" for at, piece in enumerate(pieces))

    got = read(commented)

    assert got.value == value
    assert got.lines[()] == 1


def _pieces(value: Json) -> list[str]:
    if is_object(value):
        members = [[json.dumps(key), ":", *_pieces(item), ","] for key, item in value.items()]
        return ["{", *(piece for member in members for piece in member), "}"]
    if is_list(value):
        return ["[", *(piece for item in value for piece in [*_pieces(item), ","]), "]"]
    return [json.dumps(value)]


@given(st.text(alphabet='{}[]:,"/* \n\\a1'))
def test_no_text_makes_it_stumble(text: str) -> None:
    try:
        got = read(text)
    except JsoncFault as fault:
        assert fault.line >= 1
    else:
        assert got.lines[()] >= 1
