"""The gateway: what a run calls to turn its words into one exchange with its model, and the answer back into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..graph.errors import InvalidInput, ModelFailed, NativeMetadataLost
from ..graph.jsontext import Json
from ..graph.messages import Finish, Message, ModelResponse, NativePart, ToolSpec
from ..graph.ports import Clock, ConnectionStore, ModelSockets, ModelTransport, SecretStore, WireReply, WireRequest
from . import custody, errors, provider_state, transcript
from .calls import CONTENT_PART, check_count, is_own
from .connections.connection import Connection, without_query
from .connections.deployment import deployment
from .connections.policy import check_tools
from .connections.sources import connection_from_payload
from .connections.stored import selected
from .connections.vertex_tokens import AccessTokens
from .delivery import Delivered, Delivery, WireCall
from .format import Format, Revised
from .formats import claude_messages, gemini, gemini_interactions, openai_compatible, openai_responses
from .outgoing import Fragment, Outgoing
from .sse import is_stream
from .wire import Unreadable

_BUILT: tuple[Format, ...] = (claude_messages, gemini, gemini_interactions, openai_compatible, openai_responses)
"""The formats that are built: a new one is a module of `formats/` and a name in this line."""

FORMATS: dict[str, Format] = {shape.NAME: shape for shape in _BUILT}

MAX_PAUSES = 5
"""How often an answer may break off and be gone on with (`pause_turn`) inside one attempt."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answer: decoded, and as it came."""

    response: ModelResponse
    body: bytes = field(repr=False)
    """As received; several documents or frames stand one a line."""
    status: int
    headers: Mapping[str, str] = field(repr=False)
    provider_state: dict[str, Json]
    """The state that the next request builds on."""
    native: tuple[str, ...]
    """The SHA-256 of each native block, taken at birth (see `encode_turn`)."""
    replays: tuple[str, ...] = ()
    """Why the whole transcript was sent once more, each time that it was."""


class ModelGateway:
    """Safe for many runs at once; it remembers only live sessions and which connections refuse reasoning.

    `sockets`: for formats whose provider remembers answers; without them all goes by HTTP.
    """

    def __init__(
        self,
        transport: ModelTransport,
        secrets: SecretStore,
        clock: Clock,
        *,
        sockets: ModelSockets | None = None,
        connections: ConnectionStore | None = None,
    ) -> None:
        self._delivery = Delivery(transport, clock, sockets)
        self._tokens = AccessTokens(transport, clock)
        self._secrets = secrets
        self._connections = connections
        self._clock = clock
        self._refusals: dict[str, str] = {}
        """By origin: the words in which a host refused a property that it must not be sent again."""

    def selected(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The payload with the stored connection that it names put in (see `llm_connection.selected`); may block."""
        return selected(payload, self._connections)

    def connect(self, payload: dict[str, Json]) -> Connection:
        """The connection that a chat payload selects, its key looked up now; the stores may block.

        Raises InvalidInput, NotFound, and ModelFailed `model.provider_denied` for what the data root's settings do not
        allow, or a format that is not built.
        """
        chosen = self.selected(payload)
        connection = connection_from_payload(chosen, self._secrets, deployment(self._connections))
        shape = format_of(connection)
        if connection.switches.stream and not shape.STREAMS:
            able = ", ".join(built.NAME for built in _BUILT if built.STREAMS)
            raise InvalidInput(
                f"connection_dialect.stream must be false for {connection.format}; streams are read of {able}"
            )
        return connection

    def encode_turn(self, connection: Connection, message: Message, born: Sequence[str] | None = None) -> Fragment:
        """One message as a fragment, to be kept and given to `outgoing` with every later request on this connection.

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

    def outgoing(
        self,
        connection: Connection,
        settings: dict[str, Json],
        fragments: Sequence[Fragment],
        tools: Sequence[ToolSpec],
        state: Json,
        *,
        known: Sequence[ToolSpec] | None = None,
        tool_choice: Json = None,
    ) -> Outgoing:
        """The request of a round; `state` is the run's provider state, `known` all tools that a call may name.

        Raises ModelFailed `agent.provider_state_invalid`, `chat_completion.invalid_tool_transcript`, and
        `model.provider_denied` for tools where the connection takes none: nothing is sent.
        """
        shape = format_of(connection)
        check_tools(connection, tools)
        transcript.check(fragments)
        held = provider_state.continuation(state, connection, len(fragments), continues=shape.CONTINUES)
        return Outgoing(
            connection, settings, fragments, tools, tools if known is None else known, tool_choice,
            session=held.session, cursor=held.cursor, previous=held.previous, transport=held.transport,
        )  # fmt: skip

    def build(self, outgoing: Outgoing) -> WireRequest:
        """The final request. Raises ModelFailed `model.request_build_failed`, and InvalidInput for bad settings."""
        connection = outgoing.connection
        shape = format_of(connection)
        try:
            pieces = tuple(shape.encode(outgoing))
        except (ValueError, TypeError) as error:
            raise _unbuildable(error) from error
        body = b"".join(pieces)
        refusal = self._refusals.get(connection.origin)
        mended = None if refusal is None else shape.mended(body, refusal)
        url, headers = shape.endpoint(connection)
        if isinstance(shape, Revised):
            headers |= shape.request_headers(outgoing)
        if mended is not None:
            return _request(connection, url, headers, mended)
        return _request(connection, url, headers, body, pieces)

    async def generate(self, outgoing: Outgoing, heard: list[WireCall] | None = None) -> Exchange:
        """One attempt, with the few repeats that are no retries: without what a host said it refuses, after a pause.

        Every call that is made on the wire is added to `heard`, also where the attempt fails. Raises ModelFailed.
        """
        calls: list[WireCall] = [] if heard is None else heard
        outgoing = replace(outgoing, connection=await self._tokens.signed_in(outgoing.connection))
        shape = format_of(outgoing.connection)
        bodies: list[bytes] = []
        asked = outgoing
        for _ in range(1 + MAX_PAUSES):
            delivered = await self._delivered(shape, asked, calls)
            bodies.append(delivered.reply.body)
            reply = replace(delivered.reply, body=b"\n".join(bodies))
            try:
                response = self._decode(shape, outgoing.connection, reply, outgoing.known)
            except ModelFailed as failure:
                raise _placed(failure, outgoing.connection) from failure.__cause__
            if response.finish is not Finish.PAUSE or response.tool_calls:
                return self._exchange(shape, outgoing, response, replace(delivered, reply=reply))
            paused = shape.encode_message(response.message, outgoing.connection)
            asked = replace(outgoing, fragments=[*outgoing.fragments, paused])
        raise ModelFailed(
            f"the model paused more than {MAX_PAUSES} times inside one answer", code="model.upstream_invalid_response"
        )

    def decode_stored(
        self,
        connection: Connection,
        body: bytes,
        tools: Sequence[ToolSpec],
        *,
        sha256: str | None = None,
        origin: str | None = None,
        provider_format: str | None = None,
    ) -> ModelResponse:
        """The answer in a stored reply, without the network.

        `sha256`: of the body as it was received; another one raises NativeMetadataLost. `origin` and
        `provider_format`: of the connection that answered, where it may not be this one.
        """
        if sha256 is not None:
            custody.check_body(body, sha256)
        switches = replace(connection.switches, positional_tool_call_ids=True)  # it was decided when the answer came
        answered = replace(connection, format=provider_format or connection.format, switches=switches)
        shape = format_of(answered)
        try:
            return shape.decode(shape.read(body), answered, tools, origin or connection.origin)
        except Unreadable as error:
            raise NativeMetadataLost(f"a stored reply can't be read: {error}") from error

    def close_session(self, session: str) -> None:
        """Let a run's socket go, without waiting for it; an unknown session is none."""
        self._delivery.close_session(session)

    async def close(self) -> None:
        await self._delivery.close()

    async def _delivered(self, shape: Format, outgoing: Outgoing, heard: list[WireCall]) -> Delivered:
        """The provider's answer, or ModelFailed for its refusal."""
        delivered = await self._delivery.deliver(shape, outgoing, self.build, heard)
        if delivered.reply.status == 400:
            delivered = await self._repeated(shape, outgoing.connection, delivered, heard)
        reply = delivered.reply
        if reply.status == 401:
            self._tokens.forget(outgoing.connection)
        if not 200 <= reply.status < 300:
            failure = errors.failure(reply, now=self._clock.now(), scrub=outgoing.connection.scrub)
            raise _placed(failure, outgoing.connection)
        return delivered

    async def _repeated(
        self, shape: Format, connection: Connection, delivered: Delivered, heard: list[WireCall]
    ) -> Delivered:
        """The answer to the mended request, or the refusal where no repeat can help."""
        words = delivered.reply.body.decode("utf-8", "replace")
        wire = delivered.request
        body = shape.mended(wire.body, words)
        if body is None:
            return delivered
        again = await self._delivery.send(replace(wire, body=body, pieces=()), heard)
        if again.status != 400:
            self._refusals[connection.origin] = words[:4096]
        return replace(delivered, reply=again)

    def _decode(
        self, shape: Format, connection: Connection, reply: WireReply, tools: Sequence[ToolSpec]
    ) -> ModelResponse:
        try:
            if is_stream(reply.body) and not connection.switches.stream:
                raise Unreadable("an event stream, though none was asked for")
            body = shape.read(reply.body)
            error = shape.error_in(body)
            if error is not None:
                raise errors.failure_inside(reply, error, now=self._clock.now(), scrub=connection.scrub)
            response = shape.decode(body, connection, tools, connection.origin)
        except Unreadable as error:
            raise errors.unreadable(reply, str(error), scrub=connection.scrub) from None
        except ModelFailed as failure:
            raise errors.quoted(failure, reply, scrub=connection.scrub) from failure.__cause__
        check_count(response.tool_calls)
        if shape.COUNTED:
            custody.check_arrival(response, shape.NATIVE)
        return response

    def _exchange(self, shape: Format, outgoing: Outgoing, response: ModelResponse, delivered: Delivered) -> Exchange:
        state = provider_state.updated(
            outgoing.session,
            outgoing.connection,
            response,
            len(outgoing.fragments),
            native=shape.NATIVE if shape.COUNTED else None,
            transport=delivered.transport,
            continues=shape.CONTINUES,
        )
        reply = delivered.reply
        born = custody.born(response.message)
        return Exchange(response, reply.body, reply.status, reply.headers, state, born, delivered.replays)


def format_of(connection: Connection) -> Format:
    """The module that speaks the connection's format; raises ModelFailed `model.provider_denied`."""
    try:
        return FORMATS[connection.format]
    except KeyError:
        raise ModelFailed(
            f"the provider format {connection.format} is not built; these are: {', '.join(FORMATS)}",
            code="model.provider_denied",
            details={"providerFormat": connection.format},
        ) from None


def native_left(message: Message, connection: Connection) -> int:
    """How many native blocks of the message this connection will not be sent: they came from another one."""
    provider = format_of(connection).NATIVE
    return sum(
        isinstance(part, NativePart) and part.provider != CONTENT_PART and not is_own(part, provider, connection)
        for part in message.parts
    )


def _placed(failure: ModelFailed, connection: Connection) -> ModelFailed:
    url, _ = format_of(connection).endpoint(connection)
    failure.details.setdefault("endpoint", without_query(url))
    return failure


def _unbuildable(error: Exception) -> ModelFailed:
    return ModelFailed(f"the request can't be written as JSON: {error}", code="model.request_build_failed")


def _request(
    connection: Connection, url: str, headers: Mapping[str, str], body: bytes, pieces: tuple[bytes, ...] = ()
) -> WireRequest:
    proxy = None if connection.proxy is None else connection.proxy.reveal()
    return WireRequest(url, _headers(headers, connection), body, pieces=pieces, proxy=proxy)


def _headers(ours: Mapping[str, str], connection: Connection) -> dict[str, str]:
    """JSON both ways, then the format's headers, then the user's, which win by name."""
    accepted = "text/event-stream" if connection.switches.stream else "application/json"
    headers = {"content-type": "application/json", "accept": accepted}
    headers |= {name.lower(): value for name, value in ours.items()}
    headers |= {name.lower(): value.reveal() for name, value in connection.headers}
    return headers
