"""From a chat payload to a connection: which source and format it selects, and where that answers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json, is_object
from ..graph.ports import SecretStore
from .connection import Connection, Dialect, EchoReasoning, EmptyContent, base_url
from .overrides import check_body_keys, header_lines, key_list, key_values
from .secret import Secret

OPENAI_COMPATIBLE = "openai_compatible"

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

_CUSTOM_FORMATS = {
    "": OPENAI_COMPATIBLE, "openai_compat": OPENAI_COMPATIBLE, OPENAI_COMPATIBLE: OPENAI_COMPATIBLE,
    "openai_responses": "openai_responses", "claude_messages": "claude_messages",
    "gemini_interactions": "gemini_interactions",
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

_BEHIND_PROXY = frozenset({"openai", "claude", "makersuite", "vertexai", "deepseek", "moonshot", "zai"})

_DIALECTS = {
    "openai": Dialect(developer_role=True),
    "deepseek": Dialect(echo_reasoning="all", drops_empty_required=True),
    "moonshot": Dialect(echo_reasoning="all"),
    "groq": Dialect(echo_reasoning="none"),
}

_STRICT_HOSTS = (("api.groq.com", "groq"), ("api.cerebras.ai", "groq"))
_KNOWN_HOSTS = (("api.deepseek.com", "deepseek"), ("api.moonshot.ai", "moonshot"), ("api.moonshot.cn", "moonshot"))

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def connection_from_payload(payload: dict[str, Json], secrets: SecretStore) -> Connection:
    """The connection that a chat payload selects.

    `payload["connection_dialect"]` may hold {"emptyContent", "echoReasoning"} for hosts that differ from their kind.
    Raises InvalidInput: `agent.model_request_invalid_source`, `agent.model_id_required`, or naming what is wrong.
    """
    source = source_of(payload)
    address, proxied = _address(source, payload)
    dialect = _dialect(source, address, payload)
    include = tuple(key_values(payload.get("custom_include_body"), "custom_include_body").items())
    exclude = tuple(key_list(payload.get("custom_exclude_body"), "custom_exclude_body"))
    check_body_keys([key for key, _ in include] + list(exclude))
    return Connection(
        source=source,
        format=_format(source, payload),
        base_url=address,
        model=_model(payload),
        api_key=_key(source, payload, secrets, proxied=proxied),
        headers=_headers(payload.get("custom_include_headers")),
        dialect=dialect,
        body_include=include,
        body_exclude=exclude,
    )


def source_of(payload: dict[str, Json]) -> str:
    """The canonical source key; raises InvalidInput `agent.model_request_invalid_source`."""
    given = _text(payload, "chat_completion_source")
    name = given.lower()
    source = _ALIASES.get(name, name)
    if source != "custom" and source not in _FORMATS:
        raise InvalidInput(f"chat_completion_source {given!r} is not known", code="agent.model_request_invalid_source")
    return source


def _format(source: str, payload: dict[str, Json]) -> str:
    if source != "custom":
        return _FORMATS[source]
    given = _text(payload, "custom_api_format")
    if given.lower() not in _CUSTOM_FORMATS:
        raise InvalidInput(f"custom_api_format {given!r} is not known")
    return _CUSTOM_FORMATS[given.lower()]


def _address(source: str, payload: dict[str, Json]) -> tuple[str, bool]:
    """The base URL, and whether it is the user's reverse proxy."""
    proxy = _text(payload, "reverse_proxy")
    if source == "custom":
        own = _text(payload, "custom_url")
        if own or proxy:
            return base_url(own or proxy, "custom_url" if own else "reverse_proxy"), not own
        raise InvalidInput("source custom needs custom_url: the base URL of the model's server")
    if proxy:
        if source not in _BEHIND_PROXY:
            raise InvalidInput(f"source {source} takes no reverse_proxy; use source custom with custom_url")
        return base_url(proxy, "reverse_proxy"), True
    if source == "vertexai":
        return _vertex_base(_text(payload, "vertexai_region") or "us-central1"), False
    if source not in _BASES:
        raise InvalidInput(f"source {source} has no address of its own; use source custom with custom_url")
    return _BASES[source], False


def _vertex_base(region: str) -> str:
    host = "aiplatform.googleapis.com" if region == "global" else f"{region}-aiplatform.googleapis.com"
    return base_url(f"https://{host}", "vertexai_region")


def _model(payload: dict[str, Json]) -> str:
    model = _text(payload, "model")
    if not model:
        raise InvalidInput("the payload names no model", code="agent.model_id_required")
    return model


def _key(source: str, payload: dict[str, Json], secrets: SecretStore, *, proxied: bool) -> Secret | None:
    """The key: of the proxy, else by explicit id without a fallback, else the source's own."""
    explicit = _text(payload, "secret_id")
    if proxied:
        value = _text(payload, "proxy_password")
    elif explicit:
        value = secrets.get(explicit) or ""
        if not value.strip():
            raise InvalidInput("no secret is stored under the payload's secret_id")
    else:
        value = secrets.get(f"api_key_{source}") or ""
        if not value.strip() and source != "custom":
            raise InvalidInput(f"source {source} needs a key: store one as api_key_{source}")
    value = value.strip()
    if not _is_header_text(value):
        raise InvalidInput("the key holds characters that no HTTP header can carry")
    return Secret(value) if value else None


def _headers(given: Json) -> tuple[tuple[str, Secret], ...]:
    headers = header_lines(given, "custom_include_headers")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _is_header_text(value):
            raise InvalidInput("custom_include_headers holds a name or value that no HTTP header can carry")
    return tuple((name, Secret(value)) for name, value in headers.items())


def _dialect(source: str, address: str, payload: dict[str, Json]) -> Dialect:
    host = address.split("//", 1)[1].split("/", 1)[0].split(":", 1)[0].lower()
    kind = dict(_STRICT_HOSTS + _KNOWN_HOSTS).get(host, source)
    dialect = _DIALECTS.get(kind, Dialect())
    given = payload.get("connection_dialect")
    if given is None:
        return dialect
    if not is_object(given):
        raise InvalidInput("connection_dialect must be an object {emptyContent, echoReasoning}")
    empty = given.get("emptyContent", dialect.empty_content)
    echo = given.get("echoReasoning", dialect.echo_reasoning)
    if empty not in get_args(EmptyContent) or echo not in get_args(EchoReasoning):
        raise InvalidInput(
            f"connection_dialect takes emptyContent {list(get_args(EmptyContent))} "
            f"and echoReasoning {list(get_args(EchoReasoning))}"
        )
    return replace(dialect, empty_content=empty, echo_reasoning=echo)


def _text(payload: dict[str, Json], key: str) -> str:
    """A payload string, trimmed; missing and null are blank. Raises InvalidInput for other types."""
    value = payload.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{key} must be a string")
    return value.strip()


def _is_header_text(value: str) -> bool:
    return all(" " <= char <= "~" or char == "\t" for char in value)
