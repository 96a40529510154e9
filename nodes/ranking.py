"""Ranked text search: lines scored by the words of a query, best windows first.

A text is looked through as it is, and no index of it is kept: the files of a run change from round to round, those of
a skill are small and asked for a few times at most, and a thousand of them are read and searched in less time than a
model needs for its first word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..graph.text import is_alphanumeric

MOST_TOKENS = 64
MOST_WEIGHT = 8


@dataclass(frozen=True, slots=True)
class Window:
    """A run of lines, both ends included and counted from 1, around a line that matched."""

    score: float
    """The share of the query's weight that the line holds, above 0 and at most 1."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Sought:
    """What is left of a query of which a text holds something."""

    lowered: str
    """The text in lower case, which keeps its line breaks where they are."""
    weights: dict[str, int]
    """Of the words that it holds."""
    whole: int
    """The weight of all words of the query."""

    @property
    def bound(self) -> float:
        """No line of the text scores more."""
        return sum(self.weights.values()) / self.whole


def tokens(query: str) -> tuple[str, ...]:
    """The query's words in lower case, each once, the first 64."""
    return words(query)[:MOST_TOKENS]


def words(query: str) -> tuple[str, ...]:
    """The query's words in lower case, each once, in their order."""
    spaced = "".join(char if char == "_" or is_alphanumeric(char) else " " for char in query.strip().lower())
    return tuple(dict.fromkeys(spaced.split()))


def weight(word: str) -> int:
    """What a word adds to the score of what holds it: its length, at most 8."""
    return min(MOST_WEIGHT, len(word))


def sought(text: str, wanted: tuple[str, ...]) -> Sought | None:
    """None where the text holds none of the words, which is all that most texts are asked."""
    lowered = text.lower()
    held = {word: weight(word) for word in wanted if word in lowered}
    return Sought(lowered, held, sum(map(weight, wanted))) if held else None


def windows(of: Sought, *, context: int, limit: int) -> list[Window]:
    """The best windows of a text, at most `limit`, no two sharing a line; score descending, then line ascending."""
    by_line = _weight_by_line(of)
    last_line = of.lowered.count("\n") + 1
    chosen: list[Window] = []
    blocked: set[int] = set()
    for line in sorted(sorted(by_line), key=by_line.__getitem__, reverse=True):  # stable: lines stay ascending
        if line in blocked:
            continue
        chosen.append(Window(by_line[line] / of.whole, max(1, line - context), min(last_line, line + context)))
        if len(chosen) == limit:
            break
        blocked.update(range(line - 2 * context, line + 2 * context + 1))  # windows around these would share a line
    return chosen


def _weight_by_line(of: Sought) -> dict[int, int]:
    """The weight that each matching line holds; a word counts once a line."""
    by_line: dict[int, int] = {}
    for word, adds in of.weights.items():
        for line in _lines_with(word, of.lowered):
            by_line[line] = by_line.get(line, 0) + adds
    return by_line


def _lines_with(word: str, lowered: str) -> Iterator[int]:
    """From hit to line end to hit: what lies between is never cut into lines."""
    line, counted, at = 1, 0, lowered.find(word)
    while at >= 0:
        line += lowered.count("\n", counted, at)
        yield line
        counted = lowered.find("\n", at)
        if counted < 0:
            return
        at = lowered.find(word, counted)
