"""What a deployment lets its runs ask: sources, hosts, the user's own endpoints, and features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ...graph.errors import InvalidInput, ModelFailed
from ...graph.jsontext import Json
from ...graph.messages import ToolSpec
from .connection import Connection
from .endpoints import SOURCES, address_of, source_of

OVERRIDES = (
    "reverse_proxy", "proxy_password", "proxy_secret_id", "network_proxy", "network_proxy_secret_id", "custom_url",
    "custom_include_headers", "custom_include_body", "custom_exclude_body",
)  # fmt: skip
"""The payload keys by which a user leads a request elsewhere or changes what is sent; source custom counts too."""

FEATURES = ("enable_web_search", "request_images", "request_image_resolution", "request_image_aspect_ratio")
"""The payload keys that ask for more than an answer in words."""


@dataclass(frozen=True, slots=True)
class Policy:
    """None allows all; a set allows what it names. Raises InvalidInput for names that mean nothing."""

    sources: frozenset[str] | None = None
    """Canonical names, such as `openai`."""
    hosts: frozenset[str] | None = None
    """Host names without a port; `*.example.com` stands for every host below example.com."""
    overrides: bool = True
    """Whether source custom and the keys of `OVERRIDES` may be used."""
    features: frozenset[str] | None = None
    """Of `FEATURES`."""

    def __post_init__(self) -> None:
        for what, given, known in (("sources", self.sources, SOURCES), ("features", self.features, FEATURES)):
            for name in given or ():
                if name not in known:
                    raise InvalidInput(f"policy.{what}: {name!r} is not one of {', '.join(sorted(known))}")
        for host in self.hosts or ():
            if not host or host != host.lower() or any(char in host for char in "/:@ "):
                raise InvalidInput(f"policy.hosts: {host!r} is no host name in lower case, without scheme and port")


ALLOW_ALL = Policy()


def check(policy: Policy, payload: dict[str, Json]) -> None:
    """Raises ModelFailed `model.provider_denied` for the first thing that is not allowed; no secret is needed for it.

    In this order: the source, the user's own endpoints and overrides, features, the host. What is denied is never
    replaced by something else. Raises InvalidInput where the payload names no source or address.
    """
    source = source_of(payload)
    if policy.sources is not None and source not in policy.sources:
        raise _denied(f"source {source}", "chat_completion_source")
    if not policy.overrides:
        for key in _overrides(source, payload):
            raise _denied(f"source {source}" if key == "chat_completion_source" else key, key)
    for feature in FEATURES:
        if policy.features is not None and feature not in policy.features and _is_asked(payload.get(feature)):
            raise _denied(feature, feature)
    if policy.hosts is not None:
        check_host(policy, address_of(source, payload).base_url, "the model's server")


def check_host(policy: Policy, url: str, what: str) -> None:
    """Raises ModelFailed `model.provider_denied` where the URL's host is not among the policy's."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if policy.hosts is None or host in policy.hosts:
        return
    if not any(allowed.startswith("*.") and host.endswith(allowed[1:]) for allowed in policy.hosts):
        raise _denied(f"{what} at host {host}", "host")


def check_tools(connection: Connection, tools: Sequence[ToolSpec]) -> None:
    """Raises ModelFailed `model.provider_denied` where tools would go to a connection that was said to take none."""
    if tools and not connection.switches.supports_tools:
        raise ModelFailed(
            f"the connection's supportsTools is false, so its model {connection.model} can't drive a run that has tools; "
            "choose another connection, or set supportsTools to true if the model takes tools",
            code="model.provider_denied",
            details={"field": "supportsTools"},
        )


def _overrides(source: str, payload: dict[str, Json]) -> Iterator[str]:
    if source == "custom":
        yield "chat_completion_source"
    yield from (key for key in OVERRIDES if _is_asked(payload.get(key)))


def _is_asked(value: Json) -> bool:
    """Null, false, blank and empty ask for nothing."""
    return bool(value.strip() if isinstance(value, str) else value)


def _denied(what: str, field: str) -> ModelFailed:
    return ModelFailed(
        f"the policy does not allow {what}; choose a connection that it allows, or have it changed",
        code="model.provider_denied",
        details={"field": field},
    )
