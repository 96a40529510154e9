"""`workspace.read_file`: a file's text, by lines or by characters."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.text import count_chars, count_words
from ..arguments.given import given, integer, schema, shown, string
from ..files import FileText, read, visible
from ..lines import numbered, split
from ..tool import Answer, Bench

MOST_BYTES = 262_144
MOST_LINES = 1200
MOST_CHARS = 80_000

SPEC = ToolSpec(
    name="workspace.read_file",
    title="Read a workspace file",
    description=(
        "Read a text file with its line numbers. Without a range the whole file is read: at most "
        f"{MOST_LINES} lines and {MOST_BYTES // 1024} KiB. Give start_line and line_count, or start_char and "
        "max_chars (raw text without line numbers), to read a part."
    ),
    input_schema=schema(
        {
            "path": string("File to read, relative to the workspace, such as output/main.md."),
            "start_line": integer("First line to read: 1 or more, default 1."),
            "line_count": integer(f"How many lines to read: 1 to {MOST_LINES}, default to the end of the file."),
            "start_char": integer("First character to read, counted from 0; default 0. Not together with lines."),
            "max_chars": integer(
                f"Most characters to read: 1 to {MOST_CHARS}, default {MOST_CHARS} when start_char is given. "
                "Not together with lines."
            ),
        },
        required=("path",),
    ),
    annotations=Annotations(read_only=True),
)


@dataclass(frozen=True, slots=True)
class Arguments:
    path: str
    start_line: int = 1
    line_count: int | None = None
    start_char: int | None = None
    max_chars: int | None = None

    @property
    def by_char(self) -> bool:
        return self.start_char is not None or self.max_chars is not None

    @property
    def has_line_range(self) -> bool:
        return self.start_line != 1 or self.line_count is not None


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a text; the lines are 0 and 0 for a part by characters, or of an empty file."""

    text: str
    start_char: int
    first: int = 0
    last: int = 0

    @property
    def end_char(self) -> int:
        return self.start_char + len(self.text)


def run(arguments: Json, bench: Bench) -> Answer:
    asked = _asked(arguments)
    path = visible(asked.path, bench)
    _check_ranges(asked)
    file = read(bench.workspace, path)
    lines = split(file.text)
    part = _by_char(asked, file.text) if asked.by_char else _by_line(asked, file, lines)
    total, total_words = count_chars(file.text), count_words(file.text)
    full = part.start_char == 0 and part.end_char == total
    words = total_words if full else count_words(part.text)
    measured = (
        f"chars {part.start_char}-{part.end_char} of {total}, words {words} of {total_words}, sha256 {file.sha256}"
    )
    if asked.by_char:
        content = f"{path} {measured}{'' if full else ' (truncated)'}\n{part.text}"
    else:
        numbered_lines = numbered(lines[part.first - 1 : part.last], part.first)
        content = f"{path} lines {part.first}-{part.last} of {len(lines)}, {measured}\n{numbered_lines}"
    structured: Json = {
        "path": path, "sha256": file.sha256, "totalLines": len(lines), "startLine": part.first, "endLine": part.last,
        "chars": len(part.text), "words": words, "totalChars": total, "totalWords": total_words,
        "startChar": part.start_char, "endChar": part.end_char, "truncated": not full, "fullRead": full,
    }  # fmt: skip
    ref = f"{path}:chars={part.start_char}..{part.end_char}" if asked.by_char else path
    return Answer(content, structured, (ref,))


def _asked(arguments: Json) -> Arguments:
    fields = given(arguments)
    return Arguments(
        path=fields.text("path"),
        start_line=fields.number("start_line", 1),
        line_count=fields.optional_number("line_count"),
        start_char=fields.optional_number("start_char"),
        max_chars=fields.optional_number("max_chars"),
    )


def _check_ranges(asked: Arguments) -> None:
    """What is wrong with the ranges by themselves, before any file is read."""
    if asked.start_line == 0:
        raise ToolRefused("workspace.invalid_line_range", "start_line must be 1 or more.")
    if asked.line_count == 0:
        raise ToolRefused("workspace.invalid_line_range", f"line_count must be 1 to {MOST_LINES}.")
    if asked.line_count is not None and asked.line_count > MOST_LINES:
        raise ToolRefused("workspace.read_line_count_too_large", f"line_count must be 1 to {MOST_LINES}.")
    if asked.max_chars == 0:
        raise ToolRefused("workspace.invalid_char_range", f"max_chars must be 1 to {MOST_CHARS}.")
    if asked.max_chars is not None and asked.max_chars > MOST_CHARS:
        raise ToolRefused("workspace.read_char_count_too_large", f"max_chars must be 1 to {MOST_CHARS}.")
    if asked.by_char and asked.has_line_range:
        raise ToolRefused(
            "workspace.mixed_read_range", "Give start_line and line_count, or start_char and max_chars, not both."
        )


def _by_char(asked: Arguments, text: str) -> _Part:
    start = asked.start_char or 0
    if start and start >= len(text):
        what = f"the file has {len(text)} characters" if text else "the file is empty"
        raise ToolRefused("workspace.invalid_char_range", f"start_char {shown(start)} is past the end: {what}.")
    return _Part(text[start : start + (asked.max_chars or MOST_CHARS)], start)


def _by_line(asked: Arguments, file: FileText, lines: list[str]) -> _Part:
    if asked.start_line > max(1, len(lines)):
        what = f"the file has {len(lines)} lines" if lines else "the file is empty"
        raise ToolRefused(
            "workspace.invalid_line_range", f"start_line {shown(asked.start_line)} is past the end: {what}."
        )
    before = lines[: asked.start_line - 1]
    end = len(lines) if asked.line_count is None else min(len(lines), asked.start_line - 1 + asked.line_count)
    chosen = lines[asked.start_line - 1 : end]
    text = "\n".join(chosen)
    _check_size(asked, file, chosen, text)
    return _Part(text, sum(map(len, before)) + len(before), asked.start_line if chosen else 0, end)


def _check_size(asked: Arguments, file: FileText, chosen: list[str], text: str) -> None:
    if not asked.has_line_range:
        if len(file.data) > MOST_BYTES or len(chosen) > MOST_LINES:
            raise ToolRefused(
                "workspace.read_too_large",
                f"The file has {len(chosen)} lines and {len(file.text)} characters, too many to read at once; give "
                f"start_line and line_count (at most {MOST_LINES}), or start_char and max_chars "
                f"(at most {MOST_CHARS}).",
            )
        return
    if len(chosen) > MOST_LINES:
        raise ToolRefused(
            "workspace.read_line_count_too_large",
            f"There are {len(chosen)} lines from line {asked.start_line} on; give a line_count of 1 to {MOST_LINES}.",
        )
    if len(text) > MOST_CHARS:
        raise ToolRefused(
            "workspace.read_too_large",
            f"These lines hold {len(text)} characters; read at most {MOST_CHARS} at once: fewer lines, or start_char "
            "and max_chars.",
        )
