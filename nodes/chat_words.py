"""What a chat is searched for: the words of a query, and pairs of characters where words alone would find too little.

Chinese and Japanese have no spaces, so a word of a query may be a whole sentence; its pairs are what a text that says
it a little differently holds too.
"""

from __future__ import annotations

from .ranking import MOST_TOKENS, weight, words

_MOST_WHOLE = 8
"""Characters of a single word that is looked for itself, beside its pairs."""
_LONG = 8
"""Characters of a word among others that is looked for by its pairs alone."""
_MOST_PAIRS = 32
_MOST_PAIRS_AMONG_OTHERS = 8


def sought(query: str) -> dict[str, int]:
    """What to look for, in lower case, with its weight; at most 64. Empty where the query has no letter or digit."""
    pieces = _pieces(words(query))
    if len(pieces) > MOST_TOKENS:
        pieces = pieces[:: _stride(len(pieces), MOST_TOKENS)]
    return {piece: weight(piece) for piece in pieces[:MOST_TOKENS]}


def first_match(query: str, text: str) -> int:
    """Where a text that was found shows best why: the first of the query's own words in it, else of what was sought.

    An index into `text`; 0 where it holds none of them.
    """
    lowered = text.lower()
    for pieces in (words(query), tuple(sought(query))):
        places = [place for place in map(lowered.find, pieces) if place >= 0]
        if places:
            return _in_original(text, lowered, min(places))
    return 0


def _pieces(said: tuple[str, ...]) -> list[str]:
    """Each once, in the order of the words."""
    if len(said) == 1 and len(said[0]) > 2:
        (word,) = said
        whole = [word] if len(word) <= _MOST_WHOLE else []
        return list(dict.fromkeys([*whole, *_pairs(word, _MOST_PAIRS)]))
    pieces: list[str] = []
    for word in said:
        pieces += _pairs(word, _MOST_PAIRS_AMONG_OTHERS) if _is_long_without_ascii(word) else [word]
    return list(dict.fromkeys(pieces))


def _is_long_without_ascii(word: str) -> bool:
    return len(word) >= _LONG and not any(char.isascii() and char.isalnum() for char in word)


def _pairs(word: str, most: int) -> list[str]:
    """Neighbouring characters, spread over the word where there are more than `most`."""
    return [word[place : place + 2] for place in range(0, len(word) - 1, _stride(len(word) - 1, most))]


def _stride(count: int, most: int) -> int:
    return -(-count // most)


def _in_original(text: str, lowered: str, place: int) -> int:
    """The index in `text` of an index in its lower case, in which some letters are two."""
    if len(text) == len(lowered):
        return place
    length = 0
    for index, char in enumerate(text):
        length += len(char.lower())
        if length > place:
            return index
    return len(text)
