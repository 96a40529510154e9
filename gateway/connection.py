"""Where a run's model answers: source, format, base URL, key, headers, and the host's own dialect."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json, dumps
from .secret import Secret, scrub

EmptyContent = Literal["as_received", "null", "string"]
"""The `content` of an assistant message without text: as it came (null where it is ours), always null, always ""."""

EchoReasoning = Literal["auto", "all", "none"]
"""Reasoning of earlier turns: as it came, on every turn of ours (`""` where none came), or never."""


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

    @property
    def origin(self) -> str:
        """Sixteen hex digits that name source, base URL and model: private state goes back only to where it came from."""
        named = dumps([self.source, self.base_url, self.model])
        return hashlib.sha256(named).hexdigest()[:16]

    @property
    def key(self) -> str:
        """Sixteen hex digits that change with anything that a provider's memory of us may depend on."""
        return self.origin

    @property
    def endpoint(self) -> str:
        """The base URL for people and logs, without a query."""
        return without_query(self.base_url)

    def url(self, path: str) -> str:
        """The address of `path` below the base; a query of the base is kept."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path, fragment=""))

    def secrets(self) -> Iterator[Secret]:
        """All that must not appear in any text: the key, the values of the user's headers and of the base URL's query."""
        if self.api_key is not None:
            yield self.api_key
        for _, value in self.headers:
            yield value
            _, space, credential = value.reveal().partition(" ")
            if space:
                yield Secret(credential)
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


def base_url(text: str, what: str) -> str:
    """`text` as a base URL without its trailing slashes; raises InvalidInput that names `what`."""
    trimmed = text.strip()
    if any(char <= " " or char == "\x7f" for char in trimmed):
        raise InvalidInput(f"{what} must not hold spaces or control characters")
    try:
        parts = urlsplit(trimmed)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InvalidInput(f"{what} is not a URL") from None
    if not usable:
        raise InvalidInput(f"{what} must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise InvalidInput(f"{what} must not hold a user or password; give the key by itself")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"), fragment=""))
