"""A chat payload's plain settings, read with an error that names the key."""

from __future__ import annotations

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json


def text(payload: dict[str, Json], key: str) -> str:
    """A payload string, trimmed; missing and null are blank. Raises InvalidInput for other types."""
    value = payload.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{key} must be a string")
    return value.strip()
