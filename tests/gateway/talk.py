"""A run's conversation with a Responses server, as its rounds go on."""

from __future__ import annotations

import pytest

from treadle.gateway.connections.connection import Connection
from treadle.gateway.delivery import WireCall
from treadle.gateway.gateway import Exchange, ModelGateway
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json
from treadle.graph.messages import Message, Role, TextPart, ToolResult, ToolResultPart

from .responses_side import (
    REASONING,
    Answer,
    ResponsesSide,
    asked,
    completed,
    created,
    said,
)
from .words import TOOLS

OPENING = (Message(Role.SYSTEM, (TextPart("You write."),)), Message(Role.USER, (TextPart("Go."),)))
FIRST = (created("r1"), completed("r1", REASONING, asked("c1")))
SECOND = completed("r2", said("Done."))
START: Json = {"sessionId": "run-1"}
WHOLE = ["developer", "user", "reasoning", "function_call", "function_call_output"]


class Talk:
    """A run's conversation, as its rounds go on."""

    def __init__(self, gateway: ModelGateway, here: Connection, **settings: Json) -> None:
        self._gateway = gateway
        self.here = here
        self._settings = settings
        self.messages: list[Message] = list(OPENING)
        self.state: Json = START
        self.heard: list[WireCall] = []

    async def round(self) -> Exchange:
        """Ask, and answer whatever calls come."""
        fragments = [self._gateway.encode_turn(self.here, message) for message in self.messages]
        outgoing = self._gateway.outgoing(self.here, self._settings, fragments, TOOLS, self.state)
        exchange = await self._gateway.generate(outgoing, self.heard)
        self.state = exchange.provider_state
        self.messages.append(exchange.response.message)
        for call in exchange.response.tool_calls:
            self.messages.append(Message(Role.TOOL, (ToolResultPart(ToolResult(call.id, call.name, "done")),)))
        return exchange

    async def failure(self) -> ModelFailed:
        with pytest.raises(ModelFailed) as failed:
            await self.round()
        return failed.value


def kinds(turn: dict[str, Json]) -> list[str]:
    return [item.get("role") or item["type"] for item in turn["input"]]


def side(*answers: Answer) -> ResponsesSide:
    return ResponsesSide(answers)
