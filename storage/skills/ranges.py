"""A part of a skill's text: by lines, or by characters from `start_char` on; at most so many characters."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.jsontext import Json
from ...graph.text import count_chars, count_words, sha256_bytes
from .fields import refused
from .shelf import SkillRefused

MOST_CHARS = 80_000


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


def part_of(name: str, path: str, data: bytes, asked: Range) -> dict[str, Json]:
    """The part with its measures; line fields are 0 by characters. Raises SkillRefused for what is no text, or past it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillRefused(f"{path} of the skill {name} is a binary file; only text can be read") from error
    lines = text.split("\n") if text else []
    first = last = 0
    if asked.start_char is not None:
        start = _start(asked.start_char, text)
        part = text[start : start + asked.max_chars]
    else:
        first = asked.start_line or 1
        if first > max(1, len(lines)):
            raise refused("startLine", f"is past the end: {path} has {len(lines)} lines")
        chosen = lines[first - 1 : None if asked.line_count is None else first - 1 + asked.line_count]
        start = sum(len(line) + 1 for line in lines[: first - 1])
        part = "\n".join(chosen)[: asked.max_chars]
        first = first if chosen else 0
        last = first + part.count("\n") if chosen else 0
    return {
        "name": name, "path": path, "text": part, "sha256": sha256_bytes(data), "chars": count_chars(part),
        "words": count_words(part), "totalChars": count_chars(text), "totalWords": count_words(text),
        "startChar": start, "endChar": start + len(part), "truncated": len(part) < len(text),
        "totalLines": len(lines), "startLine": first, "endLine": last, "resourceRef": f"skills/{name}/{path}",
    }  # fmt: skip


def _start(start_char: int, text: str) -> int:
    if start_char and start_char >= len(text):
        raise refused("startChar", f"is past the end: the file has {len(text)} characters")
    return start_char
