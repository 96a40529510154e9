"""A format-neutral script in the chat-completions wire format."""

from __future__ import annotations

from dataclasses import replace

from ...graph.jsontext import Json, dumps, loads
from ..replies import Call, Reply, answer, call_document, error
from ..turns import Finish, Refusal, Turn, Usage
from .provider import sent

_FINISH_REASONS: dict[Finish, str] = {
    "stop": "stop", "tool_calls": "tool_calls", "length": "length", "filter": "content_filter", "refusal": "stop",
}  # fmt: skip
_TYPES = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error",
}  # fmt: skip
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


def turn_reply(turn: Turn, number: int) -> Reply:
    """The turn as a chat completion; reasoning is `reasoning_content`. Raises ValueError for what can't be said so."""
    reason = _FINISH_REASONS.get(turn.end)
    if reason is None or turn.blocks:
        raise ValueError("chat completions hold no blocks of a provider's own, and know no pause")
    message: dict[str, Json] = {"role": "assistant", "content": turn.text or None}
    if turn.end == "refusal":
        message |= {"content": None, "refusal": turn.text}
    if turn.reasoning is not None:
        message["reasoning_content"] = turn.reasoning
    if turn.calls:
        message["tool_calls"] = [_numbered(made, number, place) for place, made in enumerate(turn.calls, 1)]
    document = loads(answer(message, reason).body)
    document |= {"id": f"chatcmpl-{number:06}", "usage": _usage(turn.usage), **turn.extras}
    return sent(Reply(dumps(document)), turn.delay, turn.fault)


def refusal_reply(refusal: Refusal) -> Reply:
    """The refusal in OpenAI's shape."""
    kind = _TYPES.get(refusal.status, "server_error" if refusal.status >= 500 else "invalid_request_error")
    made = error(refusal.status, refusal.message, type=kind, code=refusal.code or _CODES.get(refusal.status))
    return sent(replace(made, headers=refusal.headers), refusal.delay, refusal.fault)


def _numbered(made: Call, number: int, place: int) -> Json:
    return call_document(replace(made, id=f"call_{number:06}_{place}" if made.id is None else made.id), place)


def _usage(usage: Usage) -> Json:
    output = usage.output + usage.thinking
    return {
        "prompt_tokens": usage.input,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": output,
        "completion_tokens_details": {"reasoning_tokens": usage.thinking},
        "total_tokens": usage.input + output,
    }
