"""Which of the ended runs stay whole, which are slimmed and which go: decided by their order alone, without any file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ...gateway.connections.retention import Retention
from ...storage.run_index import IndexEntry


class Action(StrEnum):
    """What becomes of a run."""

    KEEP = "keep"
    SLIM = "slim_heavy_artifacts"
    DELETE = "delete_run"


class Reason(StrEnum):
    """Why."""

    WITHIN_FULL = "within_full_retention_window"
    ALREADY_SLIM = "already_slim"
    OUTSIDE_FULL = "outside_full_retention_window"
    OUTSIDE_HISTORY = "outside_history_retention_window"


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended, and when: RFC 3339 UTC."""

    entry: IndexEntry
    terminal_at: str


@dataclass(frozen=True, slots=True)
class Decision:
    """`rank` counts from 0, the run that ended last."""

    run: EndedRun
    rank: int
    action: Action
    reason: Reason


def decisions(runs: Iterable[EndedRun], retention: Retention) -> list[Decision]:
    """One a run, newest first: by the time of the end, then createdAt, then id."""
    ranked = sorted(runs, key=lambda run: (run.terminal_at, run.entry.created_at, run.entry.id), reverse=True)
    return [Decision(run, rank, *_decided(rank, retention)) for rank, run in enumerate(ranked)]


def _decided(rank: int, retention: Retention) -> tuple[Action, Reason]:
    if rank < retention.keep_full_recent_runs:
        return Action.KEEP, Reason.WITHIN_FULL
    if rank < retention.keep_recent_terminal_runs:
        return Action.SLIM, Reason.OUTSIDE_FULL
    return Action.DELETE, Reason.OUTSIDE_HISTORY
