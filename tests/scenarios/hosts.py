"""Chat hosts that don't answer, or that break."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

from treadle.graph.identity import ChatRef
from treadle.graph.jsontext import Json
from treadle.graph.ports import ChatHead, ChatHost, CommitReceipt, CommitRequest

Before = Callable[[], Awaitable[object]]


async def never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("this event is never set")


async def at_once() -> None:
    """Nothing is waited for."""


class SlowHost:
    """Another host, but something comes before it looks at the chat, commits, or notes the persist state."""

    def __init__(
        self, inner: ChatHost, *, head: Before = at_once, commit: Before = at_once, metadata: Before = at_once
    ) -> None:
        self._inner = inner
        self._head = head
        self._commit = commit
        self._metadata = metadata
        self.reached = asyncio.Event()
        """Set once something is being waited for."""
        self.commits: list[CommitRequest] = []

    async def stable_chat_id(self, ref: ChatRef) -> str:
        return await self._inner.stable_chat_id(ref)

    async def head(self, ref: ChatRef, generation_type: str) -> ChatHead:
        await self._wait(self._head)
        return await self._inner.head(ref, generation_type)

    async def commit(self, request: CommitRequest) -> CommitReceipt:
        self.commits.append(request)
        await self._wait(self._commit)
        return await self._inner.commit(request)

    async def update_persist_metadata(self, payload: dict[str, Json]) -> None:
        await self._wait(self._metadata)
        await self._inner.update_persist_metadata(payload)

    async def _wait(self, before: Before) -> None:
        if before is not at_once:
            self.reached.set()
        await before()
