"""Secrets: values that never show themselves, and their removal from text that others wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
    """`text` without any of the secrets' exact values, and without the queries of URLs."""
    for value in sorted({secret.reveal() for secret in secrets}, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, "***")
    return _QUERY.sub(r"\1", text)
