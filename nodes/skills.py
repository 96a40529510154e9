"""The model's way to the skills: which its profile shows, how much is left to read, and refusals that it can mend."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from ..graph.errors import InvalidInput, NotFound, ToolRefused
from ..graph.jsontext import text_of
from ..graph.paths import fault, spelled
from ..storage.skills.shelf import ShelvedSkill, SkillFile, SkillNotFound, SkillRefused, SkillShelf
from .arguments.given import Given, shown
from .tool import Bench

_MOST_NAMED = 20
"""Paths in a refusal."""


def visible(bench: Bench) -> list[ShelvedSkill]:
    """The skills that the profile shows, by name; raises InvalidData where the index is damaged."""
    allowed = (skill for skill in _shelf(bench).skills() if _is_visible(skill.name, bench))
    return sorted(allowed, key=lambda skill: skill.name)


def check_visible(name: str, bench: Bench) -> None:
    """Raises ToolRefused `skill.policy_denied`."""
    if not _is_visible(name, bench):
        message = f"The profile does not show the skill {shown(name)}; skill_list tells which skills it shows."
        raise ToolRefused("skill.policy_denied", message)


def remaining(bench: Bench) -> int:
    """How many characters of skills may still be read in this run; raises `skill.read_budget_exhausted` at none."""
    budget = bench.profile.definition.skills.max_read_chars_per_run
    left = budget - bench.skill_spending.chars
    if left <= 0:
        message = f"All {budget} characters of skills that this run may read are read; go on with what you know."
        raise exhausted(message)
    return left


def exhausted(message: str) -> ToolRefused:
    return ToolRefused("skill.read_budget_exhausted", message)


def files(name: str, bench: Bench) -> Sequence[SkillFile]:
    """The files of a skill, by path; raises `skill.not_found`."""
    try:
        with _told():
            return _shelf(bench).files(name)
    except ToolRefused as refusal:
        if refusal.code != SkillNotFound.code:
            raise
        message = f"There is no skill {shown(name)}; skill_list tells which there are."
        raise ToolRefused(refusal.code, message) from refusal


def read(name: str, path: str, bench: Bench) -> bytes:
    """A file of a skill; raises `skill.not_found` for the skill or the file."""
    try:
        with _told():
            return _shelf(bench).read(name, path)
    except ToolRefused as refusal:
        if refusal.code != SkillNotFound.code:
            raise
        there = [file.path for file in files(name, bench)]
        raise ToolRefused(refusal.code, f"The skill {name} has no file {path}; it has {_named(there)}.") from refusal


def asked_path(fields: Given) -> str | None:
    """The path as it was sent, trimmed; None where it is absent, blank or no string."""
    sent = text_of(fields.fields.get("path"))
    return None if sent is None else sent.strip()


def parsed(path: str) -> str:
    """The path in its one spelling; raises ToolRefused `skill.invalid_request`."""
    reason = fault(path, "the skill", "SKILL.md")
    if reason:
        raise invalid(f"The path {shown(path, 120)} {reason}.")
    return spelled(path)


def invalid(message: str) -> ToolRefused:
    return ToolRefused(SkillRefused.code, message)


def ref(name: str, place: str) -> str:
    """`skills/NAME/PATH`, with its lines or without."""
    return f"skills/{name}/{place}"


class _NoSkills:
    """The shelf of an engine that keeps no skills."""

    def skills(self) -> Sequence[ShelvedSkill]:
        return ()

    def files(self, name: str) -> Sequence[SkillFile]:
        raise SkillNotFound(f"there is no skill {name}")

    def read(self, name: str, path: str) -> bytes:
        raise SkillNotFound(f"there is no skill {name}, so no {path} in it")


def _shelf(bench: Bench) -> SkillShelf:
    return _NoSkills() if bench.skills is None else bench.skills


def _is_visible(name: str, bench: Bench) -> bool:
    rules = bench.profile.definition.skills
    return not {"*", name}.intersection(rules.deny) and bool({"*", name}.intersection(rules.visible))


@contextmanager
def _told() -> Generator[None]:
    """What the model can mend is told to it; a damaged index and a disk that fails are not among it."""
    try:
        yield
    except (NotFound, InvalidInput) as error:
        raise ToolRefused(error.error_code, f"{error.message}.") from error


def _named(paths: list[str]) -> str:
    named = ", ".join(paths[:_MOST_NAMED])
    more = len(paths) - _MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named
