from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.nodes.chat_words import first_match, sought

LONG = "".join(chr(0x4E00 + number) for number in range(200))
"""200 different Chinese characters."""


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("ab", {"ab": 2}),
        ("门", {"门": 1}),
        ("红门", {"红门": 2}),
        ("红色门", {"红色门": 3, "红色": 2, "色门": 2}),
        ("Door", {"door": 4, "do": 2, "oo": 2, "or": 2}),
        ("lanterns", {"lanterns": 8, "la": 2, "an": 2, "nt": 2, "te": 2, "er": 2, "rn": 2, "ns": 2}),
        ("aaa!", {"aaa": 3, "aa": 2}),
        ("red Red DOOR", {"red": 3, "door": 4}),
        ("door DOOR", {"door": 4, "do": 2, "oo": 2, "or": 2}),
        ("ex-wife's_cat", {"ex": 2, "wife": 4, "s_cat": 5}),
        ("the 红色的大门朝南开 x", {"the": 3, "红色": 2, "色的": 2, "的大": 2, "大门": 2, "门朝": 2, "朝南": 2, "南开": 2, "x": 1}),
        ("the 红色的大门朝南", {"the": 3, "红色的大门朝南": 7}),
        ("the 红色的大门2号开着", {"the": 3, "红色的大门2号开着": 8}),
        ("extraordinarily well", {"extraordinarily": 8, "well": 4}),
        ("?! 👩‍👩‍👧 …", {}),
        ("①号", {"①号": 2}),
    ],
)  # fmt: skip
def test_a_query_becomes_weighted_words(query: str, words: dict[str, int]) -> None:
    assert sought(query) == words
    assert list(sought(query)) == list(words)


@pytest.mark.parametrize(
    ("length", "pairs", "stride"), [(9, 8, 1), (33, 32, 1), (34, 17, 2), (65, 32, 2), (66, 22, 3), (200, 29, 7)]
)
def test_a_long_word_alone_is_looked_for_by_at_most_32_pairs(length: int, pairs: int, stride: int) -> None:
    assert list(sought(LONG[:length])) == [LONG[place : place + 2] for place in range(0, length - 1, stride)]
    assert len(sought(LONG[:length])) == pairs


@pytest.mark.parametrize(("length", "pairs", "stride"), [(8, 7, 1), (9, 8, 1), (10, 5, 2), (17, 8, 2), (18, 6, 3)])
def test_a_long_word_among_others_by_at_most_8(length: int, pairs: int, stride: int) -> None:
    found = list(sought(f"a {LONG[:length]}"))

    assert found == ["a", *(LONG[place : place + 2] for place in range(0, length - 1, stride))]
    assert len(found) == pairs + 1


@pytest.mark.parametrize(("count", "kept", "stride"), [(64, 64, 1), (65, 33, 2), (128, 64, 2), (129, 43, 3)])
def test_more_than_64_are_thinned_evenly(count: int, kept: int, stride: int) -> None:
    words = [f"w{number}" for number in range(count)]

    assert list(sought(" ".join(words))) == words[::stride]
    assert len(sought(" ".join(words))) == kept


@given(st.text(max_size=400))
def test_any_query_has_at_most_64_words_in_lower_case_of_weight_1_to_8(query: str) -> None:
    words = sought(query)

    assert len(words) <= 64
    assert all(1 <= weight <= 8 and weight == min(8, len(word)) for word, weight in words.items())
    assert not any(char.isspace() for word in words for char in word)


@pytest.mark.parametrize(
    ("query", "text", "place"),
    [
        ("lantern", "an ant with a Lantern", 14),
        ("red door", "a door, then red", 2),
        ("红色的门", "他的门是红色的", 1),
        ("absent", "no such thing", 0),
        ("door", "İİ door", 3),
        ("ß", "İßẞ", 1),
        ("?", "x?", 0),
    ],
)
def test_a_text_is_shown_from_the_querys_own_words(query: str, text: str, place: int) -> None:
    assert first_match(query, text) == place


@given(st.text(), st.text(min_size=1))
def test_the_first_match_lies_in_the_text(query: str, text: str) -> None:
    assert 0 <= first_match(query, text) <= len(text)
