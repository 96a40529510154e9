"""What a provider's refusal means: one table of statuses, one of the providers' own words, and when to come back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum

from ..graph.errors import ModelFailed
from ..graph.jsontext import Json, is_list, is_object
from ..graph.ports import WireReply
from .wire import Unreadable, read

Scrub = Callable[[str], str]

PREVIEW_BYTES = 512
_SHORT_CHARS = 200


class Kind(StrEnum):
    """Why a call failed, and thereby whether the same request may succeed later."""

    RATE_LIMITED = "rate_limited"
    BILLING = "billing"
    TRANSIENT = "transient"
    AUTH = "auth"
    NOT_FOUND = "not_found"
    REJECTED = "rejected"
    CONTENT_FILTER = "content_filter"
    REDIRECT = "redirect"


_BY_STATUS = {
    400: Kind.REJECTED, 401: Kind.AUTH, 402: Kind.BILLING, 403: Kind.AUTH, 404: Kind.NOT_FOUND, 408: Kind.TRANSIENT,
    409: Kind.TRANSIENT, 425: Kind.TRANSIENT, 429: Kind.RATE_LIMITED, 501: Kind.REJECTED, 505: Kind.REJECTED,
}  # fmt: skip

_FIRM = {
    **dict.fromkeys(
        ("insufficient_quota", "billing_hard_limit_reached", "billing_error", "billing_not_active",
         "insufficient_credits", "credit_exhausted", "credits_exhausted"), Kind.BILLING),
    **dict.fromkeys(
        ("authentication_error", "permission_error", "invalid_api_key", "api_key_invalid", "permission_denied",
         "unauthenticated"), Kind.AUTH),
    **dict.fromkeys(
        ("content_filter", "content_policy_violation", "safety", "prohibited_content", "blocklist", "spii",
         "recitation"), Kind.CONTENT_FILTER),
    **dict.fromkeys(("context_length_exceeded", "invalid_prompt"), Kind.REJECTED),
}  # fmt: skip
"""Words that are believed whatever the status says."""

_VAGUE = {
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error", "resource_exhausted"), Kind.RATE_LIMITED),
    **dict.fromkeys(
        ("overloaded_error", "overloaded", "server_error", "api_error", "timeout_error", "unavailable", "internal",
         "deadline_exceeded", "slow_down", "websocket_connection_limit_reached"), Kind.TRANSIENT),
    **dict.fromkeys(("invalid_request_error", "invalid_argument"), Kind.REJECTED),
    "not_found_error": Kind.NOT_FOUND,
}  # fmt: skip
"""Words that decide where the status says little: in a 200, and in a 400."""

_RETRYABLE = frozenset({Kind.RATE_LIMITED, Kind.TRANSIENT})
_OVERRIDABLE = frozenset({Kind.RATE_LIMITED, Kind.TRANSIENT, Kind.REJECTED, Kind.NOT_FOUND})


def failure(reply: WireReply, *, now: float, scrub: Scrub) -> ModelFailed:
    """The error that a reply outside 200 to 299 is; `now` in seconds since the epoch, for Retry-After dates."""
    try:
        document: Json = read(reply.body).value
    except Unreadable as error:
        return _failed(reply, reply.status, None, _short_text(reply.body, str(error)), now=now, scrub=scrub)
    return _failed(reply, reply.status, document, None, now=now, scrub=scrub)


def failure_inside(reply: WireReply, document: Json, *, now: float, scrub: Scrub) -> ModelFailed:
    """The error that a reply of 200 to 299 carries in its body; a number in it, as code or status, counts as the status."""
    given = [_error_object(document).get("code"), document.get("status") if is_object(document) else None]
    numbers = [int(code.strip()[:4]) if isinstance(code, str) and code.strip().isdecimal() else code for code in given]
    status = next((code for code in numbers if isinstance(code, int) and 300 <= code <= 599), 200)
    return _failed(reply, status, document, None, now=now, scrub=scrub)


def unreadable(reply: WireReply, reason: str, *, scrub: Scrub) -> ModelFailed:
    """The error of a success whose body is not the JSON that was due: asking again may help."""
    details: dict[str, object] = {"status": reply.status, "bytes": len(reply.body)}
    if not reason.startswith("an HTML"):
        details["preview"] = preview(reply.body, scrub)
    message = f"the model's server answered with {reason}"
    return ModelFailed(message, code="model.upstream_invalid_response", retryable=True, details=details)


def malformed(what: str) -> ModelFailed:
    """The error of well-formed JSON that is no answer of this format: asking again does not help."""
    return ModelFailed(f"the model's server answered with {what}", code="model.upstream_invalid_response")


def quoted(failure: ModelFailed, reply: WireReply, *, scrub: Scrub) -> ModelFailed:
    """The failure, with the beginning of an answer that has no shape of its format: it may say in words what is wrong."""
    if failure.error_code == "model.upstream_invalid_response":
        told = {"status": reply.status, "bytes": len(reply.body), "preview": preview(reply.body, scrub)}
        failure.details = {**told, **failure.details}
    return failure


def filtered(reason: str) -> ModelFailed:
    details: dict[str, object] = {"kind": Kind.CONTENT_FILTER.value, "reason": reason, "userRetryable": True}
    return ModelFailed("the provider's content filter stopped the answer", details=details)


def provider_says(document: Json) -> tuple[str, str]:
    """The most exact of the provider's machine-readable words, and its message; blank where there is none."""
    return next(_words(document), ""), _message(document)


def preview(body: bytes, scrub: Scrub) -> str:
    """At most 512 bytes of a body, without secrets."""
    text = scrub(body[:65536].decode("utf-8", "replace")).encode("utf-8")
    return text[:PREVIEW_BYTES].decode("utf-8", "ignore")


def retry_after_ms(headers: Mapping[str, str], document: Json, *, now: float) -> int | None:
    """When the provider wants to be asked again: `retry-after-ms`, `retry-after`, or Gemini's RetryInfo."""
    exact = _positive(headers.get("retry-after-ms", ""))
    if exact is not None:
        return math.ceil(exact)
    header = headers.get("retry-after", "")
    seconds = _positive(header)
    if seconds is None:
        seconds = _seconds_until(header, now)
    if seconds is None:
        seconds = next((found for found in map(_retry_delay, _error_details(document)) if found is not None), None)
    return None if seconds is None else math.ceil(round(seconds * 1000, 6))


def _failed(
    reply: WireReply, status: int, document: Json, short: str | None, *, now: float, scrub: Scrub
) -> ModelFailed:
    words = list(_words(document))
    kind = _kind(status, words, document)
    retryable = kind in _RETRYABLE
    wish = reply.headers.get("x-should-retry", "").strip().lower()
    if wish in ("true", "false") and kind in _OVERRIDABLE and not _is_firm(words):
        retryable = wish == "true"
    details: dict[str, object] = {"status": reply.status, "kind": kind.value}
    if words:
        details["providerCode"] = scrub(words[0])[:_SHORT_CHARS]
    if kind is Kind.CONTENT_FILTER:
        details["userRetryable"] = True
    wait = retry_after_ms(reply.headers, document, now=now) if retryable else None
    if wait is not None:
        details["retryAfterMs"] = wait
    told = short if short is not None else _message(document)
    said = f"the model's server answered {'with an error' if reply.status == 200 else reply.status}"
    if told:
        said += f": {_cut(scrub(told))}"
    is_rate = kind is Kind.RATE_LIMITED or (kind is Kind.BILLING and status == 429)
    code = "model.provider_rate_limited" if is_rate else "model.request_failed"
    return ModelFailed(said, code=code, retryable=retryable, retry_after_ms=wait, details=details)


def _kind(status: int, words: list[str], document: Json) -> Kind:
    for word in words:
        if word.lower() in _FIRM:
            return _FIRM[word.lower()]
    if any("perday" in quota.lower() for quota in _quota_ids(document)):
        return Kind.BILLING
    if status in (200, 400):
        for word in words:
            if word.lower() in _VAGUE:
                return _VAGUE[word.lower()]
    if 300 <= status < 400:
        return Kind.REDIRECT
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Kind.TRANSIENT if status >= 500 else Kind.REJECTED


def _is_firm(words: list[str]) -> bool:
    return any(word.lower() in _FIRM for word in words)


def _error_object(document: Json) -> dict[str, Json]:
    """The object that holds message and code: `error`, or the top level itself (Cerebras)."""
    error = document.get("error") if is_object(document) else None
    if is_object(error):
        return error
    return document if is_object(document) else {}


def _error_details(document: Json) -> list[dict[str, Json]]:
    details = _error_object(document).get("details")
    return [detail for detail in details if is_object(detail)] if is_list(details) else []


def _words(document: Json) -> Iterator[str]:
    """The provider's machine-readable words, the most exact first."""
    error = _error_object(document)
    values = [error.get("code"), error.get("type"), error.get("status")]
    values += [detail.get("reason") for detail in _error_details(document)]
    yield from (value.strip() for value in values if isinstance(value, str) and value.strip() and value != "error")


def _message(document: Json) -> str:
    error = document.get("error") if is_object(document) else None
    top = document if is_object(document) else {}
    values = [error.get("message") if is_object(error) else error, top.get("message"), top.get("detail")]
    told = next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")
    return "an HTML page" if told.startswith("<") else told


def _quota_ids(document: Json) -> Iterator[str]:
    for detail in _error_details(document):
        violations = detail.get("violations")
        for violation in violations if is_list(violations) else []:
            quota = violation.get("quotaId") if is_object(violation) else None
            if isinstance(quota, str):
                yield quota


def _retry_delay(detail: dict[str, Json]) -> float | None:
    delay = detail.get("retryDelay")
    return _positive(delay[:-1]) if isinstance(delay, str) and delay.endswith("s") else None


def _positive(text: str) -> float | None:
    """A number from 0 up; None for anything else (`abc`, `-3`, `nan`, `inf`)."""
    if not re.fullmatch(r"\s*\d{1,12}(\.\d*)?\s*", text, re.ASCII):
        return None
    return float(text)


def _seconds_until(date: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(date.strip())
    except (ValueError, IndexError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)


def _short_text(body: bytes, reason: str) -> str:
    """What a body that is not JSON says in one line; pages are named, not quoted."""
    text = body.decode("utf-8", "replace").strip()
    if not text or text.startswith("<"):
        return f"{reason} ({len(body)} bytes)"
    return text.splitlines()[0][:_SHORT_CHARS]


def _cut(text: str) -> str:
    kept = text.encode("utf-8", "replace")[:PREVIEW_BYTES].decode("utf-8", "ignore")
    return kept if len(kept) == len(text) else f"{kept}…"
