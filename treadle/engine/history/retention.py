"""`engine.retention`: keep the newest ended runs whole, of the next ones the journal, and delete the others."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ...gateway.connections.retention import Retention
from ...graph.errors import InvalidInput, TreadleError
from ...graph.jsontext import Json, is_object
from ...nodes.deps import in_thread
from ...storage.run_deletion import finish_deletion, unfinished_deletions
from ..services import Services
from .automation import Automation
from .pruning import delete, slim
from .ranking import Action, Decision
from .reports import Failure, PruneResult, RetentionPlan, retention_plan
from .survey import survey

DETAILS = 200
MOST_DETAILS = 1000

_ACTS: dict[Action, Callable[[Services, Decision], None]] = {
    Action.SLIM: lambda services, decision: slim(services, decision.run.entry),
    Action.DELETE: lambda services, decision: delete(services, decision.run.entry),
}


class RunRetention:
    """A run that has not ended, or whose journal does not tell its end, is never touched; a chat's `persist/` neither.

    `retention`: `{keepRecentTerminalRuns?, keepFullRecentRuns?}` in place of the settings file's, 0 to 10,000 each.
    `detail_limit`: how many runs are told one by one, 0 to 1,000. Raises InvalidInput for these and for a bad settings
    file, StorageFailed where the index can't be read.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self.automation = Automation(services, self._pass)

    async def plan(
        self, retention: Retention | dict[str, Json] | None = None, detail_limit: int | None = None
    ) -> RetentionPlan:
        """What `apply` would do now; changes nothing."""
        limit = _detail_limit(detail_limit)
        return await in_thread(lambda: self._plan(self._rules(retention), limit))

    async def apply(
        self, retention: Retention | dict[str, Json] | None = None, detail_limit: int | None = None
    ) -> PruneResult:
        """Do it, and plan anew. What goes wrong with one run is told in `failures` and stops no other."""
        limit = _detail_limit(detail_limit)
        return await in_thread(lambda: self._apply(self._rules(retention), limit, threading.Event()))

    def _rules(self, given: Retention | dict[str, Json] | None) -> Retention:
        return given if isinstance(given, Retention) else _over(self._services.retention(), given)

    def _plan(self, retention: Retention, limit: int) -> RetentionPlan:
        unfinished = unfinished_deletions(self._services.store)
        return retention_plan(survey(self._services, retention), unfinished, retention, limit)

    def _apply(self, retention: Retention, limit: int, stopped: threading.Event) -> PruneResult:
        failures = self._finished()
        done = {Action.SLIM: 0, Action.DELETE: 0}
        for decision in survey(self._services, retention).decided:
            act = _ACTS.get(decision.action)
            if act is None or stopped.is_set():
                continue
            try:
                act(self._services, decision)
                done[decision.action] += 1
            except TreadleError as error:
                failures.append(Failure(decision.run.entry.id, decision.action, error))
        plan = self._plan(retention, limit)
        return PruneResult(done[Action.SLIM], done[Action.DELETE], tuple(failures), plan)

    def _finished(self) -> list[Failure]:
        """Finish the deletions that a crash or a fault cut off."""
        failures: list[Failure] = []
        for run_id in unfinished_deletions(self._services.store):
            try:
                finish_deletion(self._services.store, self._services.disk, run_id)
            except TreadleError as error:
                failures.append(Failure(run_id, Action.DELETE, error))
        return failures

    def _pass(self, stopped: threading.Event) -> None:
        """One pass of the automation; nothing where it was switched off meanwhile."""
        retention = self._services.retention()
        if retention.auto_prune_enabled:
            self._apply(retention, 0, stopped)


def _over(settings: Retention, given: Json) -> Retention:
    if given is None:
        return settings
    if not is_object(given):
        raise InvalidInput(
            "retention must be an object {keepRecentTerminalRuns?, keepFullRecentRuns?}", code="agent.retention_invalid"
        )
    known = {
        "keepRecentTerminalRuns": settings.keep_recent_terminal_runs,
        "keepFullRecentRuns": settings.keep_full_recent_runs,
    }
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        raise InvalidInput(
            f"retention.{unknown[0]} is not a known field; known are {', '.join(known)}", code="agent.retention_invalid"
        )
    merged = known | given
    return Retention(settings.auto_prune_enabled, merged["keepRecentTerminalRuns"], merged["keepFullRecentRuns"])


def _detail_limit(given: int | None) -> int:
    if given is None:
        return DETAILS
    if type(given) is not int or not 0 <= given <= MOST_DETAILS:
        raise InvalidInput(
            f"detailLimit must be an integer from 0 to {MOST_DETAILS}, not {given!r}",
            code="agent.retention_detail_limit_invalid",
        )
    return given
