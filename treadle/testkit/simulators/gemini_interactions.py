"""A Gemini Interactions provider on loopback, in the schema of steps: scripted, and as strict as the real one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import count

from ...graph.jsontext import Json, dumps, is_object, loads
from ..replies import Call, Reply
from ..turns import Finish, Refusal, Turn, Usage
from .http_server import Received, Sleep
from .interactions_history import History
from .interactions_rules import check
from .provider import RequestRefused, ScriptedServer, Step, alias, arguments_of, seal, spelled, spelled_object

NAME = "gemini_interactions"
MODEL = "gemini-3-scripted"
REVISION = "2026-05-20"

_STATUSES: dict[Finish, str] = {
    "stop": "completed", "tool_calls": "requires_action", "length": "incomplete", "filter": "failed",
    "refusal": "failed",
}  # fmt: skip
_CODES = {
    400: "invalid_request", 401: "authentication", 402: "payment_required", 403: "permission_denied",
    404: "not_found", 416: "out_of_range", 429: "rate_limit_exceeded",
}  # fmt: skip


def gemini_interactions(
    steps: Iterable[Step], *, api_key: str | None = None, sleep: Sleep = asyncio.sleep
) -> ScriptedServer:
    """`POST {base_url}/v1beta/interactions`; nothing is stored. A key must come in `x-goog-api-key`, never in the URL."""
    return ScriptedServer(_Interactions(api_key), steps, sleep)


class _Interactions:
    name = NAME
    base_path = ""
    model = MODEL

    def __init__(self, api_key: str | None) -> None:
        self._api_key = api_key
        self._history = History()
        self._numbers = count(1)

    def check(self, request: Received) -> None:
        path, _, query = request.path.partition("?")
        if path not in ("/v1beta/interactions", "/v1/interactions") or request.method != "POST":
            raise RequestRefused("The requested resource was not found.", status=404)
        if query:
            raise RequestRefused("This server takes nothing in the query, least of all a key: send x-goog-api-key.")
        key = request.headers.get("x-goog-api-key", "").strip()
        if not key:
            raise RequestRefused("The API key is missing: send it in x-goog-api-key.", status=401)
        if self._api_key not in (None, key):
            raise RequestRefused("API key not valid. Please pass a valid API key.", status=401)
        if request.headers.get("api-revision", REVISION) != REVISION:
            raise _legacy()
        body = _body(request)
        check(body)
        self._history.check(request.body, body)

    def answer(self, request: Received, turn: Turn) -> bytes:
        status = _STATUSES.get(turn.end)
        if status is None:
            raise ValueError(f"an interaction has no status for {turn.end!r}")
        number = next(self._numbers)
        steps = list(_steps(turn, number))
        self._history.record(steps)
        head: dict[str, Json] = {
            "id": f"interaction-{number:06}",
            "object": "interaction",
            "status": status,
            "model": loads(request.body)["model"],
            "role": "model",
            "created": "2026-06-01T00:00:00Z",
            "updated": "2026-06-01T00:00:00Z",
            "usage": _usage(turn.usage),
        }
        if status == "failed":
            head["errors"] = [{"code": "content_filter", "message": "The answer was blocked."}]
        return dumps(head | dict(turn.extras))[:-1] + b',"steps":[' + b", ".join(steps) + b"]}"

    def refusal(self, refusal: Refusal) -> Reply:
        fallback = "internal" if refusal.status >= 500 else "invalid_request"
        code = refusal.code or ("unavailable" if refusal.status == 503 else _CODES.get(refusal.status, fallback))
        return Reply(dumps({"error": {"message": refusal.message, "code": code}}), refusal.status, refusal.headers)


def _legacy() -> RequestRefused:
    return RequestRefused("The legacy Interactions API schema is no longer supported: use the new 'steps' schema.")


def _body(request: Received) -> dict[str, Json]:
    try:
        body = request.json()
    except ValueError as fault:
        raise RequestRefused(f"The request body is not valid JSON: {fault}") from fault
    if not is_object(body):
        raise RequestRefused("The request body must be a JSON object.")
    return body


def _steps(turn: Turn, number: int) -> Iterator[bytes]:
    if turn.reasoning is not None:
        summary = [{"type": "text", "text": turn.reasoning}] if turn.reasoning else []
        yield spelled({"type": "thought", "signature": seal("thought", number, turn.reasoning), "summary": summary})
    yield from turn.blocks
    if turn.text:
        yield spelled({"type": "model_output", "content": [{"type": "text", "text": turn.text}]})
    for place, made in enumerate(turn.calls, 1):
        yield _function_call(made, f"call-{number:06}-{place}")


def _function_call(made: Call, call_id: str) -> bytes:
    given = call_id if made.id is None else made.id
    head = {"type": "function_call", "id": given, "name": alias(made.name), **made.extra}
    return spelled_object(head, "arguments", arguments_of(made))


def _usage(usage: Usage) -> Json:
    return {
        "total_input_tokens": usage.input,
        "total_output_tokens": usage.output,
        "total_thought_tokens": usage.thinking,
        "total_cached_tokens": usage.cached,
        "total_tool_use_tokens": 0,
        "total_tokens": usage.input + usage.output + usage.thinking,
    }
