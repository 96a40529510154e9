"""What is sent to a tool in place of one argument, and what becomes of it: rows for the tables of each family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treadle.graph.jsontext import Json, dumps
from treadle.nodes.registry import TOOLS

INVALID = "tool.invalid_arguments"

ABSENT = object()
"""In place of a value: the argument is left out."""


@dataclass(frozen=True, slots=True)
class Row:
    """One argument, what is sent for it, and the code of the refusal that names it; None where the call goes well."""

    tool: str
    field: str
    value: Json
    code: str | None

    def __str__(self) -> str:
        sent = "absent" if self.value is ABSENT else dumps(self.value).decode()[:20]
        return f"{self.tool}-{self.field}-{sent}"

    def arguments(self, good: dict[str, Json]) -> dict[str, Json]:
        """Those of a call that goes well, with this argument changed."""
        others = {key: value for key, value in good.items() if key != self.field}
        return others if self.value is ABSENT else {**others, self.field: self.value}

    def is_named_in(self, message: str) -> bool:
        """By the argument's name, or by the path or name that was sent for it."""
        sent = self.value if isinstance(self.value, str) and self.value.strip() else None
        return self.field in message or (sent is not None and sent in message)


def refused(tool: str, field: str, *values: Json, code: str = INVALID) -> Iterator[Row]:
    for value in values:
        yield Row(tool, field, value, code)


def taken(tool: str, field: str, *values: Json) -> Iterator[Row]:
    for value in values:
        yield Row(tool, field, value, None)


def whole_number(tool: str, field: str) -> Iterator[Row]:
    """Optional, of 0 or more; nothing is coerced."""
    yield from taken(tool, field, ABSENT)
    yield from refused(tool, field, None, "", "3", 3.0, 2.5, -1, True, False, [3], {}, 1e300)


def optional_string(tool: str, field: str) -> Iterator[Row]:
    """Trimmed; null and blank are as if it were left out."""
    yield from taken(tool, field, ABSENT, None, "", "  ")
    yield from refused(tool, field, 0, 3, 3.0, True, ["a"], {"a": "b"}, "half \ud83d")


def raw_string(tool: str, field: str) -> Iterator[Row]:
    """Required, as it is sent, perhaps empty."""
    yield from refused(tool, field, ABSENT, None, 0, 3.0, True, ["a"], {}, "half \ud83d")


def string(tool: str, field: str) -> Iterator[Row]:
    """Required, trimmed, not blank."""
    yield from raw_string(tool, field)
    yield from refused(tool, field, "", "  ", "\n\t\u3000")


def untold(rows: list[Row], *tools: str) -> set[tuple[str, str]]:
    """The arguments of these tools' schemas that no row is about."""
    there = {(tool, field) for tool in tools for field in TOOLS[tool].spec.input_schema["properties"]}
    return there - {(row.tool, row.field) for row in rows}
