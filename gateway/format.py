"""The one shape of a format module: canonical words in, bytes out, and back; no clock, socket, file or await."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..graph.jsontext import Json
from ..graph.messages import Message, ModelResponse, ToolSpec
from .connection import Connection
from .wire import Body


class Format(Protocol):
    """What the gateway calls; each module of `formats/` is one."""

    @property
    def NAME(self) -> str: ...  # noqa: N802

    def endpoint(self, connection: Connection) -> tuple[str, dict[str, str]]:
        """The URL, and the headers that the format itself needs (authorization, versions)."""
        ...

    def encode_message(self, message: Message, connection: Connection) -> bytes:
        """One message as a fragment that does not depend on its place; only `encode` reads fragments.

        Raises ModelFailed `agent.invalid_model_message`.
        """
        ...

    def encode(
        self,
        connection: Connection,
        payload: dict[str, Json],
        fragments: Sequence[bytes],
        tools: Sequence[ToolSpec],
        tool_choice: Json,
    ) -> bytes:
        """The body; old turns are joined, never encoded again. Raises ModelFailed, InvalidInput."""
        ...

    def error_in(self, body: Body) -> Json:
        """The error document that a 200 carries in place of an answer; None where it carries an answer."""
        ...

    def decode(self, body: Body, connection: Connection, tools: Sequence[ToolSpec], origin: str) -> ModelResponse:
        """The answer with its native block, an exact slice of the body.

        Raises ModelFailed (`model.invalid_tool_call`, `model.upstream_invalid_response`, …); Unreadable.
        """
        ...

    def mended(self, body: bytes, refusal: str) -> bytes | None:
        """The body that a host may take after it refused `body` in these words; None where no repeat can help."""
        ...
