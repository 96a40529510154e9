"""Answers for a scripted model, in the chat-completions wire format: plain calls make them, and they are plain bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ..graph.jsontext import Json, dumps

Drop = Literal["never", "before_answer", "inside_body"]

MODEL = "scripted-writer"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answers: `body` goes out byte for byte, after `delay` seconds; `drop` breaks the connection off."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay: float = 0.0
    drop: Drop = "never"

    def after(self, seconds: float) -> Reply:
        return replace(self, delay=seconds)


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an answer; `arguments` is a value to be encoded, or text that goes out as it is."""

    name: str
    arguments: Json
    id: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further keys of the call, such as `extra_content`."""


def call(name: str, /, **arguments: Json) -> Call:
    """A call by the tool's own name or its alias; its id is made from its content and place."""
    return Call(name, arguments)


def calls(*made: Call, text: str | None = None, finish_reason: str = "tool_calls", **message: Json) -> Reply:
    """An answer with tool calls; further keywords are further keys of the message (`reasoning_content="…"`)."""
    held = [call_document(one, place) for place, one in enumerate(made)]
    return answer({"role": "assistant", "content": text, "tool_calls": held, **message}, finish_reason)


def text(said: str, finish_reason: str = "stop", **message: Json) -> Reply:
    """An answer in plain text, without a tool call."""
    return answer({"role": "assistant", "content": said, **message}, finish_reason)


def answer(message: dict[str, Json], finish_reason: str) -> Reply:
    """A whole chat completion around one message."""
    stamp = hashlib.sha256(dumps(message)).hexdigest()[:12]
    document = {
        "id": f"chatcmpl-{stamp}",
        "object": "chat.completion",
        "created": 1700000000,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    }
    return Reply(dumps(document))


def error(
    status: int,
    message: str,
    *,
    type: str = "invalid_request_error",
    code: str | None = None,
    param: str | None = None,
    retry_after: str | None = None,
) -> Reply:
    """A refusal in OpenAI's shape; `retry_after` is the header's text (`"2"`, an HTTP date)."""
    document = {"error": {"message": message, "type": type, "param": param, "code": code}}
    return Reply(dumps(document), status, {} if retry_after is None else {"retry-after": retry_after})


def call_document(made: Call, place: int) -> Json:
    """One call as a message holds it."""
    given = made.arguments if isinstance(made.arguments, str) else dumps(made.arguments).decode()
    alias = made.name.replace(".", "_")
    stamp = hashlib.sha256(f"{place}:{alias}:{given}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    held: dict[str, Json] = {"id": f"call_{stamp}" if made.id is None else made.id, "type": "function"}
    return held | {"function": {"name": alias, "arguments": given}} | dict(made.extra)
