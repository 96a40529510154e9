"""What a format is given to write: messages that were encoded once, and the request that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..graph.jsontext import Json
from ..graph.messages import Role, ToolSpec
from .connections.connection import Connection


@dataclass(frozen=True, slots=True)
class Fragment:
    """One canonical message as a format sends it: encoded once, joined into every later request.

    `items` are the wire items (messages, blocks, parts or steps) that it becomes; only its format reads them.
    """

    role: Role
    items: tuple[bytes, ...]
    native: bool = False
    """The items are the provider's own blocks: not merged with others, not marked, none left out."""
    calls: tuple[str, ...] = ()
    """Canonical ids of the tool calls that the message asks for, in order."""
    answers: str | None = None
    """Canonical id of the call that the message answers."""
    echoed: frozenset[str] = frozenset()
    """Those of `calls` whose id stands in a native block (of formats where an answer repeats the id only then)."""
    schema: str = ""
    """Of native items: which of its format's wire schemas they are written in, where it has several."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request before a format writes it; the transcript is whole in every round."""

    connection: Connection
    settings: dict[str, Json]
    """The chat payload without its prompt."""
    fragments: Sequence[Fragment] = field(repr=False)
    tools: Sequence[ToolSpec] = ()
    """Those that the model is told of."""
    known: Sequence[ToolSpec] = ()
    """All that a call may name, by which its name is made canonical."""
    tool_choice: Json = None
    """None means "auto" when there are tools."""
    session: str = ""
    """The opaque session id; it never goes upstream."""
    cursor: int = 0
    """How many of the fragments this connection's last answered request held; 0 where there was none."""
    transport: str | None = None
    """How the last answer came, where that matters."""
    previous: str | None = None
    """The answer that holds all up to the cursor and its own turn: only what came later is sent."""

    def whole(self) -> Outgoing:
        """The same request without a memory on the provider's side."""
        return replace(self, previous=None)
