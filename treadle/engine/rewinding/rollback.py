"""Going back: a run's workspace, or its message in the chat, as it was at a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from ...graph.errors import InvalidInput, RunBusy
from ...graph.events import EventType
from ...graph.text import sha256_bytes
from ...nodes.deps import Run, in_thread
from ...storage.persist import finish_promotion
from ...storage.restoring import Restored, plan, restore, restored, standing
from ..driving import Driving
from ..opening import AskFor, open_run
from ..services import Services
from .message import rewind_message
from .past import Past
from .records import MessageRolledBack, RollbackRefused, WorkspaceRolledBack
from .steps import begun_step

RollbackScope = Literal["workspace", "committed-message"]
SCOPES: tuple[str, ...] = get_args(RollbackScope)


async def roll_back(
    services: Services, driving: Driving, ask_for: AskFor, run_id: str, checkpoint_id: str, scope: str
) -> WorkspaceRolledBack | MessageRolledBack:
    """Raises as `Engine.rollback` says."""
    if scope not in SCOPES:
        raise InvalidInput(f"scope must be one of {', '.join(SCOPES)}, not {scope!r}")
    if driving.active(run_id) is not None:
        raise RunBusy(f"run {run_id} is being driven here; wait until it has ended, or cancel it")
    record = await in_thread(lambda: services.store.load(run_id))
    run = await in_thread(lambda: open_run(services, record, ask_for))
    try:
        past = Past(services, run.folder.record)
        if scope == "workspace":
            return await in_thread(lambda: _restore(run, past, checkpoint_id))
        return await rewind_message(services.host, run, past, checkpoint_id)
    finally:
        await in_thread(run.folder.close)


def _restore(run: Run, past: Past, checkpoint_id: str) -> WorkspaceRolledBack:
    wanted = past.files_at(checkpoint_id)
    if not run.folder.record.status.is_terminal:
        _check_between_steps(past)
    finish_promotion(run.chat_folder, run.folder.disk)
    now = standing(past.workspace)
    files = plan({path: sha256_bytes(data) for path, data in now.items()}, past.files_by_journal(), wanted)
    told = None if files else _just_done(past, checkpoint_id)
    if told is None:
        restore(run.folder, past.contents(), checkpoint_id, files, now)
        told = files
    return WorkspaceRolledBack(run.id, checkpoint_id, tuple(told))


def _check_between_steps(past: Past) -> None:
    step = begun_step(past.events)
    if step is not None:
        raise RollbackRefused(
            f"run {past.record.id} was left in the middle of {step}; resume it, so that this is ended, and roll back then",
            code="agent.rollback_step_begun",
        )


def _just_done(past: Past, checkpoint_id: str) -> Sequence[Restored] | None:
    """What the rollback put back that stands last in the journal, if it is this one: asked for again, it is the same."""
    last = [event for event in past.events if event.type != EventType.JOURNAL_TAIL_REPAIRED][-2:]
    kinds = [EventType.WORKSPACE_ROLLBACK_STARTED, EventType.WORKSPACE_ROLLBACK_COMPLETED]
    if [event.type for event in last] != kinds or last[0].payload["checkpointId"] != checkpoint_id:
        return None
    return restored(last[0].payload)
