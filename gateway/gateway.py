"""The gateway: what a run calls to turn its words into one exchange with its model, and the answer back into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..graph.errors import ModelFailed, NativeMetadataLost
from ..graph.jsontext import Json
from ..graph.messages import Message, ModelResponse, NativePart, ToolSpec
from ..graph.ports import Clock, ModelTransport, SecretStore, WireReply, WireRequest
from . import custody, errors
from .connection import Connection, without_query
from .format import Format
from .formats import openai_compatible
from .sources import connection_from_payload
from .wire import Unreadable, read

FORMATS: dict[str, Format] = {openai_compatible.NAME: openai_compatible}
"""The formats that are built, by name: a new one is a module of `formats/` and a line here."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answer: decoded, and as it came."""

    response: ModelResponse
    body: bytes = field(repr=False)
    status: int
    headers: Mapping[str, str] = field(repr=False)
    provider_state: dict[str, Json]
    native: tuple[str, ...]
    """The SHA-256 of each native block, taken at birth (see `encode_turn`)."""


class ModelGateway:
    """Safe for many runs at once; it remembers only which connections refuse reasoning."""

    def __init__(self, transport: ModelTransport, secrets: SecretStore, clock: Clock) -> None:
        self._transport = transport
        self._secrets = secrets
        self._clock = clock
        self._refusals: dict[str, str] = {}
        """By origin: the words in which a host refused a property that it must not be sent again."""

    def connect(self, payload: dict[str, Json]) -> Connection:
        """The connection that a chat payload selects, its key looked up now; the store may block.

        Raises InvalidInput, and ModelFailed `model.provider_denied` for a format that is not built.
        """
        connection = connection_from_payload(payload, self._secrets)
        format_of(connection)
        return connection

    def encode_turn(self, connection: Connection, message: Message, born: Sequence[str] | None = None) -> bytes:
        """One message as a fragment, to be kept and given to `build` with every later request on this connection.

        `born` are the digests that came with the answer (`Exchange.native`): a block that is not as it was received,
        or no JSON, raises NativeMetadataLost. Raises ModelFailed `agent.invalid_model_message`.
        """
        if born is not None:
            custody.check(message, born)
        try:
            return format_of(connection).encode_message(message, connection)
        except ValueError as error:
            if any(isinstance(part, NativePart) for part in message.parts):
                raise NativeMetadataLost(f"a provider's block can't be read: {error}") from error
            raise _unbuildable(error) from error

    def build(
        self,
        connection: Connection,
        payload: dict[str, Json],
        fragments: Sequence[bytes],
        tools: Sequence[ToolSpec],
        tool_choice: Json = None,
    ) -> WireRequest:
        """The final request. Raises ModelFailed `model.request_build_failed`, and InvalidInput for bad settings."""
        shape = format_of(connection)
        try:
            body = shape.encode(connection, payload, fragments, tools, tool_choice)
        except (ValueError, TypeError) as error:
            raise _unbuildable(error) from error
        refusal = self._refusals.get(connection.origin)
        if refusal is not None:
            body = shape.mended(body, refusal) or body
        url, headers = shape.endpoint(connection)
        return WireRequest(url, _headers(headers, connection), body)

    async def generate(self, connection: Connection, wire: WireRequest, tools: Sequence[ToolSpec]) -> Exchange:
        """One attempt, and at most one repeat without what the host said it refuses; raises ModelFailed."""
        reply = await self._transport.send(wire)
        if reply.status == 400:
            reply = await self._repeated(connection, wire, reply)
        if not 200 <= reply.status < 300:
            raise self._placed(errors.failure(reply, now=self._clock.now(), scrub=connection.scrub), wire)
        try:
            response = self._decode(connection, reply, tools)
        except ModelFailed as failure:
            raise self._placed(failure, wire) from failure.__cause__
        return Exchange(
            response=response,
            body=reply.body,
            status=reply.status,
            headers=reply.headers,
            provider_state=provider_state(connection, response),
            native=custody.born(response.message),
        )

    def decode_stored(
        self,
        connection: Connection,
        body: bytes,
        tools: Sequence[ToolSpec],
        *,
        sha256: str | None = None,
        origin: str | None = None,
    ) -> ModelResponse:
        """The answer in a stored reply, without the network.

        `sha256`: of the body as it was received; another one raises NativeMetadataLost. `origin`: the connection that
        answered, where it may not be this one.
        """
        if sha256 is not None:
            custody.check_body(body, sha256)
        try:
            return format_of(connection).decode(read(body), connection, tools, origin or connection.origin)
        except Unreadable as error:
            raise NativeMetadataLost(f"a stored reply can't be read: {error}") from error

    async def close(self) -> None:
        await self._transport.close()

    def _decode(self, connection: Connection, reply: WireReply, tools: Sequence[ToolSpec]) -> ModelResponse:
        shape = format_of(connection)
        try:
            body = read(reply.body)
            error = shape.error_in(body)
            if error is not None:
                raise errors.failure_inside(reply, error, now=self._clock.now(), scrub=connection.scrub)
            return shape.decode(body, connection, tools, connection.origin)
        except Unreadable as error:
            raise errors.unreadable(reply, str(error), scrub=connection.scrub) from None

    async def _repeated(self, connection: Connection, wire: WireRequest, reply: WireReply) -> WireReply:
        """The reply to the mended request, or `reply` where no repeat can help."""
        words = reply.body.decode("utf-8", "replace")
        body = format_of(connection).mended(wire.body, words)
        if body is None:
            return reply
        again = await self._transport.send(WireRequest(wire.url, wire.headers, body, wire.method))
        if again.status != 400:
            self._refusals[connection.origin] = words[:4096]
        return again

    def _placed(self, failure: ModelFailed, wire: WireRequest) -> ModelFailed:
        failure.details.setdefault("endpoint", without_query(wire.url))
        return failure


def format_of(connection: Connection) -> Format:
    """The module that speaks the connection's format; raises ModelFailed `model.provider_denied`."""
    try:
        return FORMATS[connection.format]
    except KeyError:
        raise ModelFailed(
            f"the provider format {connection.format} is not built yet; {', '.join(FORMATS)} is",
            code="model.provider_denied",
            details={"providerFormat": connection.format},
        ) from None


def native_left(message: Message, connection: Connection) -> int:
    """How many native blocks of the message this connection will not be sent: they came from another one."""
    return sum(
        isinstance(part, NativePart)
        and part.provider != openai_compatible.CONTENT_PART
        and (part.provider != connection.format or part.origin not in ("", connection.origin))
        for part in message.parts
    )


def provider_state(connection: Connection, response: ModelResponse) -> dict[str, Json]:
    """What `provider_state_updated` tells of an exchange; no native value is in it."""
    return {
        "chatCompletionSource": connection.source,
        "providerFormat": connection.format,
        "transport": "http",
        "messageCursor": None,
        "lastResponseId": response.id,
        "previousResponseId": None,
        "nativeContinuation": None,
    }


def _unbuildable(error: Exception) -> ModelFailed:
    return ModelFailed(f"the request can't be written as JSON: {error}", code="model.request_build_failed")


def _headers(ours: Mapping[str, str], connection: Connection) -> dict[str, str]:
    """JSON both ways, then the format's headers, then the user's, which win by name."""
    headers = {"content-type": "application/json", "accept": "application/json"}
    headers |= {name.lower(): value for name, value in ours.items()}
    headers |= {name.lower(): value.reveal() for name, value in connection.headers}
    return headers
