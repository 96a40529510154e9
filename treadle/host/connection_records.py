"""What the commands about connections do with records: make, store, show and check them."""

from __future__ import annotations

import time
from typing import NamedTuple

from ..engine.services import Services
from ..gateway.connections.connection import without_query
from ..gateway.connections.endpoints import canonical_source
from ..gateway.connections.record import KIND
from ..gateway.connections.sources import RECORD
from ..gateway.connections.stored import check_id, parse_connection, stored_connection
from ..gateway.connections.vertex_tokens import signed_word
from ..graph.errors import InvalidInput, TreadleError
from ..graph.jsontext import Json, is_object

_MASK = "***"


class Wanted(NamedTuple):
    """What the command line says of a new connection; None where it says nothing."""

    source: str | None = None
    base_url: str | None = None
    api_format: str | None = None
    model: str | None = None
    secret: str | None = None
    name: str | None = None
    switches: tuple[str, ...] = ()


def record_of(connection_id: str, wanted: Wanted) -> dict[str, Json]:
    """The record's document; what is wrong with it is told when it is parsed."""
    source = wanted.source or "custom"
    document: dict[str, Json] = {
        "schemaVersion": 1,
        "kind": KIND,
        "id": connection_id,
        "displayName": wanted.name or connection_id,
        "provider": {"chatCompletionSource": source, "customApiFormat": wanted.api_format},
        "endpoint": {"baseUrl": wanted.base_url},
        "model": wanted.model,
        "switches": dict(_switch(text) for text in wanted.switches),
    }
    if wanted.secret is not None:
        key = f"api_key_{canonical_source(source) or source}"
        document["auth"] = {"secretRef": {"key": key, "id": wanted.secret}}
    return document


def stored(services: Services, connection_id: str, document: Json, *, replace: bool) -> None:
    """Raises InvalidInput for a bad record, another id, or one that is there already."""
    record = parse_connection(document)
    if record.id != check_id(connection_id):
        raise InvalidInput(f"the record's id is {record.id}, not {connection_id}; make them the same")
    if not replace and services.connections.get(connection_id) is not None:
        raise InvalidInput(f"there is a connection {connection_id} already; add --replace to overwrite it")
    services.connections.put(connection_id, record.to_json())


def overview(services: Services) -> list[dict[str, Json]]:
    """A row for each, also for those that can't be used."""
    return [_row(services, connection_id) for connection_id in services.connections.ids()]


def shown(services: Services, connection_id: str) -> dict[str, Json]:
    """The document without what may be a key: the values of headers, and the queries of URLs."""
    document = stored_connection(connection_id, services.connections).to_json()
    hints = document.get("adapterHints", {})
    if "customIncludeHeaders" in hints:
        hints["customIncludeHeaders"] = _masked(hints["customIncludeHeaders"])
    places = ((document.get("endpoint", {}), "baseUrl"), (document.get("routing", {}), "networkProxy"))
    for block, key in (*places, (document.get("routing", {}).get("reverseProxy", {}), "url")):
        if key in block:
            block[key] = without_query(block[key])
    return document


def checked(services: Services, connection_id: str, model: str | None) -> dict[str, Json]:
    """What a run would use; raises what would refuse it."""
    chosen = {"id": connection_id} | ({"model": model} if model else {})
    connection = services.gateway.connect({RECORD: chosen})
    account = None if connection.vertex is None else connection.vertex.account
    if account is not None:
        signed_word(account, time.time())
    return {
        "id": connection_id,
        "source": connection.source,
        "format": connection.format,
        "model": connection.model,
        "endpoint": connection.endpoint,
        "key": f"found as {connection.secret_ref}" if connection.secret_ref else "none",
        "account": account.client_email if account is not None else None,
        "networkProxy": None if connection.proxy is None else without_query(connection.proxy.reveal()),
        "supportsTools": connection.switches.supports_tools,
        "ok": True,
    }


def _row(services: Services, connection_id: str) -> dict[str, Json]:
    try:
        record = stored_connection(connection_id, services.connections)
    except TreadleError as error:
        return {"id": connection_id, "error": error.message}
    ref = record.auth.secret_ref
    return {
        "id": connection_id,
        "name": record.display_name,
        "source": record.provider.chat_completion_source,
        "format": record.provider.custom_api_format,
        "model": record.model,
        "endpoint": without_query(record.endpoint.base_url or ""),
        "secret": ref.id if ref is not None else None,
        "error": None,
    }


def _masked(headers: Json) -> Json:
    if not is_object(headers):
        return _MASK
    return {name: value if is_object(value) else _MASK for name, value in headers.items()}


def _switch(text: str) -> tuple[str, Json]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"--switch {key} must be KEY=VALUE, such as supportsTools=false")
    if key == "anthropicBeta":
        return key, [name.strip() for name in value.split(",")]
    return key, {"true": True, "false": False}.get(value, value)
