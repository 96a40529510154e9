"""A folder of SillyTavern chats as the host of commits: `<characterId>/<fileName>.jsonl`, by the save contract."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..engine.services import SystemClock
from ..graph.errors import HostFailed, InvalidData, InvalidInput, NotFound, StorageFailed
from ..graph.identity import ChatRef, chat_ref, stable_chat_id
from ..graph.jsontext import Json, is_object
from ..graph.ports import ChatHead, Clock, CommitReceipt, CommitRequest, MessageRewind
from ..graph.text import sha256_bytes
from ..storage.chats.commits import required_text, save_commit, save_persist_notes
from ..storage.chats.file import ChatFile, Message, OpenChat
from ..storage.chats.messages import is_assistant, is_user, send_date
from ..storage.chats.reader import FileChatReader
from ..storage.chats.rewinds import rewind_message
from ..storage.disk import Disk

_READERS = 4
"""Chats whose searched texts stay in memory when their runs are over."""


class ChatFolderHost:
    """Implements `ChatHost`, `ReadableHost` and `RewindableHost`. The file work of each call is one hop to a thread; saves of one chat wait for each other.

    Errors: InvalidInput (`agent.group_chat_unsupported`, `agent.invalid_chat_ref`, `agent.stable_chat_id_required`,
    `agent.swipe_target_invalid`); NotFound; InvalidData for a damaged chat, naming the line; HostFailed for a commit
    that can't be saved: its code says why, and the chat is as it was.
    """

    def __init__(self, folder: Path, *, clock: Clock | None = None, disk: Disk | None = None) -> None:
        self.folder = folder
        self._clock = clock or SystemClock()
        self._disk = disk
        self._readers: dict[Path, FileChatReader] = {}
        self._lock = threading.Lock()

    @classmethod
    def for_chat(
        cls, path: Path, *, clock: Clock | None = None, disk: Disk | None = None
    ) -> tuple[ChatFolderHost, ChatRef]:
        """The host and the reference of one chat file: characterId is its folder's name, fileName its stem."""
        if path.suffix != ".jsonl":
            raise InvalidInput(f"{path} is not a chat file: its name must end in .jsonl", code="agent.invalid_chat_ref")
        folder = path.parent.resolve()
        ref = ChatRef("character", character_id=folder.name, file_name=path.stem)
        return cls(folder.parent, clock=clock, disk=disk), ref

    async def stable_chat_id(self, ref: ChatRef) -> str:
        return await asyncio.to_thread(self._stable_chat_id, ref)

    async def head(self, ref: ChatRef, generation_type: str) -> ChatHead:
        return await asyncio.to_thread(self._head, ref, generation_type)

    async def commit(self, request: CommitRequest) -> CommitReceipt:
        return await asyncio.to_thread(self._commit, request, send_date(self._clock.now()))

    async def update_persist_metadata(self, payload: dict[str, Json]) -> None:
        await asyncio.to_thread(self._update_persist_metadata, payload)

    async def rewind_message(self, request: MessageRewind) -> str | None:
        return await asyncio.to_thread(self._rewind_message, request, send_date(self._clock.now()))

    def chat_reader(self, ref: ChatRef) -> FileChatReader:
        """How a run's tools read the chat. The readers used last are kept, with what they have learnt of their chats."""
        chat = self._chat(ref)
        with self._lock:
            reader = self._readers.pop(chat.path, None) or FileChatReader(chat)
            self._readers[chat.path] = reader
            if len(self._readers) > _READERS:
                del self._readers[next(iter(self._readers))]
        return reader

    async def read_message(self, ref: ChatRef, index: int) -> Message:
        """The message at a zero-based index, as it stands now; raises NotFound."""
        return await asyncio.to_thread(self._read_message, ref, index)

    def _stable_chat_id(self, ref: ChatRef) -> str:
        chat = self._chat(ref)
        with chat.opened() as opened:
            found = _integrity(opened)
        if found is not None and not isinstance(found, str):
            raise InvalidData(
                f"{chat.path}: chat_metadata.integrity must be a string, not {found!r}.",
                code="agent.invalid_chat_integrity",
            )
        if found is None or not found.strip():
            raise InvalidInput(
                f'{chat.path} has no stable id: open and save the chat once in SillyTavern, or add an "integrity" '
                "string of your own to chat_metadata in its first line.",
                code="agent.stable_chat_id_required",
            )
        return stable_chat_id(found)

    def _head(self, ref: ChatRef, generation_type: str) -> ChatHead:
        before, last, message = None, None, None
        with self._chat(ref).opened() as opened:
            opened.header()
            for line in opened.lines():  # every line is parsed: a run does not start on a damaged chat
                before, last, message = last, line, opened.message(line)
        if last is None or message is None:
            return ChatHead(0, None)
        if generation_type == "swipe" and not is_assistant(message):
            raise InvalidInput(
                "The chat's last message is not a character's reply, so there is nothing to swipe.",
                code="agent.swipe_target_invalid",
            )
        if generation_type == "swipe" or (generation_type == "regenerate" and not is_user(message)):
            last = before
        return ChatHead(last.index + 1, sha256_bytes(last.data)) if last else ChatHead(0, None)

    def _commit(self, request: CommitRequest, date: str) -> CommitReceipt:
        with self._guarded(request.payload) as opened:
            return CommitReceipt(str(save_commit(opened, request, date)))

    def _update_persist_metadata(self, payload: dict[str, Json]) -> None:
        with self._guarded(payload) as opened:
            save_persist_notes(opened, payload)

    def _rewind_message(self, request: MessageRewind, date: str) -> str | None:
        with self._guarded(request.payload) as opened:
            index = rewind_message(opened, request, date)
            return None if index is None else str(index)

    def _read_message(self, ref: ChatRef, index: int) -> Message:
        chat = self._chat(ref)
        with chat.opened() as opened:
            line = next(opened.lines(index, index + 1), None) if index >= 0 else None
            if line is None:
                raise NotFound(f"The chat {chat.path} has no message {index}.")
            return opened.message(line)

    @contextmanager
    def _guarded(self, payload: dict[str, Json]) -> Generator[OpenChat]:
        """The chat that the request names, open for saving, if it is still the run's chat."""
        chat = self._chat(chat_ref(payload.get("chatRef")))
        wanted = required_text(payload, "stableChatId")
        try:
            with chat.opened(to_save=True) as opened:
                found = _integrity(opened)
                if not isinstance(found, str) or found.strip() != wanted:
                    raise HostFailed(
                        f"{chat.path} is not the run's chat any more: its integrity is {found!r}, not {wanted!r}.",
                        code="agent.commit_chat_mismatch",
                    )
                yield opened
        except NotFound as error:
            raise HostFailed(error.message, code="agent.commit_chat_mismatch") from error
        except StorageFailed as error:
            raise HostFailed(error.message, code="commit.save_failed") from error

    def _chat(self, ref: ChatRef) -> ChatFile:
        if ref.kind == "group":
            raise InvalidInput("A group chat can't host a run.", code="agent.group_chat_unsupported")
        folder = self.folder / _file_name(ref.character_id, "characterId")
        return ChatFile(folder / f"{_file_name(ref.file_name, 'fileName')}.jsonl", self._disk)


def _integrity(opened: OpenChat) -> Json:
    metadata = opened.header().get("chat_metadata")
    return metadata.get("integrity") if is_object(metadata) else None


def _file_name(name: str | None, field: str) -> str:
    """One step of a path and no more: a reference never leads out of the folder."""
    if not name or name in (".", "..") or any(char in name for char in "/\\\0"):
        raise InvalidInput(f"chatRef.{field} {name!r} can't name a file.", code="agent.invalid_chat_ref")
    return name
