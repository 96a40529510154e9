"""What crashes leave behind outside a run's own record: index files without a run, unfinished files, promotions begun."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

from ....graph.errors import TreadleError
from ....storage.disk import is_temporary
from ....storage.persist import INTENT, MANIFEST, STATES
from ....storage.persist_records import promotion_of
from ..evidence import parsed, read_file
from .problem import Kind, Problem, Repair, Severity
from .survey import Survey

_PRIVATE = re.compile(r"\..+\.\w{8}\.tmp\Z")
"""How a private file is called until it is finished."""


def index(survey: Survey) -> Generator[Problem]:
    """Copies of records and cached summaries whose run is no more."""
    for folder, what in (
        ("runs", "the index names a run that has no folder"),
        ("run-summaries", "the summary of no run"),
    ):
        for file in sorted((survey.tree / "index" / folder).glob("*.json")):
            if file.stem not in survey.run_ids and not is_temporary(file.name):
                where = survey.named(file)
                remedy = "--repair removes the file: the run itself is gone"
                repair = Repair(Kind.REMOVE_FILE, where)
                yield Problem("index", where, what, Severity.WARNING, remedy, file.stem, repair)


def temporary(survey: Survey) -> Generator[Problem]:
    """Files whose writer died before their end; young ones, and those of a run that is driven, are left alone."""
    for file in _unfinished(survey.root / "_tauritavern", survey.live):
        if survey.is_old(file):
            where = survey.named(file)
            run = _run_of(survey, file)
            remedy = "--repair removes it: it was never put in its place"
            repair = Repair(Kind.REMOVE_FILE, where, run)
            yield Problem("temporary", where, "a file that was never finished", Severity.WARNING, remedy, run, repair)


def promotions(survey: Survey) -> Generator[Problem]:
    """Promotions that were decided and not carried out, and states that say nothing."""
    for chat in survey.chats:
        states = chat / STATES
        if (states / INTENT).is_file():
            yield _intent(survey, states / INTENT)
        for state in sorted(states.iterdir()) if states.is_dir() else ():
            if state.is_dir():
                yield from _state(survey, state)


def _intent(survey: Survey, file: Path) -> Problem:
    where = survey.named(file)
    try:
        owner = promotion_of(parsed(read_file(survey.services, file, INTENT), INTENT)).state_id
    except TreadleError as error:
        remedy = "remove the file to give the promotion up; the run keeps its own copies"
        return Problem("promotions", where, error.message, Severity.ERROR, remedy)
    if file.parent.parent / "runs" / owner in survey.live:
        what = f"run {owner} gives its persistent files back to the chat"
        return Problem("promotions", where, what, Severity.NOTE, "it is left alone", owner)
    what, remedy = f"run {owner} was interrupted while it gave its persistent files back", "--repair finishes it"
    repair = Repair(Kind.FINISH_PROMOTION, where, owner)
    return Problem("promotions", where, what, Severity.WARNING, remedy, owner, repair)


def _state(survey: Survey, state: Path) -> Generator[Problem]:
    where = survey.named(state / MANIFEST)
    try:
        promotion_of(parsed(read_file(survey.services, state / MANIFEST, MANIFEST), MANIFEST))
    except TreadleError as error:
        if (state / MANIFEST).exists():
            remedy = "no new run of this chat can start until it is mended or its folder is removed"
            yield Problem("promotions", where, error.message, Severity.ERROR, remedy, state.name)
        elif survey.is_old(state):
            remedy = "remove the folder; it counts for nothing"
            yield Problem("promotions", where, "a state without its manifest", Severity.WARNING, remedy, state.name)


def _unfinished(top: Path, live: frozenset[Path]) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if here / name not in live)
        for name in sorted(names):
            if is_temporary(name) or _PRIVATE.fullmatch(name):
                yield here / name


def _run_of(survey: Survey, file: Path) -> str | None:
    """Whose run the file is in: `chats/<workspace>/runs/<run>/…`."""
    if not file.is_relative_to(survey.tree):
        return None
    match file.relative_to(survey.tree).parts:
        case "chats", _, "runs", run, _, *_:
            return run
        case _:
            return None
