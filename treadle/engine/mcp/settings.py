"""The settings of MCP servers, checked: how each is reached, which of its tools may be used, and where its keys come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from ...gateway.connections.connection import base_url
from ...gateway.connections.documents import Fault, Kind, parsed, raise_first
from ...gateway.connections.secret import Secret
from ...graph.errors import InvalidInput
from ...graph.jsontext import Json
from ...graph.mcp_names import is_server
from ...graph.ports import SecretStore
from ...graph.profiles.schema import Block, Names
from ...storage.mcp_servers import McpServersFile

KIND = "treadle.mcpServers"
MOST_TIMEOUT_MS = 600_000

_DOCUMENT = Kind(KIND, "the MCP servers file", {"": "mcp.settings_invalid"})
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_REFERENCE = re.compile(r"((?:Basic|Bearer|Token) )?(secret|env|keyring):(\S+)")


class ServerSettings(Block):
    """One server: a command to be run, or a URL."""

    command: str | None = None
    args: Names = Field(default=(), repr=False)  # a key may stand among them
    env: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str | None = Field(default=None, repr=False)
    headers: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    allow_tools: Names | None = None
    """As the server calls them; None allows all."""
    deny_tools: Names = ()
    idempotent_tools: Names = ()
    """May be called again where a crash hid whether they were; beside those that say so of themselves."""
    timeout_ms: int = 60_000
    enabled: bool = True

    def allows(self, tool: str) -> bool:
        return (self.allow_tools is None or tool in self.allow_tools) and tool not in self.deny_tools


class _Servers(Block):
    schema_version: int
    kind: str
    servers: dict[str, ServerSettings]


@dataclass(frozen=True, slots=True)
class Command:
    """A server that is a program, started by us; it talks over its standard input and output."""

    program: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Beside the few variables of ours that every server gets, such as PATH and HOME."""
    cwd: Path | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """A server that is reached over streamable HTTP."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is reached, its keys in place."""

    server: str
    to: Command | Address
    timeout_s: float
    secrets: tuple[Secret, ...]
    """What must not be shown of it."""


def mcp_servers(file: McpServersFile) -> Mapping[str, ServerSettings]:
    """All that the file names; none where there is no file. Blocking; raises InvalidInput with the field's path."""
    document = file.read()
    return {} if document is None else parse_servers(document)


def parse_servers(document: Json) -> Mapping[str, ServerSettings]:
    servers = parsed(_Servers, document, _DOCUMENT).servers
    raise_first(_faults(servers), _DOCUMENT)
    return servers


def way_to(name: str, settings: ServerSettings, secrets: SecretStore) -> Way:
    """Raises InvalidInput `mcp.secret_missing` for a key that is not there."""
    keys: list[Secret] = []

    def place(where: str, values: Mapping[str, str]) -> dict[str, str]:
        return {key: _placed(f"servers.{name}.{where}.{key}", value, secrets, keys) for key, value in values.items()}

    to: Command | Address
    if settings.command is not None:
        cwd = None if settings.cwd is None else Path(settings.cwd)
        to = Command(settings.command, settings.args, place("env", settings.env), cwd)
    else:
        to = Address(settings.url or "", place("headers", settings.headers))
    return Way(name, to, settings.timeout_ms / 1000, tuple(keys))


def _placed(where: str, value: str, secrets: SecretStore, keys: list[Secret]) -> str:
    """The value with the key that it refers to; what is written out in the file is kept secret all the same."""
    reference = _REFERENCE.fullmatch(value)
    if reference is None:
        keys.append(Secret(value))
        return value
    before, kind, name = reference.groups(default="")
    key = secrets.get(name if kind == "secret" else f"{kind}:{name}")
    if key is None:
        raise InvalidInput(
            f"the MCP servers file's $.{where} names {kind}:{name}, and there is no such secret",
            code="mcp.secret_missing",
        )
    keys.append(Secret(key))
    return before + key


def _faults(servers: Mapping[str, ServerSettings]) -> Iterator[Fault]:
    for name, settings in servers.items():
        where = f"servers.{name}"
        if not is_server(name):
            yield Fault(
                "servers", f"names a server {name!r}; a name must be 1 to 32 of a-z 0-9 -, not beginning with -"
            )
        if (settings.command is None) == (settings.url is None):
            yield Fault(where, "must have a command or a url, and not both")
        yield from _command_faults(settings, where) if settings.url is None else _url_faults(settings, where)
        if not 1 <= settings.timeout_ms <= MOST_TIMEOUT_MS:
            yield Fault(f"{where}.timeoutMs", f"must be 1 to {MOST_TIMEOUT_MS}")


def _command_faults(settings: ServerSettings, where: str) -> Iterator[Fault]:
    if not (settings.command or "").strip():
        yield Fault(f"{where}.command", "must name a program")
    if settings.headers:
        yield Fault(f"{where}.headers", "is for a server with a url; remove it")
    for field_name, values in (("command", (settings.command,)), ("args", settings.args), ("cwd", (settings.cwd,))):
        if any("\0" in (value or "") for value in values):
            yield Fault(f"{where}.{field_name}", "must not hold a null character")
    if settings.cwd is not None and not Path(settings.cwd).is_absolute():
        yield Fault(f"{where}.cwd", "must be an absolute path")
    for key, value in settings.env.items():
        if not key or "=" in key or "\0" in key + value:
            yield Fault(f"{where}.env", f"holds {key!r}, which can't be a variable of the environment")


def _url_faults(settings: ServerSettings, where: str) -> Iterator[Fault]:
    for field_name, given in (("args", settings.args), ("env", settings.env), ("cwd", settings.cwd)):
        if given:
            yield Fault(f"{where}.{field_name}", "is for a server with a command; remove it")
    try:
        base_url(settings.url or "", "url")
    except InvalidInput as error:
        yield Fault(f"{where}.url", error.message.removeprefix("url "))
    for key, value in settings.headers.items():
        if not _HEADER_NAME.fullmatch(key) or not value.isprintable() or not value.isascii():
            yield Fault(f"{where}.headers", f"holds {key!r}, which can't be a header")
