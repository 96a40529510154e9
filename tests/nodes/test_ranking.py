# ruff: noqa: RUF001 - letters that look alike are what these tests are about
from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.nodes.search_reference import plain_windows
from treadle.nodes.lines import split
from treadle.nodes.ranking import Window, sought, tokens, windows

TRICKY = "abAB İıiIßẞΣσςKkДд你好世界カナ한🙂é\u0307_0\n\r ,。"
"""Letters that change their number, or look at their neighbours, when they are lowered; scripts without spaces."""


def found(text: str, words: tuple[str, ...], *, context: int = 0, limit: int = 9) -> list[Window]:
    held = sought(text, words)
    return windows(held, context=context, limit=limit) if held else []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (" Red-door, RED! ", ("red", "door")),
        ("snake_case 42", ("snake_case", "42")),
        ("你好。世界", ("你好", "世界")),
        ("她走进了图书馆", ("她走进了图书馆",)),
        ("ドアの鍵、どこ？", ("ドアの鍵", "どこ")),
        ("문을 열다", ("문을", "열다")),
        ("🙂 door 👩‍👩‍👧", ("door",)),
        ("🙂", ()),
        ("नमस्ते", ("नमस", "ते")),
        ("ΟΔΥΣΣΕΥΣ", ("οδυσσευς",)),
        ("STRASSE Straße", ("strasse", "straße")),
        ("?! …", ()),
    ],
)
def test_a_query_is_its_words_in_lower_case_each_once(query: str, expected: tuple[str, ...]) -> None:
    assert tokens(query) == expected


def test_only_the_first_64_words_count() -> None:
    assert tokens(" ".join(f"w{number}" for number in range(100))) == tuple(f"w{number}" for number in range(64))


def test_longer_words_weigh_more_up_to_8_and_each_counts_once_a_line() -> None:
    scores = {window.first: window.score for window in found("a\nabcdefghijk\na a a", ("abcdefghijk", "a"))}

    assert scores == {1: 1 / 9, 2: 1.0, 3: 1 / 9}


def test_windows_are_clipped_and_share_no_line() -> None:
    assert [(window.first, window.last) for window in found("x\nx\nhit\nhit\nx\nx\nhit", ("hit",), context=1)] == [
        (2, 4), (6, 7),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "query", "lines"),
    [
        ("她走进了图书馆。\n图书馆很安静\n图书", "图书馆", [1, 2]),
        ("鍵はどこ\nドアの鍵", "鍵", [1, 2]),
        ("ｶﾅ\nカナ", "カナ", [2]),
        ("🙂 yes\nno 🙂", "🙂 yes", [1]),
        ("ISTANBUL\nİstanbul\nıstanbul", "istanbul", [1]),
        ("ΣΟΦΟΣ\nσοφος\nσοφός", "ΣΟΦΟΣ", [1, 2]),
        ("Straße\nSTRASSE", "straße", [1]),
        ("one\r\ntwo\r\n", "two", [2]),
        ("last", "last", [1]),
    ],
)
def test_lines_are_found_in_every_script(text: str, query: str, lines: list[int]) -> None:
    assert [window.first for window in found(text, tokens(query))] == lines


def test_a_text_that_holds_no_word_is_not_looked_through() -> None:
    assert sought("a river", ("door", "key")) is None
    assert sought("a river", ()) is None
    assert sought("", ("door",)) is None


def test_no_line_scores_more_than_what_the_text_holds() -> None:
    held = sought("the Door", ("door", "key"))

    assert held is not None
    assert held.bound == 4 / 7


letters = st.text(st.sampled_from(TRICKY), max_size=80)
LINES = ("", "a b", "A", "b\r", "Σ a", "ΑΣ", "门", "石门 B", "İ", "ı", "🙂", "\r")
lines = st.lists(st.sampled_from(LINES), max_size=16).map("\n".join)
queries = st.text(st.sampled_from(TRICKY), max_size=12) | st.sampled_from(["a", "a b", "门 a", "ς b", "石门 门", "i"])


@given(letters | lines, queries, st.integers(0, 5), st.integers(1, 6))
@example("ΑΣ\nΣ", "σ ς", 0, 6)
@example("\n\n\na\n", "A", 5, 1)
def test_windows_are_those_of_a_plain_search(text: str, query: str, context: int, limit: int) -> None:
    words = tokens(query)

    assert found(text, words, context=context, limit=limit) == plain_windows(text, words, context=context, limit=limit)


@given(letters)
def test_letters_are_lowered_alike_in_a_line_and_in_a_text(text: str) -> None:
    assert split(text.lower()) == [line.lower() for line in split(text)]
