"""The run's chat as its tools may see it: the messages from before the run, whatever was added to it since."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..graph.errors import NotFound, RunFailed, ToolRefused
from ..graph.ports import ChatReader
from .tool import Bench

CURRENT = "chat:current"
"""What references to the chat begin with."""


@contextmanager
def frozen(bench: Bench) -> Generator[ChatReader]:
    """The chat, of which only the first `bench.chat_messages` messages may be told.

    Raises ToolRefused `chat.not_found` where nothing here can read it or it is gone, RunFailed
    `agent.input_history_conflict` where messages that the run saw were removed.
    """
    if bench.chat is None:
        raise ToolRefused(
            "chat.not_found",
            "The chat can't be read: the program that hosts this run has no way to it. Work from what the prompt holds.",
        )
    try:
        total = bench.chat.count()
        if total < bench.chat_messages:
            raise RunFailed(
                f"The chat had {bench.chat_messages} messages for this run when it started, and has {total} now: some "
                "were removed.",
                code="agent.input_history_conflict",
            )
        yield bench.chat
    except NotFound as error:
        raise ToolRefused("chat.not_found", "The chat's file is gone. Work from what the prompt holds.") from error
