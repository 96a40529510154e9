"""What the tests of Claude's format share: a connection, answers as its servers write them, requests taken apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from treadle.gateway.connections.connection import Connection
from treadle.gateway.formats import claude_messages as claude
from treadle.gateway.outgoing import Fragment, Outgoing
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    Message,
    ModelResponse,
    NativePart,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolResultPart,
    ToolSpec,
)

from .words import TOOLS, connection

HERE = replace(connection(model="claude-x"), format="claude_messages")
OFFICIAL = replace(HERE, source="claude")

THINKING = '{"type":"thinking", "thinking":"Read both.","signature":"EqQB"}'
REDACTED = '{"type":"redacted_thinking","data":"Emw="}'
SAID = '{"type":"text","text":"Reading."}'


def use(call_id: str, arguments: str = '{"path":"a.md"}', name: str = "workspace_read_file") -> str:
    return f'{{"type":"tool_use","id":{json.dumps(call_id)},"name":"{name}","input":{arguments}}}'


def content(*blocks: str) -> str:
    return "[" + ", ".join(blocks) + "]"


def answer(blocks: str, stop: str = '"end_turn"', more: str = "") -> bytes:
    usage = '"usage":{"input_tokens":5,"output_tokens":7}'
    opened = '{"id":"msg_1","type":"message","role":"assistant","model":"claude-x"'
    return f'{opened}, "content" : {blocks} ,"stop_reason":{stop},{usage}{more}}}'.encode()


def decoded(data: bytes, at: Connection = HERE) -> ModelResponse:
    return claude.decode(claude.read(data), at, TOOLS, at.origin)


def native(blocks: str, *held: str, at: Connection = HERE) -> Message:
    """A turn of the model's own, with the calls that stand in it."""
    parts = [ToolCallPart(call(call_id)) for call_id in held]
    return Message(Role.ASSISTANT, (NativePart("claude", blocks.encode(), at.origin), *parts))


def call(call_id: str, arguments: Json = None, *, invalid: bool = False) -> ToolCall:
    held: Json = {"path": "a.md"} if arguments is None else arguments
    return ToolCall(CallId(call_id), "workspace.read_file", held, "workspace_read_file", invalid)


def said(role: Role, text: str, *held: ToolCall, name: str | None = None) -> Message:
    return Message(role, (TextPart(text), *map(ToolCallPart, held)), name)


def user(text: str, name: str | None = None) -> Message:
    return said(Role.USER, text, name=name)


def system(text: str) -> Message:
    return said(Role.SYSTEM, text)


def result(call_id: str, text: str = "done", *, is_error: bool = False) -> Message:
    held = ToolResult(CallId(call_id), "workspace.read_file", text, is_error=is_error)
    return Message(Role.TOOL, (ToolResultPart(held),))


def fragments(messages: Sequence[Message], at: Connection = HERE) -> list[Fragment]:
    return [claude.encode_message(message, at) for message in messages]


def written(
    messages: Sequence[Message],
    at: Connection = HERE,
    *,
    tools: Sequence[ToolSpec] = (),
    choice: Json = None,
    cursor: int = 0,
    **settings: Json,
) -> bytes:
    asked = Outgoing(at, settings, fragments(messages, at), tools, tools, choice, cursor=cursor)
    return b"".join(claude.encode(asked))


def body(
    messages: Sequence[Message],
    at: Connection = HERE,
    *,
    tools: Sequence[ToolSpec] = (),
    choice: Json = None,
    cursor: int = 0,
    **settings: Json,
) -> dict[str, Json]:
    value: dict[str, Json] = json.loads(written(messages, at, tools=tools, choice=choice, cursor=cursor, **settings))
    return value


def text(said: str) -> Json:
    return {"type": "text", "text": said}
