"""How a library talks, as its documentation has it: what it keeps of an answer, and how it asks again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

PROMPT = "Go."
NAME = "workspace_read_file"
DESCRIPTION = "Read a file."
SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
}  # fmt: skip
KEY = "measured"


class Talk(Protocol):
    """One conversation in the library's own types."""

    def opening(self) -> list[Any]:
        """The history that begins with the user's words."""
        ...

    def ask(self, history: list[Any]) -> Any:
        """Send it; the answer in the library's own type."""
        ...

    def turn(self, answer: Any, result: str) -> list[Any]:
        """What is added to the history for the answer, and for a result of each of its calls."""
        ...


@dataclass(frozen=True, slots=True)
class Library:
    name: str
    packages: tuple[str, ...]
    """What it is called in the package index; the first tells its version."""
    talks: dict[str, Callable[[str], Talk]]
    """By format: a talk with the server at a URL."""
