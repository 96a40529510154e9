"""A scripted model server in a thread of its own, for commands that bring their own event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from treadle.testkit.simulators.chat_completions import ChatCompletionsServer, Step


@contextmanager
def serving(steps: Iterable[Step], *, api_key: str | None = None) -> Generator[ChatCompletionsServer]:
    """The server while the block runs."""
    server = ChatCompletionsServer(steps, api_key=api_key)
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(10)
        yield server
    finally:
        done.set()
        thread.join()
