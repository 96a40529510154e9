"""Stored LLM connections: a document becomes a checked record, and a record stands in for a chat payload's own words."""

from __future__ import annotations

import re

from ...graph.errors import InvalidInput, NotFound
from ...graph.jsontext import Json, is_object
from ...graph.ports import ConnectionStore
from .checks import faults
from .dialects import KEY as DIALECT
from .documents import Kind, parsed, raise_first
from .record import KIND, LlmConnection, VertexAi
from .sources import RECORD

REPLACED = (
    "chat_completion_source", "custom_api_format", "model", "custom_url", "secret_id", "reverse_proxy",
    "proxy_password", "proxy_secret_id", "custom_prompt_post_processing", "custom_include_headers",
    "custom_include_body", "custom_exclude_body", "vertexai_auth_mode", "vertexai_region", "vertexai_project_id",
    "vertexai_express_project_id", "workers_ai_account_id", "network_proxy", "network_proxy_secret_id",
)  # fmt: skip
"""The payload keys that a record takes the place of, whether or not it sets them."""

_ID = re.compile(r"[a-z0-9_-]+")
_ID_CHARS = 128
_CODES = {
    "": "llm_connection.invalid",
    "schemaVersion": "llm_connection.schema_unsupported",
    "kind": "llm_connection.kind_invalid",
    "displayName": "llm_connection.display_name_required",
    "id": "llm_connection.id_invalid",
    "provider.chatCompletionSource": "llm_connection.source_unsupported",
    "provider.customApiFormat": "llm_connection.custom_api_format_unsupported",
    "endpoint.baseUrl": "llm_connection.base_url_invalid",
    "endpoint.sourceSpecific": "llm_connection.source_specific_type_invalid",
    "endpoint.sourceSpecific.*": "llm_connection.source_specific_unknown",
    "endpoint.sourceSpecific.vertexai": "llm_connection.source_specific_type_invalid",
    "endpoint.sourceSpecific.vertexai.authMode": "llm_connection.vertexai_auth_mode_unsupported",
    "endpoint.sourceSpecific.workers_ai": "llm_connection.source_specific_type_invalid",
    "endpoint.sourceSpecific.workers_ai.accountId": "llm_connection.workers_ai_account_required",
    "auth.secretRef.key": "llm_connection.secret_key_required",
    "auth.secretRef.id": "llm_connection.secret_id_required",
    "routing.reverseProxy.url": "llm_connection.reverse_proxy_invalid",
    "model": "agent.model_id_required",
}
_DOCUMENT = Kind(KIND, "the connection", _CODES)


def check_id(connection_id: str) -> str:
    """The id, if a record can have it; raises InvalidInput `llm_connection.id_*`."""
    if not connection_id:
        raise InvalidInput("a connection's id must not be empty", code="llm_connection.id_empty")
    if len(connection_id) > _ID_CHARS:
        raise InvalidInput(
            f"a connection's id must be at most {_ID_CHARS} characters long", code="llm_connection.id_too_long"
        )
    if not _ID.fullmatch(connection_id):
        raise InvalidInput(
            "a connection's id must be of lower-case letters, digits, _ and -", code="llm_connection.id_invalid"
        )
    return connection_id


def parse_connection(document: Json) -> LlmConnection:
    """The record that a document holds; raises InvalidInput with the code of the first rule that it breaks."""
    record = parsed(LlmConnection, document, _DOCUMENT)
    check_id(record.id)
    raise_first(faults(record), _DOCUMENT)
    return record


def selected(payload: dict[str, Json], store: ConnectionStore | None) -> dict[str, Json]:
    """The payload with the record that it names in place of its own connection; as it is where it names none.

    `llm_connection` is the record's id, or {id, model} where another model of that server is wanted. Raises
    InvalidInput, and NotFound `llm_connection.not_found`.
    """
    chosen = payload.get(RECORD)
    if chosen is None:
        return payload
    if payload.get(DIALECT) is not None:
        raise InvalidInput(f"{DIALECT} can't stand beside {RECORD}; set the record's switches instead")
    named: Json = chosen if is_object(chosen) else {"id": chosen}
    wrong = set(named) - {"id", "model"}
    if wrong or not all(isinstance(value, str) for value in named.values()) or "id" not in named:
        raise InvalidInput(f"{RECORD} must be a connection's id, or an object {{id, model}}")
    record = stored_connection(named["id"], store)
    kept = {key: value for key, value in payload.items() if key not in (RECORD, *REPLACED)}
    return kept | _fields(record) | ({"model": named["model"]} if "model" in named else {})


def stored_connection(connection_id: str, store: ConnectionStore | None) -> LlmConnection:
    document = store.get(check_id(connection_id)) if store is not None else None
    if document is None:
        raise NotFound(
            f"there is no connection {connection_id}; add it, or name another (treadle connections list)",
            code="llm_connection.not_found",
        )
    record = parse_connection(document)
    if record.id != connection_id:
        raise InvalidInput(
            f"the file of connection {connection_id} holds the id {record.id}; rename one of them",
            code="llm_connection.id_invalid",
        )
    return record


def _fields(record: LlmConnection) -> dict[str, Json]:
    """The payload's fields that say what the record says."""
    endpoint, routing, hints = record.endpoint, record.routing, record.adapter_hints
    secret, proxy = record.auth.secret_ref, routing.reverse_proxy
    workers = endpoint.source_specific.workers_ai
    wanted: dict[str, Json] = {
        "chat_completion_source": record.provider.chat_completion_source,
        "custom_api_format": record.provider.custom_api_format,
        "model": record.model,
        "custom_url": endpoint.base_url,
        "reverse_proxy": proxy and proxy.url,
        "secret_id" if proxy is None else "proxy_secret_id": secret and secret.id,
        "custom_prompt_post_processing": hints.prompt_post_processing,
        "custom_include_headers": hints.custom_include_headers,
        "custom_include_body": hints.custom_include_body,
        "custom_exclude_body": hints.custom_exclude_body,
        "workers_ai_account_id": workers and workers.account_id,
        "network_proxy": routing.network_proxy,
        "network_proxy_secret_id": routing.network_proxy_secret_id,
        DIALECT: _switches(record) or None,
        **_vertex_fields(endpoint.source_specific.vertexai),
    }
    return {key: value for key, value in wanted.items() if value is not None}


def _vertex_fields(vertex: VertexAi | None) -> dict[str, Json]:
    if vertex is None:
        return {}
    project = "vertexai_express_project_id" if vertex.auth_mode == "express" else "vertexai_project_id"
    return {
        "vertexai_auth_mode": vertex.auth_mode,
        "vertexai_region": vertex.region,
        project: vertex.project_id or None,
    }


def _switches(record: LlmConnection) -> dict[str, Json]:
    """The record's own, and that its model takes no tools where its capabilities say so."""
    declared = {"supportsTools": False} if record.capabilities.tool_calling is False else {}
    return declared | record.switches
