"""A Gemini generateContent provider on loopback: scripted, and as strict as the real one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from urllib.parse import parse_qs, unquote

from ...graph.jsontext import Json, dumps, is_object
from ..replies import Call, Reply
from ..turns import Finish, Refusal, Turn, Usage
from .gemini_history import History
from .gemini_rules import check
from .http_server import Received, Sleep
from .provider import RequestRefused, ScriptedServer, Step, alias, arguments_of, seal, spelled, spelled_object

NAME = "gemini"
MODEL = "gemini-3-scripted"

_PATH = re.compile(
    r"/v1(?:beta)?(?:/projects/[^/]+/locations/[^/]+)?(?:/publishers/google)?/models/([^/:]+):generateContent"
)
_GEMINI_3 = re.compile(r"gemini-(?:[a-z]+-)*[3-9](?!\d)")
_FINISH_REASONS: dict[Finish, str] = {
    "stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY", "refusal": "PROHIBITED_CONTENT",
}  # fmt: skip
_STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
    429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}  # fmt: skip
_BAD_KEY = "API key not valid. Please pass a valid API key."
_FULL = "type.googleapis.com/google.rpc."


@dataclass(frozen=True, slots=True)
class GeminiRules:
    """How one kind of server differs: Google AI Studio by default."""

    call_ids: bool = True
    """Whether calls have ids, which their results must repeat. Vertex and older models know none, and refuse them."""


def gemini(
    steps: Iterable[Step],
    *,
    rules: GeminiRules | None = None,
    api_key: str | None = None,
    sleep: Sleep = asyncio.sleep,
) -> ScriptedServer:
    """`POST {base_url}/v1beta/models/{model}:generateContent`. A key must come in `x-goog-api-key`, never in the URL."""
    return ScriptedServer(_Gemini(rules or GeminiRules(), api_key), steps, sleep)


class _Gemini:
    name = NAME
    base_path = ""
    model = MODEL

    def __init__(self, rules: GeminiRules, api_key: str | None) -> None:
        self._rules = rules
        self._api_key = api_key
        self._history = History(call_ids=rules.call_ids)
        self._numbers = count(1)

    def check(self, request: Received) -> None:
        model = _model(request)
        check_key(request, self._api_key)
        body = _body(request)
        check(body, model, call_ids=self._rules.call_ids)
        self._history.check(request.body, body, signed=_signs(model))

    def answer(self, request: Received, turn: Turn) -> bytes:
        reason = _FINISH_REASONS.get(turn.end)
        if reason is None:
            raise ValueError(f"Gemini has no finishReason for {turn.end!r}")
        number = next(self._numbers)
        model = _model(request)
        parts = list(self._parts(turn, number, signs=_signs(model) or turn.reasoning is not None))
        content = b'{"role": "model", "parts": [' + b", ".join(parts) + b"]}"
        self._history.record(content)
        held = b'"content":' + content + b"," if parts else b""
        candidate = b'{"index":0,' + held + b'"finishReason":"' + reason.encode() + b'"}'
        head = {"responseId": f"response-{number:06}", "modelVersion": model, "usageMetadata": _usage(turn.usage)}
        made = dumps(head | dict(turn.extras))
        return made if "candidates" in turn.extras else made[:-1] + b',"candidates":[' + candidate + b"]}"

    def refusal(self, refusal: Refusal) -> Reply:
        status = refusal.code or _STATUSES.get(refusal.status, "UNKNOWN")
        error = {"code": refusal.status, "message": refusal.message, "status": status}
        details = list(_details(refusal))
        return Reply(
            dumps({"error": error | ({"details": details} if details else {})}), refusal.status, refusal.headers
        )

    def _parts(self, turn: Turn, number: int, *, signs: bool) -> Iterator[bytes]:
        if turn.reasoning:
            yield spelled({"text": turn.reasoning, "thought": True})
        yield from turn.blocks
        if turn.text:
            yield spelled({"text": turn.text})
        signature = {"thoughtSignature": seal("part", number, turn.reasoning)} if signs else {}
        for place, made in enumerate(turn.calls, 1):
            call_id = (f"call-{number:06}-{place}" if made.id is None else made.id) if self._rules.call_ids else None
            yield _function_call(made, call_id, dict(made.extra) | (signature if place == 1 else {}))
        if signature and turn.text and not turn.calls:
            yield spelled({"text": "", **signature})


def check_key(request: Received, api_key: str | None) -> None:
    """Raises RequestRefused for a key in the URL, and for one that is missing or wrong."""
    if "key" in parse_qs(request.path.partition("?")[2], keep_blank_values=True):
        raise RequestRefused("This server takes no key in the URL, where logs would show it: send x-goog-api-key.")
    key = request.headers.get("x-goog-api-key", "").strip()
    if not key:
        raise RequestRefused(
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
            "other form of API consumer identity to call this API.",
            status=403,
        )
    if api_key not in (None, key):
        raise RequestRefused(_BAD_KEY)


def _model(request: Received) -> str:
    path = unquote(request.path.partition("?")[0])
    found = _PATH.fullmatch(path)
    if found is None or request.method != "POST":
        raise RequestRefused(f"The requested URL {path} was not found on this server.", status=404)
    if not found[1].startswith("gemini-"):
        raise RequestRefused(
            f"models/{found[1]} is not found for API version v1beta, or is not supported for generateContent. Call "
            "ListModels to see the list of available models and their supported methods.",
            status=404,
        )
    return found[1]


def _signs(model: str) -> bool:
    """Whether the model demands signatures: those of the third generation and later."""
    return _GEMINI_3.match(model) is not None


def _body(request: Received) -> dict[str, Json]:
    try:
        body = request.json()
    except ValueError as fault:
        raise RequestRefused(f"Invalid JSON payload received. {fault}") from fault
    if not is_object(body):
        raise RequestRefused("Invalid JSON payload received. Root element must be a message.")
    return body


def _function_call(made: Call, call_id: str | None, beside: dict[str, Json]) -> bytes:
    head = {"name": alias(made.name)} | ({} if call_id is None else {"id": call_id})
    call = b'{"functionCall": ' + spelled_object(head, "args", arguments_of(made))
    return call + (b", " + spelled(beside)[1:] if beside else b"}")


def _usage(usage: Usage) -> Json:
    counts = {"promptTokenCount": usage.input, "candidatesTokenCount": usage.output}
    counts |= {"thoughtsTokenCount": usage.thinking} if usage.thinking else {}
    counts |= {"cachedContentTokenCount": usage.cached} if usage.cached else {}
    return {**counts, "totalTokenCount": usage.input + usage.output + usage.thinking}


def _details(refusal: Refusal) -> Iterator[Json]:
    if refusal.message == _BAD_KEY:
        yield {"@type": f"{_FULL}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
    wait = next((value for name, value in refusal.headers.items() if name.lower() == "retry-after"), "")
    if wait.isdecimal():
        yield {"@type": f"{_FULL}RetryInfo", "retryDelay": f"{wait}s"}
