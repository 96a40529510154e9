"""Where a text stands in a file, and why it does not: matching is exact, but a refusal may say what comes close."""

from __future__ import annotations

import unicodedata

from .arguments.given import shown
from .lines import split, without_numbers

MOST_PLACES = 10
_SHOWN_CHARS = 160
_PLAIN = str.maketrans(
    "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2013\u2014\u2212",
    "'" * 3 + '"' * 5 + "-" * 3,
)
"""Quotation marks and dashes, curly to straight."""


def places(text: str, wanted: str) -> str:
    """`at lines 2 and 4`: where `wanted` stands, without overlaps."""
    numbers: list[str] = []
    line, counted, position = 1, 0, text.find(wanted)
    while position >= 0:
        line += text.count("\n", counted, position)
        numbers.append(str(line))
        counted, position = position, text.find(wanted, position + len(wanted))
    told, more = numbers[:MOST_PLACES], len(numbers) - MOST_PLACES
    last = f"{more} more" if more > 0 else told.pop()
    return f"at lines {', '.join(told)} and {last}" if told else f"at line {last}"


def missed(text: str, wanted: str) -> str:
    """Why `wanted` is not in `text`, as far as can be told, and what to do: the rest of a sentence."""
    return (
        _other_line_ends(text, wanted)
        or _copied_numbers(text, wanted)
        or _near(text, wanted)
        or "nothing in the file comes close; read it again and copy the text from there."
    )


def _other_line_ends(text: str, wanted: str) -> str | None:
    plain = _with_lf(wanted)
    if "\n" not in plain or plain not in _with_lf(text):
        return None
    if plain.replace("\n", "\r\n") in text:
        return (
            r'its lines stand there, but end in CRLF ("\r\n"); write old_string and new_string with "\r\n", or patch '
            "within one line."
        )
    if plain in text:
        return r'its lines stand there, but end in LF ("\n"), not CRLF ("\r\n"); write old_string with "\n".'
    return r'its lines stand there, but with other line endings, partly CRLF ("\r\n"); patch within one line.'


def _copied_numbers(text: str, wanted: str) -> str | None:
    bare = without_numbers(wanted)
    if not bare or bare not in text:
        return None
    return 'it holds the line numbers that workspace_read_file shows; leave out each number and " | ".'


def _near(text: str, wanted: str) -> str | None:
    """The first line that is as `wanted`'s first one, but for white space, letter case or the shape of a mark."""
    sought = next((loose for line in split(wanted) if (loose := _loosely(line))), None)
    if sought is None:
        return None
    lines = split(text)
    for number, line in enumerate(lines, 1):
        if sought in _loosely(line):
            start = max(0, line.find(wanted.strip()[:8]) - _SHOWN_CHARS // 2)
            near = shown(line[start : start + _SHOWN_CHARS], _SHOWN_CHARS)
            return f"line {number} comes closest, {near}; matching is exact, so copy the text from the file."
    return None


def _loosely(line: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", line).translate(_PLAIN).casefold().split())


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
