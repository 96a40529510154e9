"""How one host differs from its kind: what is known of it, and what the payload's `connection_dialect` says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args
from urllib.parse import urlsplit

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_list, is_object
from .connection import Dialect, EchoReasoning, EmptyContent, PromptCacheTtl, Switches, WebSocketUse

KEY = "connection_dialect"

_CHOICES: dict[str, tuple[object, ...]] = {
    "emptyContent": get_args(EmptyContent),
    "echoReasoning": get_args(EchoReasoning),
    "positionalToolCallIds": (True, False),
    "promptCacheTtl": get_args(PromptCacheTtl),
    "webSocket": get_args(WebSocketUse),
    "stream": (True, False),
    "supportsTools": (True, False),
}
"""The words that each key takes; the one key that takes others is `anthropicBeta`."""

_DIALECT_FIELDS = {"emptyContent": "empty_content", "echoReasoning": "echo_reasoning"}
_SWITCH_FIELDS = {
    "positionalToolCallIds": "positional_tool_call_ids",
    "promptCacheTtl": "prompt_cache_ttl",
    "webSocket": "web_socket",
    "stream": "stream",
    "supportsTools": "supports_tools",
}

_DIALECTS = {
    "openai": Dialect(developer_role=True),
    "deepseek": Dialect(echo_reasoning="all", drops_empty_required=True),
    "moonshot": Dialect(echo_reasoning="all"),
    "groq": Dialect(echo_reasoning="none"),
}

_KINDS = {
    "api.groq.com": "groq", "api.cerebras.ai": "groq", "api.deepseek.com": "deepseek",
    "api.moonshot.ai": "moonshot", "api.moonshot.cn": "moonshot",
}  # fmt: skip

_BETA = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_dialect(given: Json, what: str = KEY) -> dict[str, Json]:
    """The settings, each with a word it takes; null is none. Raises InvalidInput that names `what` and the key."""
    if given is None:
        return {}
    if not is_object(given):
        raise InvalidInput(f"{what} must be an object with any of {_known()}")
    for key, value in given.items():
        if key == "anthropicBeta":
            if not is_list(value) or not all(isinstance(name, str) and _BETA.fullmatch(name) for name in value):
                raise InvalidInput(
                    f'{what}.anthropicBeta must be a list of beta names, such as ["context-1m-2025-08-07"]'
                )
        elif key not in _CHOICES:
            raise InvalidInput(f"{what} has no key {key!r}; it takes {_known()}")
        elif not any(value is word or (isinstance(value, str) and value == word) for word in _CHOICES[key]):
            raise InvalidInput(f"{what}.{key} must be one of {', '.join(map(_shown, _CHOICES[key]))}")
    return given


def dialect_of(source: str, address: str, given: Json) -> Dialect:
    """The host's dialect, where it is known, under what `connection_dialect` says."""
    host = (urlsplit(address).hostname or "").rstrip(".")
    known = _DIALECTS.get(_KINDS.get(host, source), Dialect())
    return replace(known, **_named(check_dialect(given), _DIALECT_FIELDS))


def switches_of(given: Json) -> Switches:
    """The switches that `connection_dialect` turns; the others stand as they do by default."""
    settings = check_dialect(given)
    return Switches(anthropic_beta=tuple(settings.get("anthropicBeta", ())), **_named(settings, _SWITCH_FIELDS))


def _named(settings: dict[str, Json], fields: dict[str, str]) -> dict[str, Json]:
    return {field: settings[key] for key, field in fields.items() if key in settings}


def _known() -> str:
    return ", ".join([*_CHOICES, "anthropicBeta"])


def _shown(word: object) -> str:
    return str(word).lower() if isinstance(word, bool) else str(word)
