"""A format-neutral script in the words of the Responses simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..replies import Reply, error
from ..turns import Refusal, Turn
from .responses_script import Answer, Broken, Done, Item, Reasoning, Say

_REASONS = {"length": "max_output_tokens", "filter": "content_filter"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_BROKEN_AT = {"drop": 0, "break_off": 2}
_PAGE = b"<!DOCTYPE html>\n<html><body><h1>Bad gateway</h1></body></html>\n"
_SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "truncate": lambda body: body[: len(body) // 2],
    "html": lambda _: _PAGE,
    "empty": lambda _: b"",
}


def scripted(said: Turn | Refusal) -> Done:
    """What this provider does for it; raises ValueError for a pause, which it has no word for."""
    made = _answer(said) if isinstance(said, Turn) else _reply(said)
    return Broken(made, _BROKEN_AT[said.fault]) if said.fault in _BROKEN_AT else made


def spoilt(fault: str | None, body: bytes) -> bytes:
    """A body as it arrives after the fault; breaking off leaves it as it is."""
    return _SPOILT[fault](body) if fault in _SPOILT else body


def _answer(turn: Turn) -> Answer:
    return Answer(
        tuple(_items(turn)),
        "incomplete" if turn.end in _REASONS else "completed",
        _REASONS.get(turn.end),
        turn.delay,
        usage=turn.usage,
        extras=turn.extras,
        fault=turn.fault,
    )


def _items(turn: Turn) -> Iterator[Item]:
    if turn.end == "pause":
        raise ValueError("a Responses provider does not pause; use another finish")
    if turn.reasoning is not None:
        yield Reasoning(turn.reasoning)
    yield from turn.blocks
    if turn.text:
        yield Say(turn.text, "refusal" if turn.end == "refusal" else "output_text")
    yield from turn.calls


def _reply(refusal: Refusal) -> Reply:
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    code = refusal.code or _CODES.get(refusal.status) or ("server_error" if refusal.status >= 500 else None)
    made = error(refusal.status, refusal.message, type=kind, code=code)
    return replace(made, body=spoilt(refusal.fault, made.body), headers=dict(refusal.headers), delay=refusal.delay)
