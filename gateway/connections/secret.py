"""Secrets: values that never show themselves, and their removal from text that others wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...graph.jsontext import dumps

_MASK = "***"
_SHORTEST = 4
"""Shorter values are no secrets (`1`, `on`), and removing them would tear words apart."""

_QUERY = re.compile(r"(\bhttps?://[^\s?#\"'<>]*)[?#][^\s\"'<>]*")


class Secret:
    """A value whose repr and str are masked; `reveal` is called where a request is made and nowhere else."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def scrub(text: str, secrets: Iterable[Secret]) -> str:
    """`text` without any of the secrets' exact values, also as JSON spells them, and without the queries of URLs."""
    for value in _values(secrets):
        text = text.replace(value, _MASK).replace(dumps(value)[1:-1].decode(), _MASK)
    return _QUERY.sub(r"\1", text)


def masked(data: bytes, secrets: Iterable[Secret]) -> bytes:
    """Bytes of a body without any of the secrets' exact values, also as JSON spells them; all else stays as it is."""
    for value in _values(secrets):
        data = data.replace(value.encode(), _MASK.encode()).replace(dumps(value)[1:-1], _MASK.encode())
    return data


def _values(secrets: Iterable[Secret]) -> list[str]:
    """Longest first: one may hold another."""
    values = {secret.reveal() for secret in secrets}
    return sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)
