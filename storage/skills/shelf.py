"""The skills that are installed, as tools read them: the port of the skill store.

Blocking; call it in a thread. Nothing here changes a skill: a run only reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...graph.errors import InvalidInput, NotFound


class SkillRefused(InvalidInput):
    """What was given is no skill, or no request about one."""

    code = "skill.invalid_request"


class SkillNotFound(NotFound):
    """There is no such skill, or no such file in it."""

    code = "skill.not_found"


@dataclass(frozen=True, slots=True)
class ShelvedSkill:
    """What a run is told of a skill before it reads it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a skill: `path` is relative to the skill's folder, with `/` between its steps."""

    path: str
    bytes: int


class SkillShelf(Protocol):
    def skills(self) -> Sequence[ShelvedSkill]:
        """Every installed skill, by name; raises InvalidData where the index is damaged."""
        ...

    def files(self, name: str) -> Sequence[SkillFile]:
        """The files of a skill by path; raises SkillNotFound (`skill.not_found`)."""
        ...

    def read(self, name: str, path: str) -> bytes:
        """A file's bytes; raises SkillNotFound, and SkillRefused (`skill.invalid_request`) for a bad path."""
        ...
