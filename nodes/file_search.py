"""Ranked search over many files, one of which is in memory at a time: the best hits so far are all that is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..graph.jsontext import Json
from ..graph.text import count_chars, count_words, is_binary, sha256_bytes
from .lines import numbered, split
from .ranking import Sought, Window, sought, tokens, windows


@dataclass(frozen=True, slots=True)
class Hit:
    """A window in a file, as it is shown."""

    path: str
    window: Window
    snippet: str
    """Its lines with their numbers."""
    sha256: str
    """Of the file."""

    @property
    def place(self) -> str:
        """`output/main.md#L3-L7`."""
        return f"{self.path}#L{self.window.first}-L{self.window.last}"

    @property
    def chars(self) -> int:
        return count_chars(self.snippet)

    @property
    def words(self) -> int:
        return count_words(self.snippet)

    def to_json(self) -> dict[str, Json]:
        """As it stands in a structured result, without its reference: each tool has a name of its own for that."""
        return {
            "path": self.path, "score": self.window.score, "startLine": self.window.first,
            "endLine": self.window.last, "snippet": self.snippet, "chars": self.chars, "words": self.words,
            "sha256": self.sha256,
        }  # fmt: skip

    def block(self, ref: str) -> str:
        """As the model reads it."""
        return f"{self.path} score {self.window.score:.3f} ref {ref}\n{self.snippet}"


@dataclass(slots=True)
class Search:
    """What a search found."""

    hits: list[Hit] = field(default_factory=list[Hit])
    """The best, score descending, then path, then line ascending."""
    searched: int = 0
    skipped: int = 0
    """Files that are gone, or no text in UTF-8."""
    more: bool = False
    """There are hits that the limit cut off."""


def search(files: Iterable[tuple[str, bytes | None]], query: str, *, context: int, limit: int) -> Search:
    """Search files, given as path and bytes (None where one is gone); each is asked for when its turn comes."""
    found, words = Search(), tokens(query)
    for path, data in files:
        text = None if data is None else _text(data)
        if data is None or text is None:
            found.skipped += 1
            continue
        found.searched += 1
        held = sought(text, words)
        if held is None:
            continue
        if len(found.hits) == limit and (-held.bound, path) > _rank(found.hits[-1])[:2]:
            found.more = True  # a hit, but none that could still come among the best
            continue
        hits = _hits(path, data, text, held, context, limit)
        found.more = found.more or len(found.hits) + len(hits) > limit
        found.hits = sorted([*found.hits, *hits], key=_rank)[:limit]
    return found


def _text(data: bytes) -> str | None:
    if is_binary(data):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _hits(path: str, data: bytes, text: str, held: Sought, context: int, limit: int) -> list[Hit]:
    """One more than can be shown, so that a cut is seen."""
    lines, sha256 = split(text), sha256_bytes(data)
    return [
        Hit(path, window, numbered(lines[window.first - 1 : window.last], window.first), sha256)
        for window in windows(held, context=context, limit=limit + 1)
    ]


def _rank(hit: Hit) -> tuple[float, str, int]:
    return -hit.window.score, hit.path, hit.window.first
