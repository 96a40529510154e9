"""A run's message in the chat, put back as it was at a checkpoint: asked of the host, and journalled before and after."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import cast

from ...graph.errors import InvalidData, TreadleError
from ...graph.events import Event, EventType
from ...graph.jsontext import Json
from ...graph.paths import WorkspacePath
from ...graph.ports import ChatHost, MessageRewind, RewindableHost
from ...graph.text import sha256_text
from ...nodes.deps import Run, in_thread
from ...storage.folder import Log
from .past import Past
from .records import MessageRolledBack, RollbackRefused

_SETTLED = (EventType.COMMITTED_MESSAGE_ROLLBACK_COMPLETED, EventType.COMMITTED_MESSAGE_ROLLBACK_FAILED)


async def rewind_message(host: ChatHost | None, run: Run, past: Past, checkpoint_id: str) -> MessageRolledBack:
    """A request that a crash left without an answer is made again first, under its own id. Raises what the host raises."""
    able = await in_thread(lambda: _checked(host, past, checkpoint_id))
    left = _unanswered(past)
    if left is not None:
        asked = await in_thread(lambda: _request(past, left["rollbackId"], left["checkpointId"], repeated=True))
        if left["checkpointId"] == checkpoint_id:
            return await _carry_out(able, run, asked)
        with suppress(TreadleError):  # it is journalled as failed, and nothing of it stands in the way
            await _carry_out(able, run, asked)
    identifier = _rollback_id(run)
    asked = await in_thread(lambda: _request(past, identifier, checkpoint_id, repeated=False))
    requested = Log(EventType.COMMITTED_MESSAGE_ROLLBACK_REQUESTED, asked.payload)
    await in_thread(lambda: run.folder.rewind(requested))
    return await _carry_out(able, run, asked)


def commits_at(past: Past, checkpoint_id: str) -> list[dict[str, Json]]:
    """The confirmed commits whose own checkpoint is this one or an earlier one, as a message's notes list them."""
    past.checkpoint(checkpoint_id)
    asked = {event.payload["commitId"]: event.payload for event in past.events if event.type == _REQUESTED}
    made = past.checkpoint_ids[: past.checkpoint_ids.index(checkpoint_id) + 1]
    payloads = [asked[event.payload["commitId"]] for event in _recorded(past)]
    return [
        {"seq": seq, **{key: told[key] for key in _ENTRY if key != "reason" or told[key] is not None}}
        for seq, told in enumerate(payloads, start=1)
        if told["checkpointId"] in made
    ]


def _checked(host: ChatHost | None, past: Past, checkpoint_id: str) -> RewindableHost:
    past.checkpoint(checkpoint_id)
    if not past.record.status.is_terminal:
        raise RollbackRefused(
            f"run {past.record.id} has not ended: what it commits next builds on its message as it is. Let it end (resume "
            "it), or cancel it, and roll its message back then",
            code="agent.rollback_run_open",
        )
    if not isinstance(host, RewindableHost):
        raise RollbackRefused(
            "there is no chat host here that can put a message back; open the engine with one that has rewind_message",
            code="agent.rollback_host_api_unavailable",
        )
    return host


def _unanswered(past: Past) -> dict[str, Json] | None:
    """The payload of the request that neither succeeded nor failed."""
    left: dict[str, Json] | None = None
    for event in past.events:
        if event.type == EventType.COMMITTED_MESSAGE_ROLLBACK_REQUESTED:
            left = event.payload
        elif event.type in _SETTLED:
            left = None
    return left


async def _carry_out(host: RewindableHost, run: Run, asked: MessageRewind) -> MessageRolledBack:
    payload = asked.payload
    told = {"rollbackId": payload["rollbackId"], "checkpointId": payload["checkpointId"]}
    try:
        message_id = await host.rewind_message(asked)
    except TreadleError as error:
        failed = Log(EventType.COMMITTED_MESSAGE_ROLLBACK_FAILED, {**told, "message": str(error)})
        await in_thread(lambda: run.folder.rewind(failed))
        raise
    completed = Log(EventType.COMMITTED_MESSAGE_ROLLBACK_COMPLETED, {**told, "messageId": message_id})
    await in_thread(lambda: run.folder.rewind(completed))
    stay = tuple(commit["commitId"] for commit in payload["commits"])
    return MessageRolledBack(run.id, payload["checkpointId"], message_id, stay)


def _rollback_id(run: Run) -> str:
    """Another one for each request: the journal has grown by then."""
    return "rollback_" + hashlib.sha256(f"{run.id}/{run.folder.journal.last_seq}".encode()).hexdigest()[:32]


def _request(past: Past, rollback_id: str, checkpoint_id: str, *, repeated: bool) -> MessageRewind:
    commits = commits_at(past, checkpoint_id)
    text = _text(past, commits) if commits else None
    record = past.record
    payload: dict[str, Json] = {
        "rollbackId": rollback_id,
        "checkpointId": checkpoint_id,
        "runId": record.id,
        "workspaceId": record.workspace_id,
        "stableChatId": record.stable_chat_id,
        "chatRef": record.chat_ref.to_json(),
        "messageId": _message_id(past),
        "commits": commits,
        "sha256": None if text is None else sha256_text(text),
    }
    return MessageRewind(payload, text, repeated)


def _message_id(past: Past) -> str:
    message_id = _recorded(past)[-1].payload["messageId"]
    if message_id is None:
        raise RollbackRefused(
            "the host named no message for the run's commits, so none can be rolled back",
            code="agent.rollback_target_missing",
        )
    return cast(str, message_id)


def _recorded(past: Past) -> list[Event]:
    """The confirmed commits, in order; raises RollbackRefused where there is none."""
    recorded = [event for event in past.events if event.type == EventType.CHAT_COMMIT_RECORDED]
    if not recorded:
        raise RollbackRefused(
            f"run {past.record.id} has committed nothing to its chat, so there is no message to roll back",
            code="agent.rollback_targets_invalid",
        )
    return recorded


_REQUESTED = EventType.CHAT_COMMIT_REQUESTED
_ENTRY = ("commitId", "checkpointId", "path", "mode", "reason", "sha256", "chars", "words")


def _text(past: Past, commits: list[dict[str, Json]]) -> str:
    """What the commits made of the message, one after the other."""
    text = ""
    for commit in commits:
        path = WorkspacePath(commit["path"])
        kept = past.checkpoints.file(commit["checkpointId"], path).decode("utf-8")
        if sha256_text(kept) != commit["sha256"]:
            raise InvalidData(
                f"checkpoint {commit['checkpointId']} does not hold the text that was committed of {path}"
            )
        text = text + kept if commit["mode"] == "append" else kept
    return text
