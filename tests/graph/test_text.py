"""Counting characters and words."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.text import count_chars, count_words, is_alphanumeric, sha256_text

CJK = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
WORD = st.text(st.characters(categories=["Ll", "Lu", "Nd"], max_codepoint=0x10FF), min_size=1)


@pytest.mark.parametrize(
    ("text", "chars", "words"),
    [
        ("", 0, 0),
        ("Hello, brave new world!", 23, 4),
        ("你好\uff0c世界", 5, 4),
        ("Chapter 2\uff1a你好world", 17, 5),
        ("✨ ...", 5, 0),
        ("hello from loop", 15, 3),
        ("don't", 5, 2),
        ("a_b", 3, 2),
        ("ｶﾅ한국 かな", 7, 6),
        ("naïve café", 10, 2),
    ],
)
def test_chars_are_scalar_values_and_each_cjk_unit_is_a_word(text: str, chars: int, words: int) -> None:
    assert (count_chars(text), count_words(text)) == (chars, words)


@pytest.mark.parametrize("word", ["नमस्ते"[:4], "हिन्दी"[:2], "สวัสดี"[:3], "Ⓐⓑ", "x²", "Ⅷ", "๓", "שָׁלוֹם"])
def test_vowel_signs_circled_letters_and_numerals_stand_inside_a_word(word: str) -> None:
    assert count_words(word) == 1


@pytest.mark.parametrize("mark", ["\u094d", "\u0301", "\u0e48", "\ufe0f", "\u180b", "\u200d", "_", "-"])
def test_viramas_accents_tone_marks_and_selectors_end_a_word(mark: str) -> None:
    assert not is_alphanumeric(mark)
    assert count_words(f"a{mark}b") == 2


@given(st.lists(WORD))
def test_words_parted_by_spaces_are_counted_one_by_one(words: list[str]) -> None:
    assert count_words(" ".join(words)) == len(words)


@given(st.text(), st.text())
def test_texts_parted_by_a_space_count_what_they_count_apart(first: str, second: str) -> None:
    assert count_words(f"{first} {second}") == count_words(first) + count_words(second)


@given(st.text(CJK))
def test_cjk_text_has_as_many_words_as_characters(text: str) -> None:
    assert count_words(text) == count_chars(text)


@given(st.text())
def test_there_are_never_more_words_than_characters(text: str) -> None:
    assert 0 <= count_words(text) <= count_chars(text)


def test_a_text_is_hashed_as_utf8() -> None:
    assert sha256_text("é") == hashlib.sha256(b"\xc3\xa9").hexdigest()
    assert sha256_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_text("\ud800") != sha256_text("\ud801")
