"""Ranked search as plainly as it can be said: every line of every file scored, sorted and cut."""

from __future__ import annotations

from treadle.nodes.lines import split
from treadle.nodes.ranking import Window


def plain_windows(text: str, words: tuple[str, ...], *, context: int, limit: int) -> list[Window]:
    weights = {word: min(8, len(word)) for word in words}
    lines = split(text)
    scores = [sum(weights[word] for word in words if word in line.lower()) for line in lines]
    hits = [number for number, score in enumerate(scores, 1) if score]
    chosen: list[Window] = []
    for line in sorted(hits, key=lambda number: (-scores[number - 1], number)):
        first, last = max(1, line - context), min(len(lines), line + context)
        if all(last < other.first or other.last < first for other in chosen):
            chosen.append(Window(scores[line - 1] / sum(weights.values()), first, last))
        if len(chosen) == limit:
            break
    return chosen


def plain_search(
    files: dict[str, bytes], words: tuple[str, ...], *, context: int, limit: int
) -> tuple[list[tuple[str, Window]], bool]:
    """The hits as (path, window), and whether there are more."""
    texts = {path: data.decode() for path, data in files.items() if _is_text(data)}
    found = [
        (path, window)
        for path, text in texts.items()
        for window in plain_windows(text, words, context=context, limit=limit + 1)
    ]
    found.sort(key=lambda one: (-one[1].score, one[0], one[1].first))
    return found[:limit], len(found) > limit


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
