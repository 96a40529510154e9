"""What the tests of Gemini share: connections, answers as it gives them, and requests as it would get them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from treadle.gateway.connections.connection import Connection
from treadle.gateway.formats import gemini
from treadle.gateway.outgoing import Fragment, Outgoing
from treadle.gateway.wire import read
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    Message,
    ModelResponse,
    Role,
    TextPart,
    ToolCall,
    ToolResult,
    ToolResultPart,
    ToolSpec,
)

from .words import TOOLS, connection

GEMINI_3 = "gemini-3-pro-preview"


def studio(model: str = GEMINI_3, base: str = "https://generativelanguage.googleapis.com") -> Connection:
    return replace(connection(model=model, source="makersuite"), format="gemini", base_url=base)


def vertex(model: str = "gemini-2.5-flash") -> Connection:
    return replace(studio(model, "https://aiplatform.googleapis.com"), source="vertexai")


HERE = studio()


def answer(parts: str, finish: str | None = "STOP") -> str:
    """An answer around these parts, spelled unlike any printer does."""
    ended = "" if finish is None else f'"finishReason" : "{finish}",'
    content = f'{{ "parts": [{parts}], "role":"model" }}'
    return f'{{"candidates":[ {{{ended} "content" : {content} ,"index":0}}],"responseId":"r1","modelVersion":"g"}}'


def called(name: str, call_id: str | None = None, args: str = "{}", signature: str | None = None) -> str:
    """A part that holds a call."""
    own = "" if call_id is None else f'"id":{json.dumps(call_id)},'
    signed = "" if signature is None else f',"thoughtSignature":"{signature}"'
    return f'{{"functionCall":{{{own}"name":"{name}","args":{args}}}{signed}}}'


def decoded(body: str, at: Connection = HERE, tools: Sequence[ToolSpec] = TOOLS) -> ModelResponse:
    return gemini.decode(read(body.encode()), at, tools, at.origin)


def fragments(messages: Sequence[Message], at: Connection = HERE) -> list[Fragment]:
    return [gemini.encode_message(message, at) for message in messages]


def request(
    messages: Sequence[Message], at: Connection = HERE, tools: Sequence[ToolSpec] = (), **payload: Json
) -> bytes:
    choice = payload.pop("tool_choice", None)
    return b"".join(gemini.encode(Outgoing(at, payload, fragments(messages, at), tools, tool_choice=choice)))


def body(
    messages: Sequence[Message], at: Connection = HERE, tools: Sequence[ToolSpec] = (), **payload: Json
) -> dict[str, Json]:
    value: dict[str, Json] = json.loads(request(messages, at, tools, **payload))
    return value


def contents(messages: Sequence[Message], at: Connection = HERE) -> list[Json]:
    held: list[Json] = body(messages, at)["contents"]
    return held


def said(text: str, role: Role = Role.USER, name: str | None = None) -> Message:
    return Message(role, (TextPart(text),), name)


def result(call_id: str, name: str = "workspace.read_file", content: str = "done") -> Message:
    return Message(Role.TOOL, (ToolResultPart(ToolResult(CallId(call_id), name, content)),))


def results(calls: Sequence[ToolCall]) -> list[Message]:
    return [result(call.id, call.name) for call in calls]
