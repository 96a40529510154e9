"""Which source a chat payload names, which format that speaks, and at which address it answers."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json
from .connection import SOCKET_SCHEMES, WEB_SCHEMES, base_url
from .fields import text
from .vertex import vertex_settings

OPENAI_COMPATIBLE = "openai_compatible"
RESPONSES = "openai_responses"

BEHIND_PROXY = frozenset({"openai", "claude", "makersuite", "vertexai", "deepseek", "moonshot", "zai"})
"""The sources that a reverse proxy may stand before."""

_ALIASES = {
    "": "openai", "gemini": "makersuite", "google": "makersuite", "vertex-ai": "vertexai", "vertex ai": "vertexai",
    "open-router": "openrouter", "moonshot ai": "moonshot", "z.ai": "zai", "glm": "zai", "bedrock": "aws_bedrock",
}  # fmt: skip

_FORMATS = {
    "claude": "claude_messages", "makersuite": "gemini", "vertexai": "gemini",
    **dict.fromkeys(
        ("openai", "openrouter", "deepseek", "groq", "moonshot", "cohere", "nanogpt", "chutes", "siliconflow",
         "workers_ai", "zai", "minimax", "aws_bedrock"), OPENAI_COMPATIBLE),
}  # fmt: skip

SOURCES = frozenset(_FORMATS) | {"custom"}
"""Every source by its canonical name."""

_CUSTOM_FORMATS = {
    "": OPENAI_COMPATIBLE, "openai_compat": OPENAI_COMPATIBLE, OPENAI_COMPATIBLE: OPENAI_COMPATIBLE,
    RESPONSES: RESPONSES, "claude_messages": "claude_messages", "gemini_interactions": "gemini_interactions",
}  # fmt: skip

_BASES = {
    "openai": "https://api.openai.com/v1",
    "claude": "https://api.anthropic.com/v1",
    "makersuite": "https://generativelanguage.googleapis.com",
    "openrouter": "https://openrouter.ai/api/v1",
    "deepseek": "https://api.deepseek.com/beta",
    "moonshot": "https://api.moonshot.ai/v1",
    "groq": "https://api.groq.com/openai/v1",
    "cohere": "https://api.cohere.ai/compatibility/v1",
    "nanogpt": "https://nano-gpt.com/api/v1",
    "chutes": "https://llm.chutes.ai/v1",
    "siliconflow": "https://api.siliconflow.com/v1",
    "zai": "https://api.z.ai/api/paas/v4",
    "minimax": "https://api.minimax.io/v1",
}


class Address(NamedTuple):
    base_url: str
    proxied: bool
    """Whether it is the user's reverse proxy."""
    socket: bool = False
    """Whether it was written as a WebSocket address; `base_url` has the scheme of plain requests all the same."""


def source_of(payload: dict[str, Json]) -> str:
    """The canonical source key; raises InvalidInput `agent.model_request_invalid_source`."""
    given = text(payload, "chat_completion_source")
    source = canonical_source(given)
    if source is None:
        raise InvalidInput(f"chat_completion_source {given!r} is not known", code="agent.model_request_invalid_source")
    return source


def canonical_source(name: str) -> str | None:
    """The source that goes by this name or alias; None where none does."""
    lowered = name.strip().lower()
    source = _ALIASES.get(lowered, lowered)
    return source if source in SOURCES else None


def format_of_source(source: str, payload: dict[str, Json]) -> str:
    """The provider format: of a custom source by its name; openai speaks Responses where the payload says so."""
    given = text(payload, "custom_api_format")
    if source == "openai" and given:
        if given.lower() != RESPONSES:
            raise InvalidInput(
                f"source openai takes no custom_api_format but {RESPONSES}; use source custom for others"
            )
        return RESPONSES
    if source != "custom":
        return _FORMATS[source]
    if not is_custom_format(given):
        raise InvalidInput(f"custom_api_format {given!r} is not known")
    return _CUSTOM_FORMATS[given.lower()]


def is_custom_format(name: str) -> bool:
    return name.strip().lower() in _CUSTOM_FORMATS


def has_address(source: str) -> bool:
    """Whether the source answers somewhere by itself."""
    return source in _BASES or source in ("vertexai", "workers_ai")


def address_of(source: str, payload: dict[str, Json]) -> Address:
    """Where the source answers; raises InvalidInput naming the key that is missing or wrong."""
    proxy = text(payload, "reverse_proxy")
    if source == "custom":
        own = text(payload, "custom_url")
        if own or proxy:
            return _given(source, payload, own or proxy, "custom_url" if own else "reverse_proxy")
        raise InvalidInput("source custom needs custom_url: the base URL of the model's server")
    if proxy:
        if source not in BEHIND_PROXY:
            raise InvalidInput(f"source {source} takes no reverse_proxy; use source custom with custom_url")
        return _given(source, payload, proxy, "reverse_proxy")
    if source == "vertexai":
        return Address(vertex_settings(payload).base_url, proxied=False)
    if source == "workers_ai":
        return Address(_workers_base(text(payload, "workers_ai_account_id")), proxied=False)
    if source not in _BASES:
        raise InvalidInput(f"source {source} has no address of its own; use source custom with custom_url")
    return Address(_BASES[source], proxied=False)


def _given(source: str, payload: dict[str, Json], url: str, key: str) -> Address:
    """An address of the user's; `ws` and `wss` are for Responses alone, whose turns may travel over a WebSocket."""
    may_be_socket = format_of_source(source, payload) == RESPONSES
    checked = base_url(url, key, (*WEB_SCHEMES, *SOCKET_SCHEMES) if may_be_socket else WEB_SCHEMES)
    parts = urlsplit(checked)
    scheme = SOCKET_SCHEMES.get(parts.scheme)
    proxied = key == "reverse_proxy"
    if scheme is None:
        return Address(checked, proxied)
    return Address(urlunsplit(parts._replace(scheme=scheme)), proxied, socket=True)


def _workers_base(account: str) -> str:
    if not account:
        raise InvalidInput("source workers_ai needs workers_ai_account_id: the account whose models are asked")
    return f"https://api.cloudflare.com/client/v4/accounts/{quote(account, safe='')}/ai/v1"
