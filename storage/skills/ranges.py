"""A part of a skill's text: by lines, or by characters from `start_char` on; at most so many characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...graph.jsontext import Json
from ...graph.text import count_chars, count_words, sha256_bytes
from .fields import refused
from .shelf import SkillRefused

MOST_CHARS = 80_000
_SPELLED = {"start_char": "startChar", "start_line": "startLine"}


@dataclass(frozen=True, slots=True)
class Range:
    """What is asked of a file; a range by characters is one that has a `start_char`."""

    start_line: int | None = None
    line_count: int | None = None
    start_char: int | None = None
    max_chars: int = MOST_CHARS

    def __post_init__(self) -> None:
        if self.start_char is not None and (self.start_line is not None or self.line_count is not None):
            raise refused("startChar", "can't stand beside startLine or lineCount; ask for lines or for characters")


@dataclass(frozen=True, slots=True)
class Part:
    """What a range holds of a text; the lines are both included, counted from 1, and 0 by characters or of nothing."""

    text: str
    start_char: int
    first: int = 0
    last: int = 0

    @property
    def end_char(self) -> int:
        return self.start_char + len(self.text)


class PastEnd(Exception):
    """The range begins where the text has ended: `field` says by which of its fields, `what` how long the text is."""

    def __init__(self, field: Literal["start_char", "start_line"], what: str) -> None:
        self.field = field
        self.what = what
        super().__init__(f"{field} is past the end: {what}")


def cut(text: str, asked: Range) -> Part:
    """The part that is asked for; raises PastEnd. What is longer than `max_chars` is cut, and `last` is then its last line."""
    if asked.start_char is not None:
        if asked.start_char and asked.start_char >= len(text):
            raise PastEnd("start_char", f"the file has {len(text)} characters" if text else "the file is empty")
        return Part(text[asked.start_char : asked.start_char + asked.max_chars], asked.start_char)
    lines, first = text.split("\n") if text else [], asked.start_line or 1
    if first > max(1, len(lines)):
        raise PastEnd("start_line", f"the file has {len(lines)} lines" if lines else "the file is empty")
    before = lines[: first - 1]
    end = len(lines) if asked.line_count is None else min(len(lines), first - 1 + asked.line_count)
    whole = "\n".join(lines[first - 1 : end])
    shown = whole[: asked.max_chars]
    if len(shown) < len(whole):
        end = first + shown.removesuffix("\n").count("\n")  # the last line of which anything is shown
    return Part(shown, sum(map(len, before)) + len(before), first if lines else 0, end)


def measures(name: str, path: str, data: bytes, text: str, part: Part) -> dict[str, Json]:
    """Everything about a part but its text."""
    is_cut = len(part.text) < len(text)
    total = count_words(text)
    return {
        "name": name, "path": path, "sha256": sha256_bytes(data), "chars": count_chars(part.text),
        "words": count_words(part.text) if is_cut else total, "totalChars": count_chars(text), "totalWords": total,
        "startChar": part.start_char, "endChar": part.end_char, "truncated": is_cut,
        "totalLines": text.count("\n") + 1 if text else 0, "startLine": part.first, "endLine": part.last,
        "resourceRef": f"skills/{name}/{path}",
    }  # fmt: skip


def part_of(name: str, path: str, data: bytes, asked: Range) -> dict[str, Json]:
    """The part with its measures. Raises SkillRefused for what is no text, or past it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillRefused(f"{path} of the skill {name} is a binary file; only text can be read") from error
    try:
        part = cut(text, asked)
    except PastEnd as error:
        raise refused(_SPELLED[error.field], f"is past the end: {error.what}") from error
    return {"text": part.text, **measures(name, path, data, text, part)}
