"""Expectations of an imported skill, and of a store."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.graph.jsontext import Json, is_list

from ..faults import an_object, shown
from ..observed import Observed
from . import runs

Faults = Iterator[str]


def installed(value: Json, seen: Observed) -> Faults:
    """Whether there is one, or the names of all."""
    names: list[str] = seen.fact("installed")
    if (names if is_list(value) else bool(names)) != value:
        yield f"installed are {names}: {seen.errors}"


def error(value: Json, seen: Observed) -> Faults:
    """Whether there was one, or its code."""
    if isinstance(value, str):
        if value not in seen.codes:
            yield f"the codes are {seen.codes}"
    elif bool(seen.errors) != bool(value):
        yield f"there was {seen.errors or 'none'}"


def files(value: Json, seen: Observed) -> Faults:
    """The paths of the skill's files, all of them; or a run's files."""
    if not is_list(value):
        yield from runs.files(value, seen)
        return
    held = sorted(an_object(seen.fact("skill_files"), "the files"))
    if held != sorted(value):
        yield f"the files are {held}"


def warnings_min(value: Json, seen: Observed) -> Faults:
    if len(seen.fact("warnings")) < value:
        yield f"the warnings are {shown(seen.fact('warnings'))}"
