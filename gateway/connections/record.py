"""The shape of a stored LLM connection: what is told here are types; what the values must be is in connection_checks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ...graph.jsontext import Json
from ...graph.profiles.schema import Block, Trimmed
from .vertex import DEFAULT_REGION

KIND = "tauritavern.llmConnection"


class Provider(Block):
    chat_completion_source: str
    """A source by its name or an alias, such as `openai` or `custom`."""
    custom_api_format: str | None = None
    """Of source custom; and of source openai, where `openai_responses` may stand."""


class VertexAi(Block):
    auth_mode: str = "express"
    """`express` (the secret is an API key) or `full` (it is a service account's JSON)."""
    region: str = DEFAULT_REGION
    project_id: str = ""


class WorkersAi(Block):
    account_id: Trimmed


class SourceSpecific(Block):
    """What one source needs beyond an address and a key; only the source's own block may be there."""

    vertexai: VertexAi | None = None
    workers_ai: Annotated[WorkersAi | None, Field(alias="workers_ai")] = None


class Endpoint(Block):
    base_url: str | None = Field(default=None, repr=False)
    """Of source custom, which needs it."""
    source_specific: SourceSpecific = SourceSpecific()


class SecretRef(Block):
    """Which secret is the key; never the key itself."""

    key: Trimmed
    """What kind of key it is: `api_key_<source>`, or `vertexai_service_account_json`."""
    id: Trimmed
    """Its name among the secrets: a plain name, `env:NAME` or `keyring:NAME`."""
    label_snapshot: str | None = None


class Auth(Block):
    secret_ref: SecretRef | None = None
    """Where absent, the key is looked for as `api_key_<source>`."""


class ReverseProxy(Block):
    """A server that stands in for the source's own; the key is its password."""

    url: str = Field(repr=False)


class Routing(Block):
    reverse_proxy: ReverseProxy | None = None
    network_proxy: str | None = Field(default=None, repr=False)
    """The network proxy through which the server is reached; it wins over the settings file's."""
    network_proxy_secret_id: str | None = None
    """The name of its `user:password` among the secrets."""


class AdapterHints(Block):
    prompt_post_processing: str | None = None
    custom_include_headers: Json = Field(default=None, repr=False)
    """Lines of `name: value`, or an object; there a value may be {secretRef: the name of a secret}."""
    custom_include_body: Json = None
    custom_exclude_body: Json = None


class Capabilities(Block):
    streaming: bool | None = None
    tool_calling: bool | None = None
    """False is obeyed: a run that has tools is refused."""


class LlmConnection(Block):
    """A whole record, checked. It names secrets and holds none, but for what a user writes into a header."""

    schema_version: int
    kind: str
    id: str
    display_name: Trimmed
    description: str | None = None
    provider: Provider
    endpoint: Endpoint = Endpoint()
    auth: Auth = Auth()
    routing: Routing = Routing()
    adapter_hints: AdapterHints = AdapterHints()
    capabilities: Capabilities = Capabilities()
    model: Trimmed | None = None
    """The model to ask where whoever selects the connection names none."""
    switches: dict[str, Json] = Field(default_factory=dict[str, Json])
    """The keys of `connection_dialect`."""

    def to_json(self) -> dict[str, Json]:
        """The document without what is null or as it is by default."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
