"""What the graph carries from step to step: cursors, counters, references; never a text, an argument or a file.

Its size does not grow with the rounds. Facts live in the run folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from .errors import RunFailed
from .table import Outcome

VERSION = 2


@dataclass(frozen=True, slots=True)
class RunState:
    """Fields hold JSON scalars, tuples and dicts only (enums as their strings)."""

    v: int = VERSION
    run_id: str = ""
    round: int = 0
    """The round under way; 0 before the first."""
    attempt: int = 0
    """Attempts made at this round's model call."""
    wait_ms: int = 0
    """What the server asked to wait before the next attempt; 0 where it said nothing."""
    calls: tuple[dict[str, str], ...] = ()
    """This round's calls, `{id, name}`, in the provider's order."""
    call_index: int = 0
    """The next call to dispatch."""
    calls_made: int = 0
    """Calls that were started, in the whole run."""
    calls_per_tool: dict[str, int] = field(default_factory=dict[str, int])
    drift_attempts: int = 0
    commit_count: int = 0
    last_commit: dict[str, Any] | None = None
    """`{commitId, messageId}` of the last confirmed commit."""
    checkpoint_count: int = 0
    provider_state: dict[str, Any] | None = None
    """What the last answer left on the provider's side: ids and cursors, no native block. None before the first."""
    outcome: str = ""
    """How the last step went: an `Outcome`."""
    error: dict[str, Any] | None = None
    """Why the run can't go on: `{code, message, technicalMessage, retryable, details}`."""
    start: dict[str, Any] | None = None
    """Graph mode only: the start request of a run that does not exist yet; dropped once it does."""


@dataclass(frozen=True, slots=True)
class Update:
    """How a step went, and what it changed in the state."""

    outcome: Outcome
    changes: dict[str, Any] = field(default_factory=dict[str, Any])


class StateIncompatible(RunFailed):
    """The run was saved by another version of the machine."""

    code = "agent.state_incompatible"


FIELDS = tuple(f.name for f in fields(RunState))


def restore(values: dict[str, Any]) -> RunState:
    """A state read back from a checkpoint, whose serializer turns tuples into lists.

    Raises `StateIncompatible` for another `v` or for fields this version does not know.
    """
    unknown = sorted(set(values) - set(FIELDS))
    if values.get("v", VERSION) != VERSION or unknown:
        what = f"fields {', '.join(unknown)}" if unknown else f"state version {values.get('v')!r}"
        raise StateIncompatible(f"This run has {what}; this Treadle reads version {VERSION}. Start a new run.")
    known = dict(values)
    if "calls" in known:
        known["calls"] = tuple(known["calls"])
    return RunState(**known)
