from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.nodes.lines import split
from treadle.nodes.ranking import Found, Window, best, tokens, windows


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (" Red-door, RED! ", ("red", "door")),
        ("snake_case 42", ("snake_case", "42")),
        ("你好。世界", ("你好", "世界")),
        ("नमस्ते", ("नमस", "ते")),
        ("?! …", ()),
    ],
)
def test_a_query_is_its_words_in_lower_case_each_once(query: str, expected: tuple[str, ...]) -> None:
    assert tokens(query) == expected


def test_only_the_first_64_words_count() -> None:
    assert tokens(" ".join(f"w{number}" for number in range(100))) == tuple(f"w{number}" for number in range(64))


def test_longer_words_weigh_more_up_to_8_and_each_counts_once_a_line() -> None:
    scores = {
        window.first: window.score
        for window in windows("a\nabcdefghijk\na a a", ("abcdefghijk", "a"), context=0, limit=9)
    }

    assert scores == {1: 1 / 9, 2: 1.0, 3: 1 / 9}


def test_windows_are_clipped_and_share_no_line() -> None:
    found = windows("x\nx\nhit\nhit\nx\nx\nhit", ("hit",), context=1, limit=9)

    assert [(window.first, window.last) for window in found] == [(2, 4), (6, 7)]


def test_the_best_come_first_then_by_path_and_line() -> None:
    found = [
        Found("b", Window(0.5, 1, 1)),
        Found("a", Window(0.5, 9, 9)),
        Found("a", Window(0.5, 2, 2)),
        Found("c", Window(1.0, 1, 1)),
    ]

    assert [(one.path, one.window.first) for one in best(found, 3)] == [("c", 1), ("a", 2), ("a", 9)]


@given(
    st.text(st.sampled_from("abAB İß\nΣς_"), max_size=60),
    st.text(st.sampled_from("abAB İΣ_"), max_size=8),
    st.integers(0, 3),
)
def test_hits_are_exactly_the_lines_that_hold_a_word(text: str, query: str, context: int) -> None:
    words = tokens(query)
    lines = split(text.lower())

    every = windows(text, words, context=0, limit=1000)
    wider = windows(text, words, context=context, limit=1000)

    assert {window.first for window in every} == {
        number for number, line in enumerate(lines, 1) if any(word in line for word in words)
    }
    weight = {word: min(8, len(word)) for word in words}
    for window in every:
        line = lines[window.first - 1]
        assert window.score == sum(weight[word] for word in words if word in line) / sum(weight.values())
    spans = sorted((window.first, window.last) for window in wider)
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    assert all(1 <= first <= last <= len(lines) for first, last in spans)
