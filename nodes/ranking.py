"""Ranked text search: lines scored by the words of a query, best windows first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

from ..graph.text import is_alphanumeric
from .lines import split

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
class Found:
    """A window in a file."""

    path: str
    window: Window


def tokens(query: str) -> tuple[str, ...]:
    """The query's words in lower case, each once, the first 64."""
    spaced = "".join(char if char == "_" or is_alphanumeric(char) else " " for char in query.strip().lower())
    return tuple(islice(dict.fromkeys(spaced.split()), MOST_TOKENS))


def windows(text: str, words: tuple[str, ...], *, context: int, limit: int) -> list[Window]:
    """The best windows of a text, at most `limit`, no two sharing a line; score descending, then line ascending."""
    weights = {word: min(MOST_WEIGHT, len(word)) for word in words}
    whole = sum(weights.values())
    by_line = _weight_by_line(text.lower(), weights)
    last_line = len(split(text))
    chosen: list[Window] = []
    for line in sorted(by_line, key=lambda line: (-by_line[line], line)):
        window = Window(by_line[line] / whole, max(1, line - context), min(last_line, line + context))
        if all(window.last < other.first or other.last < window.first for other in chosen):
            chosen.append(window)
            if len(chosen) == limit:
                break
    return chosen


def best(found: Iterable[Found], limit: int) -> list[Found]:
    """The first `limit`: score descending, then path, then line ascending."""
    return nsmallest(limit, found, key=lambda one: (-one.window.score, one.path, one.window.first))


def _weight_by_line(lowered: str, weights: dict[str, int]) -> dict[int, int]:
    """The weight that each matching line holds; a token counts once a line."""
    by_line: dict[int, int] = {}
    for word, weight in weights.items():
        line, counted = 1, 0
        position = lowered.find(word)
        while position >= 0:
            line += lowered.count("\n", counted, position)
            by_line[line] = by_line.get(line, 0) + weight
            counted = lowered.find("\n", position)
            if counted < 0:
                break
            position = lowered.find(word, counted)
    return by_line
