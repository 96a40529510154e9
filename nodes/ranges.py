"""Parts of texts that a tool shows several of: what a call asks for, what that comes to, and how much is too much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..graph.errors import ToolRefused
from ..graph.jsontext import Json
from ..graph.text import count_chars, count_words
from .arguments.given import Given, integer, refused, shown

MOST_ITEMS = 20
"""Texts in one call."""
MOST_WHOLE = 8000
"""Characters of a text that is read without `max_chars`."""
MOST_CHARS = 8000
"""`max_chars` at most."""
MOST_TOTAL = 20_000
"""Characters in one call."""

FIELDS: dict[str, Json] = {
    "start_char": integer("First character to read, counted from 0; default 0."),
    "max_chars": integer(
        f"Most characters to read: 1 to {MOST_CHARS}, default all that is left. "
        f"Required where the whole text has more than {MOST_WHOLE}."
    ),
}
"""A range in the schema of an item."""


@dataclass(frozen=True, slots=True)
class Range:
    start_char: int = 0
    max_chars: int | None = None
    """None for all that is left."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text, with the measures of the whole."""

    text: str
    start_char: int
    words: int
    total_chars: int
    total_words: int

    @property
    def end_char(self) -> int:
        return self.start_char + len(self.text)

    @property
    def truncated(self) -> bool:
        """It is not the whole text."""
        return len(self.text) < self.total_chars

    def to_json(self) -> dict[str, Json]:
        """The measures, as they stand in a structured result; the text is not among them."""
        return {
            "chars": len(self.text), "words": self.words, "totalChars": self.total_chars,
            "totalWords": self.total_words, "startChar": self.start_char, "endChar": self.end_char,
            "truncated": self.truncated,
        }  # fmt: skip


def asked_range(fields: Given) -> Range:
    """The range of an item; raises ToolRefused `tool.invalid_arguments`."""
    asked = Range(fields.number("start_char", 0), fields.optional_number("max_chars"))
    if asked.max_chars is not None and not 1 <= asked.max_chars <= MOST_CHARS:
        raise refused(f"{fields.where}max_chars must be 1 to {MOST_CHARS}, not {shown(asked.max_chars)}.")
    return asked


def part(text: str, asked: Range, *, name: str, code: str) -> Part:
    """The part that was asked of the text called `name`.

    Raises ToolRefused `code`: the start lies past the end, or the text is too long to be read without `max_chars`.
    """
    total = count_chars(text)
    if asked.start_char and asked.start_char >= total:
        what = f"it has {total} characters" if total else "it is empty"
        raise ToolRefused(code, f"{name}: start_char {shown(asked.start_char)} is past the end: {what}.")
    if asked.max_chars is None and total > MOST_WHOLE:
        raise ToolRefused(
            code,
            f"{name} has {total} characters, and at most {MOST_WHOLE} can be read whole; give start_char and max_chars "
            f"(1 to {MOST_CHARS}) to read a part.",
        )
    end = total if asked.max_chars is None else asked.start_char + asked.max_chars
    read = text[asked.start_char : end]
    total_words = count_words(text)
    return Part(read, asked.start_char, total_words if read == text else count_words(read), total, total_words)


def check_total(parts: Iterable[Part], *, code: str) -> None:
    """Raises ToolRefused `code` where the parts together are too long for one call."""
    total = sum(len(each.text) for each in parts)
    if total > MOST_TOTAL:
        raise ToolRefused(
            code,
            f"Together that is {total} characters, and one call reads at most {MOST_TOTAL}; ask for fewer, or for "
            "smaller parts with max_chars.",
        )
