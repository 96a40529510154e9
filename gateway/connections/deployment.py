"""What a data root's settings file says for all its runs: policy, proxy, wire log, what their files must outlast, and how
many ended ones are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json
from ...graph.ports import ConnectionStore
from ...graph.profiles.schema import Block, Names
from .connection import PROXY_SCHEMES, base_url
from .documents import Fault, Kind, parsed, refusal
from .policy import Policy
from .retention import Retention

KIND = "tauritavern.llmSettings"

DurabilityLevel = Literal["process", "power"]
WireLogLevel = Literal["off", "metadata", "full"]

_DOCUMENT = Kind(
    KIND,
    "the settings file",
    {
        "": "llm_settings.invalid",
        "schemaVersion": "llm_settings.schema_unsupported",
        "kind": "llm_settings.kind_invalid",
    },
)


class PolicySettings(Block):
    """A list allows what it names; where there is none, all is allowed."""

    sources: Names | None = None
    hosts: Names | None = None
    overrides: bool = True
    features: Names | None = None


class RetentionSettings(Block):
    auto_prune_enabled: bool = False
    keep_recent_terminal_runs: int = 100
    keep_full_recent_runs: int = 20


class LlmSettings(Block):
    schema_version: int
    kind: str
    policy: PolicySettings = PolicySettings()
    proxy: str | None = Field(default=None, repr=False)
    proxy_secret_ref: str | None = None
    wire_log: WireLogLevel = "metadata"
    durability: DurabilityLevel = "process"
    retention: RetentionSettings = RetentionSettings()


@dataclass(frozen=True, slots=True)
class NetworkProxy:
    """A proxy's address, and the name of its `user:password` among the secrets; blank where it asks for none."""

    url: str = field(repr=False)
    secret_ref: str = ""


@dataclass(frozen=True, slots=True)
class Deployment:
    policy: Policy = field(default_factory=Policy)
    proxy: NetworkProxy | None = None
    wire_log: WireLogLevel = "metadata"
    durability: DurabilityLevel = "process"
    retention: Retention = field(default_factory=Retention)


def deployment(store: ConnectionStore | None) -> Deployment:
    """What the settings file says; where there is none, all is allowed. Raises InvalidInput for a bad file."""
    document = None if store is None else store.settings()
    return Deployment() if document is None else parse_deployment(document)


def parse_deployment(document: Json) -> Deployment:
    """Raises InvalidInput with the field's path: a file that can't be understood allows nothing."""
    settings = parsed(LlmSettings, document, _DOCUMENT)
    given = settings.policy
    try:
        policy = Policy(_named(given.sources), _named(given.hosts), given.overrides, _named(given.features))
        proxy = base_url(settings.proxy, "proxy", PROXY_SCHEMES) if settings.proxy is not None else None
        kept = settings.retention
        retention = Retention(kept.auto_prune_enabled, kept.keep_recent_terminal_runs, kept.keep_full_recent_runs)
    except InvalidInput as error:
        raise InvalidInput(f"the settings file's {error.message}", code=_DOCUMENT.codes[""]) from None
    if proxy is None and settings.proxy_secret_ref is not None:
        raise refusal(Fault("proxySecretRef", "is without a proxy; add proxy, or remove it"), _DOCUMENT)
    network = None if proxy is None else NetworkProxy(proxy, settings.proxy_secret_ref or "")
    return Deployment(policy, network, settings.wire_log, settings.durability, retention)


def _named(names: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
