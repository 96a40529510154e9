"""From a chat payload to a connection: its format and address, its key, and the user's overrides."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_object
from ...graph.ports import SecretStore
from .connection import Connection, Switches
from .deployment import Deployment
from .dialects import KEY, dialect_of, switches_of
from .endpoints import Address, address_of, format_of_source, source_of
from .fields import text
from .network import network_proxy, proxy_url
from .overrides import check_body_keys, check_post_processing, header_lines, key_list, key_values
from .policy import Policy, check, check_host
from .secret import Secret
from .vertex import SERVICE_ACCOUNT, Vertex, service_account, vertex_settings

RECORD = "llm_connection"
"""The payload key that names a stored connection record; whoever owns the store puts the record's fields in its place."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def connection_from_payload(
    payload: dict[str, Json], secrets: SecretStore, deployed: Deployment | None = None
) -> Connection:
    """The connection that a chat payload selects, as far as the deployment allows it.

    `payload["connection_dialect"]` turns the switches of this one connection (see `dialects.check_dialect`). Raises
    InvalidInput: `agent.model_request_invalid_source`, `agent.model_id_required`, or naming what is wrong; and
    ModelFailed `model.provider_denied` for what the policy does not allow, before any secret is read.
    """
    if payload.get(RECORD) is not None:
        raise InvalidInput(f"the payload still names a record in {RECORD}: its fields must be put in first")
    rules = deployed or Deployment()
    source = source_of(payload)
    check(rules.policy, payload)
    address, provider_format = address_of(source, payload), format_of_source(source, payload)
    include = tuple(key_values(payload.get("custom_include_body"), "custom_include_body").items())
    exclude = tuple(key_list(payload.get("custom_exclude_body"), "custom_exclude_body"))
    check_body_keys([key for key, _ in include] + list(exclude))
    check_post_processing(payload.get("custom_prompt_post_processing"))
    dialect, switches = dialect_of(source, address.base_url, payload.get(KEY)), switches_of(payload.get(KEY))
    _check_socket(address, switches)
    model, network = _model(payload), network_proxy(payload, rules)
    vertex = vertex_settings(payload) if source == "vertexai" else None
    key = _key(source, payload, secrets, address, vertex)
    made = Connection(
        source=source,
        format=provider_format,
        base_url=address.base_url,
        model=model,
        api_key=_header_key(key.value) if not _has_account(vertex, address) else None,
        headers=_headers(payload.get("custom_include_headers"), secrets),
        dialect=dialect,
        body_include=include,
        body_exclude=exclude,
        switches=switches,
        secret_ref=key.ref if key.value else "",
        vertex=vertex,
        proxy=None if network is None else proxy_url(network, secrets),
    )
    return _with_account(made, key.value, rules.policy) if _has_account(vertex, address) else made


def check_headers(given: Json, what: str) -> dict[str, str]:
    """Header names and values; raises InvalidInput that names `what`, never a value."""
    headers = header_lines(given, what)
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _is_header_text(value):
            raise InvalidInput(f"{what} holds a name or value that no HTTP header can carry")
    return headers


class _Key(NamedTuple):
    ref: str
    value: str


def _key(source: str, payload: dict[str, Json], secrets: SecretStore, address: Address, vertex: Vertex | None) -> _Key:
    """The key: of the proxy, else by explicit id without a fallback, else the source's own."""
    if address.proxied and payload.get("proxy_secret_id") is not None:
        return _Key(text(payload, "proxy_secret_id"), _stored(secrets, text(payload, "proxy_secret_id"), "secretRef"))
    if address.proxied:
        return _Key("proxy_password", text(payload, "proxy_password"))
    explicit = text(payload, "secret_id")
    if explicit:
        return _Key(explicit, _stored(secrets, explicit, "secret_id"))
    own = SERVICE_ACCOUNT if vertex is not None and vertex.auth_mode == "full" else f"api_key_{source}"
    value = (secrets.get(own) or "").strip()
    if not value and source != "custom":
        raise InvalidInput(f"source {source} needs a key: store one as {own}")
    return _Key(own, value)


def _stored(secrets: SecretStore, ref: str, what: str) -> str:
    """The secret of that name, trimmed; there is no fallback. The name is not told: it may be a key given by mistake."""
    value = (secrets.get(ref) or "").strip()
    if not value:
        raise InvalidInput(f"no secret is stored under the name that {what} gives; store one (treadle secrets set)")
    return value


def _header_key(value: str) -> Secret | None:
    if not _is_header_text(value):
        raise InvalidInput("the key holds characters that no HTTP header can carry")
    return Secret(value) if value else None


def _has_account(vertex: Vertex | None, address: Address) -> bool:
    """Whether the secret is a service account; before a reverse proxy it is the proxy's password."""
    return vertex is not None and vertex.auth_mode == "full" and not address.proxied


def _with_account(made: Connection, secret: str, policy: Policy) -> Connection:
    account = service_account(secret)
    check_host(policy, account.token_uri, "the service account's token_uri")
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


def _headers(given: Json, secrets: SecretStore) -> tuple[tuple[str, Secret], ...]:
    """The user's headers; a value {secretRef} is looked up."""
    what = "custom_include_headers"
    found = {name: _header_value(value, secrets) for name, value in given.items()} if is_object(given) else given
    return tuple((name, Secret(value)) for name, value in check_headers(found, what).items())


def check_header_values(given: Json, what: str) -> None:
    """As `check_headers`, of headers whose values may stand among the secrets still."""
    named = {name: "" if is_object(value) else value for name, value in given.items()} if is_object(given) else given
    check_headers(named, what)
    for value in given.values() if is_object(given) else ():
        if is_object(value):
            _secret_ref(value, what)


def _header_value(value: Json, secrets: SecretStore) -> Json:
    if not is_object(value):
        return value
    return _stored(secrets, _secret_ref(value, "custom_include_headers"), "a header's secretRef")


def _secret_ref(value: dict[str, Json], what: str) -> str:
    ref = value.get("secretRef")
    if set(value) != {"secretRef"} or not isinstance(ref, str) or not ref.strip():
        raise InvalidInput(f"{what} holds a header that is neither a string nor {{secretRef: the name of a secret}}")
    return ref


def _is_header_text(value: str) -> bool:
    return all(" " <= char <= "~" or char == "\t" for char in value)
