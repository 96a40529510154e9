"""Responses bodies made and read in one word, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from treadle.gateway.connections.connection import Connection
from treadle.gateway.formats import openai_responses as responses
from treadle.gateway.outgoing import Fragment, Outgoing
from treadle.graph.errors import ModelFailed
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    Message,
    ModelResponse,
    Part,
    Role,
    TextPart,
    ToolResult,
    ToolResultPart,
)

from ..responses_side import at
from ..words import TOOLS

HERE = at()
SYSTEM = Message(Role.SYSTEM, (TextPart("You write."),))
USER = Message(Role.USER, (TextPart("Go."),))


def decoded(body: str | bytes, here: Connection = HERE) -> ModelResponse:
    data = body.encode() if isinstance(body, str) else body
    return responses.decode(responses.read(data), here, TOOLS, here.origin)


def refused(body: str) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        decoded(body)
    return failed.value


def sent(message: Message, here: Connection = HERE) -> list[dict[str, Json]]:
    items = b",".join(responses.encode_message(message, here).items)
    value: list[dict[str, Json]] = json.loads(b"[" + items + b"]")
    return value


def result(call_id: str, content: str = "done", name: str = "workspace.list_files") -> Message:
    return Message(Role.TOOL, (ToolResultPart(ToolResult(CallId(call_id), name, content)),))


def raw_body(
    messages: Sequence[Message], *, previous: str | None = None, cursor: int = 0, choice: Json = None, **settings: Json
) -> bytes:
    fragments: list[Fragment] = [responses.encode_message(message, HERE) for message in messages]
    outgoing = Outgoing(HERE, settings, fragments, TOOLS, TOOLS, choice, "s", cursor, previous=previous)
    return b"".join(responses.encode(outgoing))


def body(
    messages: Sequence[Message], *, previous: str | None = None, cursor: int = 0, choice: Json = None, **settings: Json
) -> dict[str, Json]:
    value: dict[str, Json] = json.loads(raw_body(messages, previous=previous, cursor=cursor, choice=choice, **settings))
    return value


def parts(answer: ModelResponse) -> list[type[Part]]:
    return [type(part) for part in answer.message.parts]
