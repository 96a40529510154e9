"""The one shape of a format module: canonical words in, bytes out, and back; no clock, socket, file or await."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..graph.jsontext import Json
from ..graph.messages import Message, ModelResponse, ToolSpec
from .connections.connection import Connection
from .outgoing import Fragment, Outgoing
from .wire import Body


class Format(Protocol):
    """What the gateway calls; each module of `formats/` is one."""

    @property
    def NAME(self) -> str: ...  # noqa: N802

    @property
    def NATIVE(self) -> str:  # noqa: N802
        """The `provider` of this format's native parts."""
        ...

    @property
    def COUNTED(self) -> bool:  # noqa: N802
        """Whether an answer with tool calls and without its native part is lost (`model.native_metadata_lost`)."""
        ...

    @property
    def CONTINUES(self) -> bool:  # noqa: N802
        """Whether the provider can remember an answer, so that a later request sends only what is new."""
        ...

    @property
    def STREAMS(self) -> bool:  # noqa: N802
        """Whether `read` takes a stream of events too, so that a connection may ask for one."""
        ...

    def endpoint(self, connection: Connection) -> tuple[str, dict[str, str]]:
        """The URL, and the headers that the format itself needs (authorization, versions)."""
        ...

    def encode_message(self, message: Message, connection: Connection) -> Fragment:
        """One message as a fragment that does not depend on its place.

        Native parts of another provider or origin are left out, canonical parts go in their stead.
        Raises ModelFailed `agent.invalid_model_message`, and ValueError for what can't be written as JSON.
        """
        ...

    def encode(self, outgoing: Outgoing) -> list[bytes]:
        """The body in pieces that are joined once; old turns are never encoded again. Raises ModelFailed, InvalidInput."""
        ...

    def read(self, data: bytes) -> Body:
        """The answer's document in the bytes as they were received (several documents or frames, it may be).

        Raises Unreadable.
        """
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


@runtime_checkable
class Revised(Protocol):
    """What a format is besides, if what it sends decides which revision of the provider's interface is meant."""

    def request_headers(self, outgoing: Outgoing) -> dict[str, str]:
        """The headers that this one request needs, beside those of the endpoint."""
        ...
