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
    return tuple(islice(words(query), MOST_TOKENS))


def words(query: str) -> tuple[str, ...]:
    """The query's words in lower case, each once, in their order."""
    spaced = "".join(char if char == "_" or is_alphanumeric(char) else " " for char in query.strip().lower())
    return tuple(dict.fromkeys(spaced.split()))


def weight(word: str) -> int:
    """What a word adds to the score of what holds it: its length, at most 8."""
    return min(MOST_WEIGHT, len(word))


def windows(text: str, sought: tuple[str, ...], *, context: int, limit: int) -> list[Window]:
    """The best windows of a text, at most `limit`, no two sharing a line; score descending, then line ascending."""
    weights = {word: weight(word) for word in sought}
    whole = sum(weights.values())
    last_line = len(split(text))
    by_line = _weight_by_line(text.lower(), weights)
    chosen: list[Window] = []
    taken: set[int] = set()
    for line in sorted(sorted(by_line), key=by_line.__getitem__, reverse=True):  # stable: lines stay ascending
        window = Window(by_line[line] / whole, max(1, line - context), min(last_line, line + context))
        shown = range(window.first, window.last + 1)
        if taken.isdisjoint(shown):
            chosen.append(window)
            taken.update(shown)
            if len(chosen) == limit:
                break
    return chosen


def best(found: Iterable[Found], limit: int) -> list[Found]:
    """The first `limit`: score descending, then path, then line ascending."""
    return nsmallest(limit, found, key=lambda one: (-one.window.score, one.path, one.window.first))


def _weight_by_line(lowered: str, weights: dict[str, int]) -> dict[int, int]:
    """The weight that each matching line holds; a word counts once a line."""
    by_line: dict[int, int] = {}
    lines: list[str] = []
    for word, adds in weights.items():
        if word not in lowered:
            continue
        lines = lines or split(lowered)
        for number, line in enumerate(lines, 1):
            if word in line:
                by_line[number] = by_line.get(number, 0) + adds
    return by_line
