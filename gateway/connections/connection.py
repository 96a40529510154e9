"""Where a run's model answers: source, format, base URL, key, headers, and the host's own dialect."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, dumps
from .secret import Secret, scrub
from .vertex import Vertex

EmptyContent = Literal["as_received", "null", "string"]
"""The `content` of an assistant message without text: as it came (null where it is ours), always null, always ""."""

EchoReasoning = Literal["auto", "all", "none"]
"""Reasoning of earlier turns: as it came, on every turn of ours (`""` where none came), or never."""

PromptCacheTtl = Literal["off", "5m", "1h"]
"""How long the provider is asked to keep the prompt's beginning."""

WebSocketUse = Literal["auto", "off"]
"""Whether openai_responses may talk over a WebSocket."""

WEB_SCHEMES = ("http", "https")
PROXY_SCHEMES = WEB_SCHEMES
SOCKET_SCHEMES = {"ws": "http", "wss": "https"}
"""What a WebSocket address is kept as: the same server, over the scheme of its plain requests."""

_RESPONSES = "openai_responses"
_HOST = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]+(%[\w.]+)?")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one host differs from the others that speak its format."""

    empty_content: EmptyContent = "as_received"
    echo_reasoning: EchoReasoning = "auto"
    developer_role: bool = False
    """Whether `developer` is a role there; else it is sent as `system`."""
    drops_empty_required: bool = False
    """Whether a tool schema's empty `required` list must go."""


@dataclass(frozen=True, slots=True)
class Switches:
    """What the user turned on or off for this connection."""

    positional_tool_call_ids: bool = False
    """Whether calls that come without an id get one by their place; such ids never go to the server."""
    prompt_cache_ttl: PromptCacheTtl = "off"
    web_socket: WebSocketUse = "auto"
    anthropic_beta: tuple[str, ...] = ()
    """Names for the `anthropic-beta` header, in their order."""
    stream: bool = False
    """Whether answers are asked for as a stream of events, for servers that give no others or cut long waits."""
    supports_tools: bool = True
    """False: a request with tools must be refused with `model.provider_denied`."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One model behind one address. Secrets are masked in its repr."""

    source: str
    format: str
    base_url: str = field(repr=False)  # its query may hold a key
    model: str
    api_key: Secret | None = None
    headers: tuple[tuple[str, Secret], ...] = ()
    """The user's own headers; they win over ours by name."""
    dialect: Dialect = field(default_factory=Dialect)
    body_include: tuple[tuple[str, Json], ...] = ()
    body_exclude: tuple[str, ...] = ()
    switches: Switches = field(default_factory=Switches)
    secret_ref: str = ""
    """The name under which the key was found; blank where there is no key."""
    vertex: Vertex | None = None
    """For source vertexai alone."""
    proxy: Secret | None = None
    """The URL of the network proxy through which the server is asked; it may hold a user and a password."""

    @property
    def origin(self) -> str:
        """Sixteen hex digits that name where private state comes from: it goes back only there.

        Source, format, base URL and model; for openai_responses also the key's name, for only the organisation that
        encrypted reasoning was made for can read it.
        """
        owner = self.secret_ref if self.format == _RESPONSES else ""
        return _digest([self.source, self.format, self.base_url, self.model, owner])

    @property
    def key(self) -> str:
        """Sixteen hex digits that change with anything that a provider's memory of us may depend on."""
        return _digest([self.base_url, self.secret_ref, self.model, self.source, self.format])

    @property
    def endpoint(self) -> str:
        """The base URL for people and logs, without a query."""
        return without_query(self.base_url)

    def url(self, path: str) -> str:
        """The address of `path` below the base; a query of the base is kept."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path, fragment=""))

    def secrets(self) -> Iterator[Secret]:
        """All that must not appear in any text: keys, and the values of the user's headers and of the base URL's query."""
        if self.api_key is not None:
            yield self.api_key
        if self.vertex is not None:
            yield from self.vertex.secrets()
        for _, value in self.headers:
            yield value
            _, space, credential = value.reveal().partition(" ")
            if space:
                yield Secret(credential)
        if self.proxy is not None:
            yield from _credentials(self.proxy)
        for _, word in parse_qsl(urlsplit(self.base_url).query):
            yield Secret(word)

    def scrub(self, text: str) -> str:
        return scrub(text, self.secrets())


def without_query(url: str) -> str:
    """The URL without user, query and fragment: what may be shown; nothing of what is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def base_url(text: str, what: str, schemes: Collection[str] = WEB_SCHEMES) -> str:
    """`text` as a base URL without its trailing slashes; raises InvalidInput that names `what`, never the text."""
    trimmed = text.strip()
    if any(char == " " or not char.isprintable() for char in trimmed):
        raise InvalidInput(f"{what} must not hold spaces or control characters")
    try:
        parts = urlsplit(trimmed)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InvalidInput(f"{what} is not a URL") from None
    if parts.scheme not in schemes or not usable:
        *others, last = (f"{scheme}://" for scheme in schemes)
        raise InvalidInput(f"{what} must begin with {', '.join(others)} or {last} and name a host")
    if "@" in parts.netloc:
        raise InvalidInput(f"{what} must not hold a user or password; give the key by itself")
    if not _HOST.fullmatch(parts.hostname or ""):
        raise InvalidInput(f"{what} names a host with characters that no host has")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"), fragment=""))


def _credentials(proxy: Secret) -> Iterator[Secret]:
    """The URL, and its password as it is quoted there and as it is."""
    password = urlsplit(proxy.reveal()).password
    if password:
        yield from (proxy, Secret(password), Secret(unquote(password)))


def _digest(named: list[str]) -> str:
    return hashlib.sha256(dumps(named)).hexdigest()[:16]
