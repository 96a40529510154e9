"""A person's word on a call: which calls wait for one, and how it reaches the run, wherever that is driven."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast

from ..graph.errors import InvalidData, NotFound
from ..graph.events import Event, EventType
from ..graph.jsontext import Json, dumps, loads
from ..graph.profiles.resolved import resolved_profile
from ..nodes.approval import decision_of, needed
from ..nodes.deps import in_thread
from ..nodes.equipment import tools_of
from ..nodes.tool import Tool
from ..storage.database import RunDatabase
from ..storage.disk import Disk
from ..storage.journal import read_journal
from ..storage.journal_lines import MAX_LIMIT
from ..storage.runs import DATABASE, EVENTS, MCP_TOOLS, RESOLVED_PROFILE, RunRecord, response_path
from ..views import PendingApproval
from .asking import Asking, approval_mark, check_ids, not_pending
from .services import Services

_ABOUT_RESUMES = frozenset({EventType.RUN_RESUMED, EventType.JOURNAL_TAIL_REPAIRED})


async def approve(services: Services, asking: Asking, run_id: str, call_id: str, answer: Json) -> bool:
    """Give the answer to the run's driver; True if there is one, False if it is kept for the next.

    Raises InvalidInput for a bad answer, NotFound where the call does not wait, or was answered already.
    """
    check_ids("approval", run_id, call_id)
    decision_of(answer)
    if asking.drives(run_id):
        request = await asking.request("approval", run_id, call_id)
        request.resolve(decision_of(answer, request.run.tools[request.payload["name"]]).to_json())
        return True
    record = await in_thread(lambda: services.store.load(run_id))
    return await in_thread(lambda: _leave_word(services, record, call_id, answer))


async def pending(services: Services, run_id: str) -> list[PendingApproval]:
    """The call that waits, and after it those of the same answer that will; none where nothing waits."""

    def read() -> list[PendingApproval]:
        return _pending(services, services.store.load(run_id))

    return await in_thread(read)


def _leave_word(services: Services, record: RunRecord, call_id: str, answer: Json) -> bool:
    found = _pending(services, record)
    call = next((each for each in found if each.call_id == call_id and each.state == "waiting"), None)
    if call is None:
        waiting: list[Json] = [each.call_id for each in found if each.state == "waiting"]
        raise not_pending("approval", call_id, waiting)
    decision = decision_of(answer, _tools(services, record)[call.name])
    database = _database(services, record)
    try:
        if not database.mark_once(approval_mark(call.round, call_id), dumps(decision.to_json()).decode()):
            raise not_pending("approval", call_id)
        return database.lease() is not None
    finally:
        database.close()


def _pending(services: Services, record: RunRecord) -> list[PendingApproval]:
    folder = services.store.folder(record)
    asked = _question(folder / EVENTS, services.disk)
    if asked is None:
        return []
    round_number, call_id = asked.payload["round"], asked.payload["callId"]
    database = _database(services, record)
    try:
        is_decided = database.marked(approval_mark(round_number, call_id)) is not None
    finally:
        database.close()
    profile, tools = resolved_profile(_read(services.disk, folder, RESOLVED_PROFILE)), _tools(services, record)
    answer = _read(services.disk, folder, response_path(round_number))
    calls = cast(list[dict[str, Json]], answer["response"]["toolCalls"])
    place = next(place for place, call in enumerate(calls) if call["id"] == call_id)
    row = partial(PendingApproval, record.id, round_number)
    return [
        row(call_id, calls[place]["name"], calls[place]["arguments"], "decided" if is_decided else "waiting"),
        *(
            row(call["id"], call["name"], call["arguments"], "later")
            for call in calls[place + 1 :]
            if call["name"] in tools and needed(profile, tools[call["name"]].spec)
        ),
    ]


def _tools(services: Services, record: RunRecord) -> Mapping[str, Tool]:
    """The run's own: the built-in ones, and those of MCP servers that its start froze."""
    try:
        return tools_of(_read(services.disk, services.store.folder(record), MCP_TOOLS))
    except NotFound:
        return tools_of(None)


def _question(journal: Path, disk: Disk) -> Event | None:
    """The question that the run stands at: nothing but resumes comes after it until it is answered."""
    before = sys.maxsize
    while page := read_journal(journal, before_seq=before, limit=MAX_LIMIT, disk=disk):
        for event in reversed(page):
            if event.type not in _ABOUT_RESUMES:
                return event if event.type == EventType.TOOL_CALL_AWAITING_APPROVAL else None
        before = page[0].seq
    return None


def _read(disk: Disk, folder: Path, path: str) -> Json:
    try:
        return loads(disk.read(folder / path))
    except FileNotFoundError as error:
        raise NotFound(f"the run folder has no {path}") from error
    except ValueError as error:
        raise InvalidData(f"{path} is not JSON: {error}") from error


def _database(services: Services, record: RunRecord) -> RunDatabase:
    return RunDatabase(services.store.folder(record) / DATABASE, clock=services.clock, connect=services.connect)
