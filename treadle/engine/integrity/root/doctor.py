"""A data root is looked at, and put right where that is safe: the table of the checks, and the walk through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ....graph.errors import TreadleError
from ...services import Services
from .leftovers import index, promotions, temporary
from .problem import DoctorReport, Problem, Severity
from .repairs import carry_out
from .runs import runs
from .settings import folders, secrets, settings, skills
from .survey import Survey

CHECKS: Mapping[str, Callable[[Survey], Iterable[Problem]]] = {
    "folders": folders,
    "runs": runs,
    "index": index,
    "promotions": promotions,
    "temporary": temporary,
    "settings": settings,
    "secrets": secrets,
    "skills": skills,
}
"""In the order in which they are told."""


def doctor(services: Services, *, repair: bool = False) -> DoctorReport:
    """Look at everything below the data root; with `repair`, do what loses nothing, and look again. Blocking.

    Nothing of a run that somebody drives is touched. A repair that is refused stops no other, and the problem
    says why.
    """
    first = Survey(services)
    found = _found(first)
    if not repair:
        return DoctorReport(len(first.runs), found)
    done: list[Problem] = []
    refused: dict[Problem, str] = {}
    for problem in found:
        refusal = None if problem.repair is None else carry_out(services, problem.repair)
        if refusal is not None:
            refused[problem] = refusal.message
        elif problem.repair is not None:
            done.append(problem)
    again = Survey(services)
    left = tuple(_as_refused(problem, refused) for problem in _found(again))
    return DoctorReport(len(again.runs), left, tuple(done))


def _as_refused(problem: Problem, refused: Mapping[Problem, str]) -> Problem:
    """A problem whose repair was tried says why it was not made."""
    return replace(problem, remedy=f"not repaired: {refused[problem]}") if problem in refused else problem


def _found(survey: Survey) -> tuple[Problem, ...]:
    return tuple(problem for name, check in CHECKS.items() for problem in _checked(name, check, survey))


def _checked(name: str, check: Callable[[Survey], Iterable[Problem]], survey: Survey) -> Iterable[Problem]:
    try:
        yield from check(survey)
    except TreadleError as error:
        yield Problem(name, ".", error.message, Severity.ERROR, "mend what is named; then look again")
    except OSError as error:
        what = f"{error.filename or 'the disk'}: {error.strerror or error}"
        yield Problem(name, ".", what, Severity.ERROR, "the system does not let it be read; see to its permissions")
