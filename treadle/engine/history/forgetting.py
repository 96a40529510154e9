"""A chat is deleted: its workspace goes, and with it its runs, unless one of them is under way. Blocking but for hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ...graph.errors import InvalidData, InvalidInput, RunBusy, TreadleError
from ...graph.identity import ChatRef, RunId, WorkspaceId, chat_ref, stable_chat_id, workspace_id
from ...graph.jsontext import Json, is_object
from ...nodes.deps import in_thread
from ...storage.disk import storage_failed
from ...storage.folder_lock import folder_lock
from ...storage.run_deletion import begin_deletion, finish_deletion, forget_index, unfinished_deletions
from ...storage.run_index import IndexEntry
from ..services import Services
from .claim import UNHELD, Claim, claim

_NO_ID = "agent.stable_chat_id_required"


class WorkspaceInUse(InvalidInput):
    """A run of the chat is under way."""

    code = "agent.workspace_in_use"


@dataclass(frozen=True, slots=True)
class ForgottenChat:
    """What was kept of a chat; `removed` is False where there was nothing."""

    chat_ref: ChatRef
    workspace_id: WorkspaceId | None
    """None where the chat has no stable id: no run can have been made in it."""
    removed: bool = False
    run_ids: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {
            "chatRef": self.chat_ref.to_json(),
            "workspaceId": self.workspace_id,
            "removed": self.removed,
            "runIds": list(self.run_ids),
        }


async def forget_chats(services: Services, chats: Sequence[Json]) -> tuple[ForgottenChat, ...]:
    found = [await _target(services, chat) for chat in chats]
    return await in_thread(lambda: _forgotten(services, found))


async def _target(services: Services, chat: Json) -> ForgottenChat:
    """The chat's workspace, by the stable id that the caller or the host tells; a group's is its own id."""
    if not is_object(chat):
        raise InvalidInput("each chat must be an object {chatRef, stableChatId?}")
    unknown = sorted(chat.keys() - {"chatRef", "stableChatId"})
    if unknown:
        raise InvalidInput(f"a chat has an unknown field {unknown[0]}; known are chatRef and stableChatId")
    ref, stable = chat_ref(chat.get("chatRef")), chat.get("stableChatId")
    if stable is not None and not isinstance(stable, str):
        raise InvalidInput(f"stableChatId must be a string, not {stable!r}", code="agent.invalid_stable_chat_id")
    if stable is None:
        stable = ref.chat_id if ref.kind == "group" else await _told_by_host(services, ref)
    return ForgottenChat(ref, None if stable is None else workspace_id(ref.kind, stable_chat_id(stable)))


async def _told_by_host(services: Services, ref: ChatRef) -> str | None:
    if services.host is None:
        raise InvalidInput("stableChatId is missing, and no chat host can tell it", code=_NO_ID)
    try:
        return await services.host.stable_chat_id(ref)
    except InvalidInput as error:
        if error.error_code == _NO_ID:
            return None
        raise


def _forgotten(services: Services, chats: list[ForgottenChat]) -> tuple[ForgottenChat, ...]:
    for run_id in unfinished_deletions(services.store):
        with suppress(TreadleError):  # what is wrong with it, retention tells; this chat does not depend on it
            finish_deletion(services.store, services.disk, run_id)
    entries = services.index.look().entries
    targets = {chat.workspace_id for chat in chats if chat.workspace_id is not None}
    runs = {target: [entry for entry in entries if entry.workspace_id == target] for target in targets}
    held = _all_claimed(services, [run for found in runs.values() for run in found])
    try:
        return tuple(_removed(services, chat, runs, held) for chat in chats)
    except BaseException:
        _let_go(held.values())
        raise


def _all_claimed(services: Services, runs: list[IndexEntry]) -> dict[RunId, Claim]:
    """Every run of every chat, or none; raises WorkspaceInUse."""
    held: dict[RunId, Claim] = {}
    busy: list[RunId] = []
    try:
        for run in runs:
            try:
                held[run.id] = claim(services, run)
            except RunBusy:
                busy.append(run.id)
            except InvalidData:  # a database that is none: nobody can drive the run by it
                held[run.id] = UNHELD
        if busy:
            raise _in_use(busy, "nothing was deleted")
    except BaseException:
        _let_go(held.values())
        raise
    return held


def _removed(
    services: Services, chat: ForgottenChat, runs: dict[WorkspaceId, list[IndexEntry]], held: dict[RunId, Claim]
) -> ForgottenChat:
    """First each run is in no list any more, then the folder goes: a crash leaves whole runs, and what can be repeated."""
    workspace = chat.workspace_id
    if workspace is None:
        return chat
    gone = runs.pop(workspace, [])  # a chat that is named twice is removed once
    for run in gone:
        with held[run.id].guarded():
            begin_deletion(services.store, services.disk, run.id)
        finish_deletion(services.store, services.disk, run.id)
    was_there = _remove_workspace(services, workspace)
    return replace(chat, removed=was_there or bool(gone), run_ids=tuple(sorted(run.id for run in gone)))


def _remove_workspace(services: Services, workspace: WorkspaceId) -> bool:
    folder, store, disk = services.store.chat_folder(workspace), services.store, services.disk
    if not folder.exists():
        return False
    try:
        with folder_lock(folder):
            look = services.index.look()
            begun = [entry.id for entry in look.entries if entry.workspace_id == workspace]
            if begun:
                raise _in_use(begun, "its ended runs are gone, its persistent files stay")
            for damaged in look.damaged:
                if (folder / "runs" / damaged.id).is_dir():
                    forget_index(store, disk, RunId(damaged.id))
            disk.remove(folder)
    except OSError as error:
        raise storage_failed(error, f"removing workspace {workspace}") from error
    return True


def _let_go(held: Iterable[Claim]) -> None:
    """What went wrong is told, not that a lease could not be given back: it ends by itself."""
    for each in held:
        with suppress(TreadleError):
            each.let_go()


def _in_use(run_ids: list[RunId], state: str) -> WorkspaceInUse:
    ids = sorted(run_ids)
    return WorkspaceInUse(
        f"a run of the chat is under way: {', '.join(ids)}; cancel it, or wait for its end ({state})",
        details={"runIds": ids},
    )
