"""The workspace is laid out, the persistent files are projected into it, and the first request is assembled."""

from __future__ import annotations

from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.paths import ROOTS
from ..graph.state import RunState, Update
from ..graph.status import RunStatus
from ..graph.table import Outcome
from ..storage.folder import Do, Enter, Log, Put, pretty
from ..storage.persist import project
from ..storage.runs import MANIFEST
from .deps import Deps, Run, in_thread


async def assemble_context(_state: RunState, deps: Deps) -> Update:
    run = deps.run
    run.cancel.check()
    await in_thread(lambda: _initialize(run))
    run.cancel.check()
    context = _context(run)
    await run.record(
        Enter(RunStatus.ASSEMBLING_CONTEXT, unless=(EventType.CONTEXT_ASSEMBLED, context)),
        Log(EventType.CONTEXT_ASSEMBLED, context),
    )
    run.cancel.check()
    return Update(Outcome.ASSEMBLED)


def request_summary(run: Run) -> dict[str, Json]:
    """What the events tell of a request."""
    settings = run.settings
    return {
        "chatCompletionSource": settings.get("chat_completion_source"),
        "customApiFormat": settings.get("custom_api_format"),
        "model": settings.get("model"),
        "messageCount": run.conversation.message_count,
        "toolCount": len(run.specs),
    }


def _initialize(run: Run) -> None:
    record = run.folder.record
    manifest = run.profile.manifest_json(record.id, record.stable_chat_id, record.chat_ref.to_json(), record.created_at)
    initialized = {"workspaceId": record.workspace_id, "stableChatId": record.stable_chat_id}
    run.folder.apply(
        Enter(RunStatus.INITIALIZING_WORKSPACE, unless=(EventType.WORKSPACE_INITIALIZED, initialized)),
        Do(lambda: _make_rooms(run)),
        Put(MANIFEST, pretty(manifest)),
        Log(EventType.WORKSPACE_INITIALIZED, initialized),
        Log(EventType.PERSISTENT_PROJECTION_INITIALIZED, {"roots": ["persist"]}),
    )


def _make_rooms(run: Run) -> None:
    for root in ROOTS:
        run.folder.disk.make_folder(run.folder.path / root)
    if run.folder.ledger.find(EventType.PERSISTENT_PROJECTION_INITIALIZED) is None:
        project(run.chat_folder, run.folder.path, run.folder.disk)


def _context(run: Run) -> dict[str, Json]:
    profile = run.profile
    return {
        "request": request_summary(run),
        "tools": [spec.to_json() for spec in run.specs],
        "maxRounds": profile.max_rounds,
        "contextPolicy": profile.context_policy,
        "modelRetry": {"maxRetries": profile.max_retries, "intervalMs": profile.retry_interval_ms},
    }
