"""How the tools of MCP servers are named: `mcp.<server>.<tool>`, `mcp.<server>.*` for all of a server, and their aliases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

PREFIX = "mcp."
ALL = "*"
TOOL_CHARS = 128
ALIAS_CHARS = 64

_SERVER = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
"""Without `_`: the alias then tells where the server's name ends."""

_FIT = re.compile(r"[a-zA-Z0-9_-]+")
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_MARK_DIGITS = 8


class McpName(NamedTuple):
    server: str
    tool: str
    """As the server calls it; `*` for all of its tools."""

    def __str__(self) -> str:
        return f"{PREFIX}{self.server}.{self.tool}"


def mcp_name(name: str) -> McpName | None:
    """The parts of a tool's name, or of a wildcard; None for what is no such name."""
    if not name.startswith(PREFIX):
        return None
    server, _, tool = name.removeprefix(PREFIX).partition(".")
    return McpName(server, tool) if is_server(server) and is_tool(tool) else None


def is_server(name: str) -> bool:
    """1 to 32 of a-z 0-9 -, not beginning with -."""
    return _SERVER.fullmatch(name) is not None


def is_tool(name: str) -> bool:
    """1 to 128 characters that can be seen, without spaces."""
    return 0 < len(name) <= TOOL_CHARS and name.isprintable() and " " not in name


def is_many(name: str) -> bool:
    """Whether it stands for all tools of a server."""
    named = mcp_name(name)
    return named is not None and named.tool == ALL


def covers(pattern: str, name: str) -> bool:
    """Whether an entry of a profile means this tool: by its name, or as one of its server's."""
    if pattern == name:
        return True
    many, one = mcp_name(pattern), mcp_name(name)
    return is_many(pattern) and many is not None and one is not None and many.server == one.server


def is_shown(name: str, allow: Iterable[str], deny: Iterable[str]) -> bool:
    return any(covers(pattern, name) for pattern in allow) and not any(covers(pattern, name) for pattern in deny)


@lru_cache(maxsize=1024)
def alias_of(name: str) -> str:
    """What servers of models are told in place of a tool's name: every `.` becomes `_`.

    Where the name of an MCP tool holds other characters than a-z A-Z 0-9 _ -, or is too long, the alias is cut and ends
    in eight hex digits of the name's SHA-256. It hangs on the name alone, so a run that is resumed gives it again.
    """
    named = mcp_name(name)
    plain = name.replace(".", "_")
    if named is None or (_FIT.fullmatch(named.tool) and len(plain) <= ALIAS_CHARS):
        return plain
    mark = hashlib.sha256(name.encode()).hexdigest()[:_MARK_DIGITS]
    return f"{_UNFIT.sub('_', plain)[: ALIAS_CHARS - _MARK_DIGITS - 1]}_{mark}"
