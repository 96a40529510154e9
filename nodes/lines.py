"""Lines as the model sees them: split on `\\n` alone, numbered from 1, and found again in what was shown."""

from __future__ import annotations

from collections.abc import Sequence

_BAR = " | "


def split(text: str) -> list[str]:
    """The lines of `text`: none of an empty one, and a trailing newline makes one more, empty. `\\r` stays."""
    return text.split("\n") if text else []


def numbered(lines: Sequence[str], first: int) -> str:
    """The lines with their numbers, right-aligned to the width of the last one."""
    width = len(str(first + len(lines) - 1))
    return "\n".join(f"{number:>{width}}{_BAR}{line}" for number, line in enumerate(lines, first))


def unnumbered(shown: str, last: int) -> str:
    """The lines that `numbered` showed, without their numbers; `last` is the number of the last one."""
    prefix = len(str(last)) + len(_BAR)
    return "\n".join(line[prefix:] for line in shown.split("\n"))


def without_numbers(text: str) -> str | None:
    """`text` without the line numbers that were copied with it; None where some line has none."""
    stripped: list[str] = []
    for line in text.split("\n"):
        number, bar, rest = line.partition(_BAR)
        if not bar or not number.strip().isdecimal():
            return None
        stripped.append(rest)
    return "\n".join(stripped)
