from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.nodes.lines import numbered, split, unnumbered, without_numbers

LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)
LINES = st.lists(LINE, min_size=1, max_size=30)


def test_a_trailing_newline_makes_one_more_line_and_empty_text_none() -> None:
    assert split("a\n") == ["a", ""]
    assert split("") == []
    assert split("a\r\nb\u2028c\x0bd") == ["a\r", "b\u2028c\x0bd"]


def test_numbers_are_padded_to_the_width_of_the_last() -> None:
    assert numbered(["a", "b"], 99) == " 99 | a\n100 | b"


@given(LINES, st.integers(1, 2000))
def test_lines_are_found_again_in_what_was_shown(lines: list[str], first: int) -> None:
    assert unnumbered(numbered(lines, first), first + len(lines) - 1) == "\n".join(lines)


@given(LINES, st.integers(1, 2000))
def test_copied_numbers_are_told_from_text(lines: list[str], first: int) -> None:
    assert without_numbers(numbered(lines, first)) == "\n".join(lines)


def test_text_without_numbers_on_each_line_has_none() -> None:
    assert without_numbers("1 | a\nb") is None
    assert without_numbers("x | a") is None
