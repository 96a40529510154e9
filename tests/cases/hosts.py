"""The chat's side of a case: the real host over a real file, which keeps word of each commit that changed it."""

from __future__ import annotations

import os
from pathlib import Path

from treadle.graph.identity import ChatRef
from treadle.graph.jsontext import Json
from treadle.graph.ports import ChatHead, ChatReader, CommitReceipt, CommitRequest
from treadle.host.chat_folder import ChatFolderHost

DEAD = 97
"""The exit code of a process that died on purpose."""


class RecordingHost:
    """Writes the id of every commit that changed the chat to `log`, a line each; then dies, if it is `doomed` to."""

    def __init__(self, host: ChatFolderHost, chat: Path, log: Path) -> None:
        self._host = host
        self._chat = chat
        self._log = log
        self.doomed = False

    async def stable_chat_id(self, ref: ChatRef) -> str:
        return await self._host.stable_chat_id(ref)

    async def head(self, ref: ChatRef, generation_type: str) -> ChatHead:
        return await self._host.head(ref, generation_type)

    async def commit(self, request: CommitRequest) -> CommitReceipt:
        before = _bytes(self._chat)
        receipt = await self._host.commit(request)
        if _bytes(self._chat) != before:
            with self._log.open("a", encoding="utf-8") as log:
                log.write(f"{request.payload['commitId']}\n")
        if self.doomed:
            os._exit(DEAD)
        return receipt

    def chat_reader(self, ref: ChatRef) -> ChatReader:
        return self._host.chat_reader(ref)

    async def update_persist_metadata(self, payload: dict[str, Json]) -> None:
        await self._host.update_persist_metadata(payload)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
