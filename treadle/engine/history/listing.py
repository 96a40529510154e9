"""The list of runs, page by page, newest first. A file that can't be read is told beside it and stops nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...graph.errors import TreadleError
from ...graph.jsontext import Json
from ...storage.run_index import Damaged, IndexEntry
from ...storage.run_summaries import Projection
from ...storage.runs import EVENTS, RECORD, RunRecord
from ..services import Services
from .query import RunCursor, RunQuery


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run's record, and what its journal tells of its commits and its end."""

    record: RunRecord
    projection: Projection

    @property
    def id(self) -> str:
        return self.record.id

    def to_json(self) -> dict[str, Json]:
        """`runId, workspaceId, stableChatId, chatRef, generationType, profileId, persistBaseStateId?,
        inputMessageCount, presentation, status, createdAt, updatedAt, slimmedAt?, commitCount, committedMessage?
        {commitId, messageId, messageIndex?, committedAt}, terminalAt?`."""
        stored = self.record.to_json()
        told = {key: value for key, value in stored.items() if key not in _OF_THE_FILE}
        return {"runId": self.record.id, **told, **self.projection.to_json()}


_OF_THE_FILE = frozenset({"id", "chatHead", "inputSha256"})


@dataclass(frozen=True, slots=True)
class RunPage:
    runs: tuple[RunSummary, ...]
    next_cursor: RunCursor | None
    """`before` of the next page; None where this is the last one."""
    damaged: tuple[Damaged, ...]
    """What could not be read on the way, `{id, file, reason}`. Files that tell no time stand on the first page."""

    def to_json(self) -> dict[str, Json]:
        cursor = {} if self.next_cursor is None else {"nextCursor": self.next_cursor.to_json()}
        runs, damaged = [run.to_json() for run in self.runs], [each.to_json() for each in self.damaged]
        return {"runs": runs, **cursor, "damaged": damaged}


def run_page(services: Services, query: RunQuery) -> RunPage:
    """Blocking; raises StorageFailed where the index itself can't be read."""
    look = services.index.look()
    damaged = list(look.damaged) if query.before is None else []
    runs: list[RunSummary] = []
    for entry in _chosen(services, look.entries, query):
        if len(runs) == query.limit:
            return RunPage(tuple(runs), RunCursor(runs[-1].record.created_at, runs[-1].id), tuple(damaged))
        match _summary(services, entry):
            case RunSummary() as summary:
                runs.append(summary)
            case Damaged() as fault:
                damaged.append(fault)
            case None:
                pass
    return RunPage(tuple(runs), None, tuple(damaged))


def _summary(services: Services, entry: IndexEntry) -> RunSummary | Damaged | None:
    """None where the run was deleted meanwhile."""
    file = RECORD
    try:
        record = services.store.load(entry.id)
        file = EVENTS
        return RunSummary(record, services.summaries.of(record))
    except TreadleError as error:
        if not services.store.exists(entry.id):
            return None
        return Damaged(entry.id, f"chats/{entry.workspace_id}/runs/{entry.id}/{file}", error.message)


def _chosen(services: Services, entries: Sequence[IndexEntry], query: RunQuery) -> Iterator[IndexEntry]:
    after = None if query.before is None else (query.before.created_at, query.before.run_id)
    ref, stable, statuses = query.chat_ref, query.stable_chat_id, query.statuses
    for entry in entries:
        if after is not None and (entry.created_at, entry.id) >= after:
            continue
        if (stable is not None and entry.stable_chat_id != stable) or (ref is not None and entry.chat_ref != ref):
            continue
        if statuses is None or services.index.newest(entry).status in statuses:
            yield entry
