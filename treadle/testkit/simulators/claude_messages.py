"""An Anthropic Messages provider on loopback: scripted, and as strict as the real one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from ...graph.jsontext import Json, dumps, is_object, loads
from ..replies import Call, Reply
from ..turns import Refusal, Turn, Usage
from .claude_history import History
from .claude_rules import check
from .http_server import Received, Sleep
from .provider import RequestRefused, ScriptedServer, Step, alias, arguments_of, seal, spelled, spelled_object

NAME = "claude_messages"
MODEL = "claude-scripted-1"

_STOP_REASONS = {
    "stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "filter": "refusal", "refusal": "refusal",
    "pause": "pause_turn",
}  # fmt: skip
_TYPES = {
    401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
    409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error",
    529: "overloaded_error",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClaudeRules:
    """How one kind of server differs: Anthropic by default."""

    alternating: bool = True
    """Whether two messages of one role in a row are refused, as Bedrock does; Anthropic itself joins them today."""


def claude_messages(
    steps: Iterable[Step],
    *,
    rules: ClaudeRules | None = None,
    api_key: str | None = None,
    sleep: Sleep = asyncio.sleep,
) -> ScriptedServer:
    """`POST {base_url}/messages`. A key must come in `x-api-key`; with `api_key`, others get a 401."""
    return ScriptedServer(_Claude(rules or ClaudeRules(), api_key), steps, sleep)


class _Claude:
    name = NAME
    base_path = "/v1"
    model = MODEL

    def __init__(self, rules: ClaudeRules, api_key: str | None) -> None:
        self._api_key = api_key
        self._history = History(alternating=rules.alternating)
        self._numbers = count(1)

    def check(self, request: Received) -> None:
        if request.path.partition("?")[0] != "/v1/messages" or request.method != "POST":
            raise RequestRefused("Not Found", status=404)
        self._check_headers(request)
        body = _body(request)
        check(body)
        self._history.check(request.body, body)

    def answer(self, request: Received, turn: Turn) -> bytes:
        number = next(self._numbers)
        blocks = list(_blocks(turn, number))
        self._history.record(blocks, paused=turn.end == "pause")
        reason = _STOP_REASONS[turn.end]
        head: dict[str, Json] = {
            "id": f"msg_{number:06}",
            "type": "message",
            "role": "assistant",
            "model": loads(request.body)["model"],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": _usage(turn.usage),
        }
        if reason == "refusal":
            head["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "The request is declined."}
        head |= turn.extras
        return dumps(head)[:-1] + b',"content":[' + b", ".join(blocks) + b"]}"

    def refusal(self, refusal: Refusal) -> Reply:
        number = f"req_{next(self._numbers):06}"
        kind = refusal.code or _TYPES.get(
            refusal.status, "api_error" if refusal.status >= 500 else "invalid_request_error"
        )
        error = {"type": kind, "message": refusal.message}
        document = {"type": "error", "error": error, "request_id": number}
        return Reply(dumps(document), refusal.status, {"request-id": number, **refusal.headers})

    def _check_headers(self, request: Received) -> None:
        key = request.headers.get("x-api-key", "").strip()
        if not key:
            raise RequestRefused("x-api-key header is required", status=401)
        if self._api_key not in (None, key):
            raise RequestRefused("invalid x-api-key", status=401)
        version = request.headers.get("anthropic-version", "")
        if not version:
            raise RequestRefused("anthropic-version: header is required")
        if version != "2023-06-01":
            raise RequestRefused(f'anthropic-version: "{version}" is not a valid version')
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RequestRefused("content-type: must be application/json")


def _body(request: Received) -> dict[str, Json]:
    try:
        body = request.json()
    except ValueError as fault:
        raise RequestRefused(f"The request body is not valid JSON: {fault}") from fault
    if not is_object(body):
        raise RequestRefused("Input should be a valid dictionary")
    return body


def _blocks(turn: Turn, number: int) -> Iterator[bytes]:
    if turn.reasoning is not None:
        signature = seal("thinking", number, turn.reasoning)
        yield spelled({"type": "thinking", "thinking": turn.reasoning, "signature": signature})
    yield from turn.blocks
    if turn.text:
        yield spelled({"type": "text", "text": turn.text})
    for place, made in enumerate(turn.calls, 1):
        yield _tool_use(made, f"toolu_{number:06}_{place}")


def _tool_use(made: Call, call_id: str) -> bytes:
    head = {"type": "tool_use", "id": call_id if made.id is None else made.id, "name": alias(made.name), **made.extra}
    return spelled_object(head, "input", arguments_of(made))


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output + usage.thinking,
    }
