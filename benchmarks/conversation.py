"""A conversation of many rounds in one format, through the gateway: each message encoded once, as a run does it."""

from __future__ import annotations

from answers import Answer, answer, prose, written

from treadle.gateway.connections.connection import Connection
from treadle.gateway.connections.secret import Secret
from treadle.gateway.gateway import ModelGateway, format_of
from treadle.gateway.outgoing import Fragment
from treadle.graph.messages import (
    Message,
    ModelResponse,
    Role,
    TextPart,
    ToolResult,
    ToolResultPart,
    ToolSpec,
)
from treadle.graph.ports import WireReply, WireRequest
from treadle.testkit.ports import ManualClock

TOOLS = tuple(
    ToolSpec(
        name,
        name,
        f"What {name} does, in a sentence or two that a model can follow.",
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": False,
        },
    )
    for name in ("workspace.write_file", "workspace.read_file", "workspace.list_files", "workspace.finish")
)

STATE = {"sessionId": "measured"}
_SOURCES = {"claude_messages": "claude", "gemini": "makersuite"}


class NoTransport:
    """Nothing is sent."""

    async def send(self, request: WireRequest) -> WireReply:
        raise AssertionError("a benchmark sends nothing")

    async def close(self) -> None:
        pass


class NoSecrets:
    def get(self, reference: str) -> str | None:
        return None


def gateway() -> ModelGateway:
    return ModelGateway(NoTransport(), NoSecrets(), ManualClock())


def connection(provider_format: str) -> Connection:
    source = _SOURCES.get(provider_format, "custom")
    return Connection(source, provider_format, "http://model.invalid/v1", "gemini-3-measured", Secret("measured"))


def opening() -> tuple[Message, ...]:
    return Message(Role.SYSTEM, (TextPart(prose(4000)),)), Message(Role.USER, (TextPart(prose(1000)),))


def decoded(data: bytes, here: Connection) -> ModelResponse:
    """What `generate` does with a reply's body between its arrival and its custody."""
    shape = format_of(here)
    body = shape.read(data)
    assert shape.error_in(body) is None
    return shape.decode(body, here, TOOLS, here.origin)


def results(response: ModelResponse, size: int) -> list[Message]:
    return [
        Message(Role.TOOL, (ToolResultPart(ToolResult(call.id, call.name, prose(size))),))
        for call in response.tool_calls
    ]


def round_of(number: int, size: int) -> Answer:
    """An answer with two calls; with its two results a round has about `size` bytes."""
    part = size // 20
    return answer(number, text=part * 7, thought=part, signature=part * 2, calls=(part * 2, part * 2))


def transcript(made: ModelGateway, here: Connection, rounds: int, size: int) -> list[Fragment]:
    """The fragments of a conversation of `rounds` rounds and `size` bytes."""
    held = [made.encode_turn(here, message) for message in opening()]
    each = size // rounds
    for number in range(1, rounds + 1):
        response = decoded(written(here.format, round_of(number, each)), here)
        held.append(made.encode_turn(here, response.message))
        held += [made.encode_turn(here, message) for message in results(response, each // 10)]
    return held
