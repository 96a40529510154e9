"""How many ended runs a data root keeps, and how many of these whole."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import InvalidInput

MOST = 10_000


@dataclass(frozen=True, slots=True)
class Retention:
    """Runs are counted from the one that ended last. Raises InvalidInput `agent.retention_invalid`, naming the field."""

    auto_prune_enabled: bool = False
    """Whether an engine prunes by itself, now and then."""
    keep_recent_terminal_runs: int = 100
    """0 to 10,000; of these at least the record and the journal stay, the others are deleted."""
    keep_full_recent_runs: int = 20
    """0 to `keep_recent_terminal_runs`: of these all stays."""

    def __post_init__(self) -> None:
        for name, count in (
            ("keepRecentTerminalRuns", self.keep_recent_terminal_runs),
            ("keepFullRecentRuns", self.keep_full_recent_runs),
        ):
            if type(count) is not int or not 0 <= count <= MOST:
                raise _invalid(f"{name} must be an integer from 0 to {MOST}, not {count!r}")
        if self.keep_full_recent_runs > self.keep_recent_terminal_runs:
            raise _invalid(
                f"keepFullRecentRuns ({self.keep_full_recent_runs}) must not be more than keepRecentTerminalRuns "
                f"({self.keep_recent_terminal_runs})"
            )


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(f"retention.{message}", code="agent.retention_invalid")
