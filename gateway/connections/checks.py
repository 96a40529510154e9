"""What the values of a stored LLM connection must be, row by row; the first fault found is the one that is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...graph.errors import InvalidInput
from .connection import PROXY_SCHEMES, SOCKET_SCHEMES, WEB_SCHEMES, base_url
from .dialects import check_dialect
from .documents import Fault
from .endpoints import BEHIND_PROXY, RESPONSES, SOURCES, canonical_source, has_address, is_custom_format
from .overrides import check_body_keys, check_post_processing, key_list, key_values
from .record import LlmConnection
from .sources import check_header_values
from .vertex import AUTH_MODES, DEFAULT_REGION, SERVICE_ACCOUNT, is_project, is_region

_SOURCE = "provider.chatCompletionSource"
_FORMAT = "provider.customApiFormat"
_BASE = "endpoint.baseUrl"
_PROXY = "routing.reverseProxy"
_NETWORK = "routing.networkProxy"


def faults(record: LlmConnection) -> Iterator[Fault]:
    if not record.display_name:
        yield Fault("displayName", "must not be blank; give the connection a name for people")
    given = record.provider.chat_completion_source
    source = canonical_source(given) if given.strip() else None
    if source is None:
        yield Fault(_SOURCE, f"must be one of {', '.join(sorted(SOURCES))}")
        return
    yield from _custom_faults(record) if source == "custom" else _known_faults(record, source)
    yield from _specific_faults(record, source)
    if record.model == "":
        yield Fault("model", "must not be blank; name the model, or leave the field out")
    yield from _secret_faults(record, source)
    yield from _hint_faults(record)
    yield from _raised("switches", lambda: check_dialect(record.switches, "it"))
    if record.capabilities.tool_calling is False and record.switches.get("supportsTools") is True:
        yield Fault("switches.supportsTools", "contradicts capabilities.toolCalling; remove one of them")
    yield from _network_faults(record)


def _custom_faults(record: LlmConnection) -> Iterator[Fault]:
    given = record.provider.custom_api_format
    if not is_custom_format(given or ""):
        yield Fault(_FORMAT, "must be openai_compat, openai_responses, claude_messages or gemini_interactions")
    url = record.endpoint.base_url
    if url is None:
        yield Fault(_BASE, "is missing; name the server's base URL", "llm_connection.custom_base_url_required")
    elif not url.strip():
        yield Fault(_BASE, "must not be empty; name the server's base URL", "llm_connection.base_url_empty")
    else:
        schemes = (*WEB_SCHEMES, *SOCKET_SCHEMES) if given == RESPONSES else WEB_SCHEMES
        yield from _raised(_BASE, lambda: base_url(url, "it", schemes))
    if record.routing.reverse_proxy is not None:
        yield Fault(
            _PROXY, "is not for source custom; use endpoint.baseUrl", "llm_connection.reverse_proxy_unsupported"
        )


def _known_faults(record: LlmConnection, source: str) -> Iterator[Fault]:
    given = record.provider.custom_api_format
    if given is not None and not (source == "openai" and given == RESPONSES):
        yield Fault(
            _FORMAT,
            f"is for source custom (and {RESPONSES} for openai); remove it",
            "llm_connection.custom_api_format_non_custom",
        )
    if record.endpoint.base_url is not None:
        yield Fault(
            _BASE, "is for source custom; remove it, or make the source custom", "llm_connection.base_url_non_custom"
        )
    proxy = record.routing.reverse_proxy
    if proxy is None:
        if not has_address(source):
            yield Fault(_SOURCE, f"{source} has no address of its own; use source custom with endpoint.baseUrl")
        return
    if source not in BEHIND_PROXY:
        yield Fault(_PROXY, f"is not for source {source}; remove it", "llm_connection.reverse_proxy_unsupported")
    if not proxy.url.strip():
        empty = "llm_connection.reverse_proxy_empty"
        yield Fault(f"{_PROXY}.url", "must not be empty; name the proxy's base URL", empty)
    schemes = (*WEB_SCHEMES, *SOCKET_SCHEMES) if given == RESPONSES else WEB_SCHEMES
    yield from _raised(f"{_PROXY}.url", lambda: base_url(proxy.url, "it", schemes))


def _specific_faults(record: LlmConnection, source: str) -> Iterator[Fault]:
    specific, at = record.endpoint.source_specific, "endpoint.sourceSpecific"
    for name, block in (("vertexai", specific.vertexai), ("workers_ai", specific.workers_ai)):
        if block is not None and name != source:
            mismatch = "llm_connection.source_specific_source_mismatch"
            yield Fault(f"{at}.{name}", f"is not for source {source}; remove it", mismatch)
    if source == "workers_ai" and (specific.workers_ai is None or not specific.workers_ai.account_id):
        yield Fault(f"{at}.workers_ai.accountId", "must name the account whose models are asked")
    vertex = specific.vertexai
    if vertex is None:
        return
    if vertex.auth_mode not in AUTH_MODES:
        yield Fault(f"{at}.vertexai.authMode", f"must be one of {', '.join(AUTH_MODES)}")
    if not is_region(vertex.region):
        yield Fault(f"{at}.vertexai.region", f"must be a region's name, such as {DEFAULT_REGION} or global")
    if vertex.project_id and not is_project(vertex.project_id):
        yield Fault(f"{at}.vertexai.projectId", "must be a project's id")


def _secret_faults(record: LlmConnection, source: str) -> Iterator[Fault]:
    ref, at = record.auth.secret_ref, "auth.secretRef"
    if ref is None:
        return
    vertex = record.endpoint.source_specific.vertexai
    is_account = source == "vertexai" and vertex is not None and vertex.auth_mode == "full"
    own = SERVICE_ACCOUNT if is_account else f"api_key_{source}"
    if not ref.key:
        yield Fault(f"{at}.key", f"must not be blank; write {own}")
    if ref.key != own:
        yield Fault(f"{at}.key", f"must be {own}, as the source is {source}", "llm_connection.secret_key_mismatch")
    if not ref.id:
        yield Fault(f"{at}.id", "must not be blank; name a secret (treadle secrets list)")


def _hint_faults(record: LlmConnection) -> Iterator[Fault]:
    hints, at = record.adapter_hints, "adapterHints"
    yield from _raised(f"{at}.promptPostProcessing", lambda: check_post_processing(hints.prompt_post_processing))
    yield from _raised(f"{at}.customIncludeHeaders", lambda: check_header_values(hints.custom_include_headers, "it"))
    yield from _raised(f"{at}.customIncludeBody", lambda: check_body_keys(key_values(hints.custom_include_body, "it")))
    yield from _raised(f"{at}.customExcludeBody", lambda: check_body_keys(key_list(hints.custom_exclude_body, "it")))


def _network_faults(record: LlmConnection) -> Iterator[Fault]:
    routing = record.routing
    proxy = routing.network_proxy
    if proxy is not None:
        yield from _raised(_NETWORK, lambda: base_url(proxy, "it", PROXY_SCHEMES))
    elif routing.network_proxy_secret_id is not None:
        yield Fault(f"{_NETWORK}SecretId", "is without a networkProxy; add that, or remove this")


def _raised(field: str, check: Callable[[], object]) -> Iterator[Fault]:
    """The fault that a check raises, said of this field."""
    try:
        check()
    except InvalidInput as error:
        yield Fault(field, error.message.removeprefix("it ").removeprefix("custom_prompt_post_processing "))
