"""One rule switched off."""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    trap: int
    file: str
    """Below the repository's root."""
    old: str
    """Text that stands exactly once in the file."""
    new: str
