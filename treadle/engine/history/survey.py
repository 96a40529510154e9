"""What a data root holds of ended runs, and what is to become of each: asked before anything is done, and after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from ...gateway.connections.retention import Retention
from ...graph.errors import JournalDamaged, RunBusy, TreadleError
from ...storage.disk import storage_failed
from ...storage.persist import pending_promotion
from ...storage.run_index import IndexEntry
from ...storage.run_summaries import check_journal, projected, read_bytes
from ...storage.runs import DATABASE, EVENTS, RECORD
from ..services import Services
from .claim import is_driven
from .ranking import Action, Decision, EndedRun, Reason, decisions

KEPT = frozenset({RECORD, EVENTS, "events.index"})
"""What a slimmed run has in its folder."""
DATABASES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm")


class Obstacle(StrEnum):
    """Why a run is left as it is."""

    ACTIVE_RUN = "active_run"
    MISSING_TERMINAL_EVENT = "missing_terminal_event"
    INVALID_JOURNAL = "invalid_journal"
    INVALID_STORAGE = "invalid_storage"
    PROMOTION_PENDING = "promotion_pending"


@dataclass(frozen=True, slots=True)
class Blocked:
    run_id: str
    obstacle: Obstacle
    message: str


@dataclass(frozen=True, slots=True)
class Survey:
    decided: tuple[Decision, ...]
    """Newest first."""
    blocked: tuple[Blocked, ...]
    """By id."""


def survey(services: Services, retention: Retention) -> Survey:
    """Blocking; it changes nothing. Raises StorageFailed where the index can't be read."""
    look = services.index.look()
    blocked = [Blocked(each.id, Obstacle.INVALID_STORAGE, f"{each.file}: {each.reason}") for each in look.damaged]
    ended: list[EndedRun] = []
    for entry in look.entries:
        found = _ended(services, services.index.newest(entry))
        blocked.append(found) if isinstance(found, Blocked) else ended.append(found)
    decided: list[Decision] = []
    for decision in decisions(ended, retention):
        checked = _checked(services, decision)
        blocked.append(checked) if isinstance(checked, Blocked) else decided.append(checked)
    return Survey(tuple(decided), tuple(sorted(blocked, key=lambda each: each.run_id)))


def obstacle(services: Services, run: IndexEntry) -> Blocked | None:
    """What keeps this ended run from being slimmed or deleted, read from its own files."""
    folder = services.store.folder(run)
    try:
        if folder.is_symlink() or not folder.is_dir():
            return Blocked(run.id, Obstacle.INVALID_STORAGE, "the run's folder is missing, or is a link")
        record = services.store.load(run.id)
        if not record.status.is_terminal:
            return Blocked(run.id, Obstacle.ACTIVE_RUN, f"the run has not ended: {record.status}")
        journal = read_bytes(folder / EVENTS, services.disk)
        check_journal(journal)
        if projected(journal).terminal_at is None:
            return _no_end(run)
        if pending_promotion(services.store.chat_folder(run.workspace_id), services.disk) == run.id:
            message = "its persistent files have not all come to the chat; the chat's next run finishes that"
            return Blocked(run.id, Obstacle.PROMOTION_PENDING, message)
    except JournalDamaged as error:
        return Blocked(run.id, Obstacle.INVALID_JOURNAL, error.message)
    except TreadleError as error:
        return Blocked(run.id, Obstacle.INVALID_STORAGE, error.message)
    return None


def heavy(folder: Path) -> Iterator[str]:
    """The names in a run's folder that slimming takes away, in order; raises StorageFailed."""
    try:
        yield from sorted(path.name for path in folder.iterdir() if path.name not in KEPT)
    except OSError as error:
        raise storage_failed(error, f"looking into run {folder.name}") from error


def _ended(services: Services, entry: IndexEntry) -> EndedRun | Blocked:
    if not entry.status.is_terminal:
        return Blocked(entry.id, Obstacle.ACTIVE_RUN, f"the run has not ended: {entry.status}")
    try:
        ended = services.summaries.of(entry).terminal_at
    except JournalDamaged as error:
        return Blocked(entry.id, Obstacle.INVALID_JOURNAL, error.message)
    except TreadleError as error:
        return Blocked(entry.id, Obstacle.INVALID_STORAGE, error.message)
    if ended is not None:
        return EndedRun(entry, ended)
    return obstacle(services, entry) or _no_end(entry)


def _checked(services: Services, decision: Decision) -> Decision | Blocked:
    """The decision, unless the run's files say that there is nothing to do, or that nothing may be done."""
    entry = decision.run.entry
    if decision.action is Action.KEEP:
        return decision
    try:
        if decision.action is Action.SLIM and next(heavy(services.store.folder(entry)), None) is None:
            return replace(decision, action=Action.KEEP, reason=Reason.ALREADY_SLIM)
        blocked = obstacle(services, entry)
        if blocked is None and is_driven(services, entry):
            raise RunBusy
    except RunBusy as error:
        return Blocked(entry.id, Obstacle.ACTIVE_RUN, error.message)
    except TreadleError as error:
        return Blocked(entry.id, Obstacle.INVALID_STORAGE, error.message)
    return blocked or decision


def _no_end(run: IndexEntry) -> Blocked:
    return Blocked(run.id, Obstacle.MISSING_TERMINAL_EVENT, f"the record says {run.status}, the journal tells no end")
