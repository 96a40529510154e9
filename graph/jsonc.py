"""JSON as people write it by hand: with comments and a comma after the last member, and lines to point at.

Comments are `// to the line's end` and `/* between */`. Everything else is JSON to the letter, and a key that is given
twice in one object is refused: one of the two values would be lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .jsontext import Json, loads

JsonPath = tuple[str | int, ...]
"""Keys and indices from the outermost value inwards."""

_SPACE = " \t\r\n"
_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[,\[\]{}:]|[^\s",\[\]{}:/]+|/', re.DOTALL)
_STEP = re.compile(r'\.([^.\[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')


class JsoncFault(ValueError):
    """The text is no JSON with comments."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        self.reason, self.line, self.column = reason, line, column
        super().__init__(f"line {line}, column {column}: {reason}")


@dataclass(frozen=True, slots=True)
class Jsonc:
    """A value, and the line on which each of its members begins."""

    value: Json
    lines: dict[JsonPath, int]

    def line_of(self, path: str) -> int:
        """The line (from 1) of a JSON path such as `$.tools.allow[3]`; of what is not there, that of what holds it."""
        steps = _steps(path)
        while steps and steps not in self.lines:
            steps = steps[:-1]
        return self.lines[steps]


def read(text: str) -> Jsonc:
    """Raises JsoncFault, which names line and column (in characters, from 1)."""
    pieces = _pieces(text)
    plain = _plain(text, pieces)
    try:
        value = loads(plain)
    except json.JSONDecodeError as error:
        raise JsoncFault(f"not JSON: {error.msg}", error.lineno, error.colno) from error
    except ValueError as error:
        raise JsoncFault(f"not JSON: {error}", 1, 1) from error
    return Jsonc(value, _lines(text, [piece for piece in pieces if not piece.is_comment]))


class _Piece(NamedTuple):
    text: str
    start: int

    @property
    def is_comment(self) -> bool:
        return self.text.startswith(("//", "/*"))


def _pieces(text: str) -> list[_Piece]:
    return [_Piece(match[0], match.start()) for match in _PIECE.finditer(text)]


def _plain(text: str, pieces: list[_Piece]) -> str:
    """The text with blanks for what is no JSON, so that every place in it stays what it was."""
    plain: list[str] = []
    end = 0
    told = [piece for piece in pieces if not piece.is_comment]
    last_commas = {
        one.start
        for before, one, after in zip(told, told[1:], told[2:], strict=False)
        if one.text == "," and after.text in "]}" and before.text not in ",[{"
    }
    for piece in pieces:
        if piece.is_comment or piece.start in last_commas:
            plain += text[end : piece.start], re.sub(r"[^\n]", " ", piece.text)
            end = piece.start + len(piece.text)
    return "".join([*plain, text[end:]])


def _lines(text: str, pieces: list[_Piece]) -> dict[JsonPath, int]:
    """Of pieces that are known to make up one JSON value; raises JsoncFault for a key that is given twice."""
    lines: dict[JsonPath, int] = {}
    line, counted = 1, 0
    for path, start in _places(pieces):
        line, counted = line + text.count("\n", counted, start), start
        if path in lines:
            message = f"{json.dumps(path[-1], ensure_ascii=False)} is given twice, also on line {lines[path]}; keep one"
            raise JsoncFault(message, line, start - text.rfind("\n", 0, start))
        lines[path] = line
    return lines


def _places(pieces: list[_Piece]) -> Iterator[tuple[JsonPath, int]]:
    """Each value's path and its offset; a member's is that of its key."""
    path: list[str | int] = []
    kinds: list[str] = []
    key: _Piece | None = None
    for at, piece in enumerate(pieces):
        match piece.text:
            case "," if kinds[-1] == "[":
                path[-1] = int(path[-1]) + 1
            case "," | ":":
                pass
            case "]" | "}":
                kinds.pop()
                path.pop()
            case _ if kinds and kinds[-1] == "{" and key is None and pieces[at + 1].text == ":":
                key = piece
                path[-1] = loads(piece.text)
            case opened:
                yield tuple(path), (key or piece).start
                key = None
                if opened in "[{":
                    kinds.append(opened)
                    path.append(0)


def _steps(path: str) -> JsonPath:
    return tuple(
        int(index) if index else json.loads(quoted) if quoted else name
        for name, index, quoted in _STEP.findall(path.removeprefix("$"))
    )
