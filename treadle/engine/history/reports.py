"""What retention tells its caller: what is to be done, and what was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...gateway.connections.retention import Retention
from ...graph.errors import TreadleError
from ...graph.jsontext import Json
from .ranking import Action, Decision
from .survey import Blocked, Survey

_FIRST_TOLD = {Action.DELETE: 0, Action.SLIM: 1, Action.KEEP: 2}


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """The counts are of all runs; the details are cut."""

    retention: Retention
    counts: dict[str, int]
    """By action, `blocked`, and `unfinishedDeletions`: runs whose deletion was begun and is finished first."""
    runs: tuple[Decision, ...]
    """What is deleted first, then what is slimmed, then what is kept; newest first."""
    blocked: tuple[Blocked, ...]
    """By run id."""
    omitted: int
    """How many details the limit cut off."""

    def to_json(self) -> dict[str, Json]:
        """`{retention, counts, runs: [{runId, workspaceId, status, createdAt, terminalAt, rank, action, reason}],
        blocked: [{runId, reason, message}], omitted}`."""
        kept = self.retention
        return {
            "retention": {
                "keepRecentTerminalRuns": kept.keep_recent_terminal_runs,
                "keepFullRecentRuns": kept.keep_full_recent_runs,
            },
            "counts": dict(self.counts),
            "runs": [_decision(each) for each in self.runs],
            "blocked": [
                {"runId": each.run_id, "reason": str(each.obstacle), "message": each.message} for each in self.blocked
            ],
            "omitted": self.omitted,
        }


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that is still as it was, or half done: the next pass goes on."""

    run_id: str
    action: Action
    error: TreadleError

    def to_json(self) -> dict[str, Json]:
        told = {"code": self.error.error_code, "message": self.error.message}
        return {"runId": self.run_id, "action": str(self.action), **told}


@dataclass(frozen=True, slots=True)
class PruneResult:
    slimmed: int
    deleted: int
    failures: tuple[Failure, ...]
    plan: RetentionPlan
    """As it stands afterwards."""

    def to_json(self) -> dict[str, Json]:
        """`{slimmed, deleted, failed, failures: [{runId, action, code, message}], plan}`."""
        return {
            "slimmed": self.slimmed,
            "deleted": self.deleted,
            "failed": len(self.failures),
            "failures": [each.to_json() for each in self.failures],
            "plan": self.plan.to_json(),
        }


def retention_plan(found: Survey, unfinished: Sequence[str], retention: Retention, detail_limit: int) -> RetentionPlan:
    by_action = Counter(each.action for each in found.decided)
    counts = {str(action): by_action[action] for action in Action}
    counts |= {"blocked": len(found.blocked), "unfinishedDeletions": len(unfinished)}
    told = sorted(found.decided, key=lambda each: _FIRST_TOLD[each.action])[:detail_limit]
    blocked = found.blocked[:detail_limit]
    omitted = len(found.decided) + len(found.blocked) - len(told) - len(blocked)
    return RetentionPlan(retention, counts, tuple(told), blocked, omitted)


def _decision(each: Decision) -> dict[str, Json]:
    entry = each.run.entry
    return {
        "runId": entry.id,
        "workspaceId": entry.workspace_id,
        "status": str(entry.status),
        "createdAt": entry.created_at,
        "terminalAt": each.run.terminal_at,
        "rank": each.rank,
        "action": str(each.action),
        "reason": str(each.reason),
    }
