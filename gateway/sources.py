"""From a chat payload to a connection: its format and address, its key, and the user's overrides."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json
from ..graph.ports import SecretStore
from .connection import Connection, Switches
from .dialects import KEY, dialect_of, switches_of
from .endpoints import Address, address_of, format_of_source, source_of
from .fields import text
from .overrides import check_body_keys, check_post_processing, header_lines, key_list, key_values
from .secret import Secret
from .vertex import SERVICE_ACCOUNT, Vertex, service_account, vertex_settings

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def connection_from_payload(payload: dict[str, Json], secrets: SecretStore) -> Connection:
    """The connection that a chat payload selects.

    `payload["connection_dialect"]` turns the switches of this one connection (see `dialects.check_dialect`). Raises
    InvalidInput: `agent.model_request_invalid_source`, `agent.model_id_required`, or naming what is wrong.
    """
    source = source_of(payload)
    address, provider_format = address_of(source, payload), format_of_source(source, payload)
    include = tuple(key_values(payload.get("custom_include_body"), "custom_include_body").items())
    exclude = tuple(key_list(payload.get("custom_exclude_body"), "custom_exclude_body"))
    check_body_keys([key for key, _ in include] + list(exclude))
    check_post_processing(payload.get("custom_prompt_post_processing"))
    dialect, switches = dialect_of(source, address.base_url, payload.get(KEY)), switches_of(payload.get(KEY))
    _check_socket(address, switches)
    model, headers = _model(payload), _headers(payload.get("custom_include_headers"))
    vertex = vertex_settings(payload) if source == "vertexai" else None
    key = _key(source, payload, secrets, address, vertex)
    made = Connection(
        source=source,
        format=provider_format,
        base_url=address.base_url,
        model=model,
        api_key=_header_key(key.value) if not _has_account(vertex, address) else None,
        headers=headers,
        dialect=dialect,
        body_include=include,
        body_exclude=exclude,
        switches=switches,
        secret_ref=key.ref if key.value else "",
        vertex=vertex,
    )
    return _with_account(made, key.value) if _has_account(vertex, address) else made


class _Key(NamedTuple):
    ref: str
    value: str


def _key(source: str, payload: dict[str, Json], secrets: SecretStore, address: Address, vertex: Vertex | None) -> _Key:
    """The key: of the proxy, else by explicit id without a fallback, else the source's own."""
    if address.proxied:
        return _Key("proxy_password", text(payload, "proxy_password"))
    explicit = text(payload, "secret_id")
    if explicit:
        value = (secrets.get(explicit) or "").strip()
        if not value:
            raise InvalidInput("no secret is stored under the payload's secret_id")
        return _Key(explicit, value)
    own = SERVICE_ACCOUNT if vertex is not None and vertex.auth_mode == "full" else f"api_key_{source}"
    value = (secrets.get(own) or "").strip()
    if not value and source != "custom":
        raise InvalidInput(f"source {source} needs a key: store one as {own}")
    return _Key(own, value)


def _header_key(value: str) -> Secret | None:
    if not _is_header_text(value):
        raise InvalidInput("the key holds characters that no HTTP header can carry")
    return Secret(value) if value else None


def _has_account(vertex: Vertex | None, address: Address) -> bool:
    """Whether the secret is a service account; before a reverse proxy it is the proxy's password."""
    return vertex is not None and vertex.auth_mode == "full" and not address.proxied


def _with_account(made: Connection, secret: str) -> Connection:
    account = service_account(secret)
    vertex = made.vertex or Vertex()
    return replace(made, vertex=replace(vertex, account=account, project=vertex.project or account.project_id))


def _check_socket(address: Address, switches: Switches) -> None:
    if address.socket and switches.web_socket == "off":
        raise InvalidInput(
            f"the address begins with ws:// or wss:// while {KEY}.webSocket is off; write it with http:// or https://"
        )


def _model(payload: dict[str, Json]) -> str:
    model = text(payload, "model")
    if not model:
        raise InvalidInput("the payload names no model", code="agent.model_id_required")
    return model


def _headers(given: Json) -> tuple[tuple[str, Secret], ...]:
    headers = header_lines(given, "custom_include_headers")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _is_header_text(value):
            raise InvalidInput("custom_include_headers holds a name or value that no HTTP header can carry")
    return tuple((name, Secret(value)) for name, value in headers.items())


def _is_header_text(value: str) -> bool:
    return all(" " <= char <= "~" or char == "\t" for char in value)
