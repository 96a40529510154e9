"""This gateway, talking as a run does: each message is encoded once, and an answer goes back as its canonical message."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from conversation import STATE, NoSecrets
from talks import DESCRIPTION, KEY, NAME, PROMPT, SCHEMA, Library

from treadle.gateway.connections.connection import Connection
from treadle.gateway.connections.secret import Secret
from treadle.gateway.gateway import Exchange, ModelGateway
from treadle.gateway.outgoing import Fragment
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.messages import Message, Role, TextPart, ToolResult, ToolResultPart, ToolSpec
from treadle.testkit.ports import ManualClock

_TOOL = ToolSpec(NAME.replace("_", ".", 1), "Read", DESCRIPTION, SCHEMA)
_MODELS = {
    "claude_messages": ("claude", "claude-sonnet-4-5"), "gemini": ("makersuite", "gemini-3-pro-preview"),
    "openai_responses": ("openai", "gpt-5.2"), "openai_compatible": ("openai", "gpt-5.2"),
    "openrouter": ("openrouter", "openai/gpt-5.2"),
}  # fmt: skip


class Own:
    def __init__(self, name: str, url: str) -> None:
        source, model = _MODELS[name]
        provider_format = "openai_compatible" if name == "openrouter" else name
        self._here = Connection(source, provider_format, url + "/v1", model, Secret(KEY))
        self._gateway = ModelGateway(HttpTransport(), NoSecrets(), ManualClock())
        self._loop = asyncio.new_event_loop()

    def opening(self) -> list[Fragment]:
        return [self._gateway.encode_turn(self._here, Message(Role.USER, (TextPart(PROMPT),)))]

    def ask(self, history: list[Fragment]) -> Exchange:
        asked = self._gateway.outgoing(self._here, {}, history, (_TOOL,), STATE)
        return self._loop.run_until_complete(self._gateway.generate(asked))

    def turn(self, answer: Exchange, result: str) -> list[Fragment]:
        said = answer.response
        results = [
            Message(Role.TOOL, (ToolResultPart(ToolResult(call.id, call.name, result)),)) for call in said.tool_calls
        ]
        told = self._gateway.encode_turn(self._here, said.message, answer.native)
        return [told, *(self._gateway.encode_turn(self._here, message) for message in results)]

    def close(self) -> None:
        self._loop.run_until_complete(self._gateway.close())
        self._loop.close()


def _talk(name: str) -> Any:
    return partial(Own, name)


OWN = Library("this gateway", (), {name: _talk(name) for name in _MODELS})
