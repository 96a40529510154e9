"""The provider's state as a run keeps it: what the last answer left behind, and what a next request may build on.

It is private to us: it goes neither upstream nor into a log. Keys are camelCase, as they stand on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from ..graph.errors import ModelFailed
from ..graph.jsontext import Json, is_object
from ..graph.messages import ModelResponse, NativePart
from .connections.connection import Connection

SOCKET = "responses_websocket"
HTTP = "http"

_TOLD = (
    "chatCompletionSource", "providerFormat", "transport", "messageCursor", "lastResponseId", "previousResponseId",
    "nativeContinuation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a request may take for granted on the provider's side."""

    session: str
    cursor: int = 0
    """Messages that the last answered request held; 0 where it was asked of another connection, or there was none."""
    previous: str | None = None
    """The id of the answer that the provider remembers, with all that came before it."""
    transport: str | None = None


def initial(session: str) -> dict[str, Json]:
    return {"sessionId": session}


def continuation(state: Json, connection: Connection, message_count: int, *, continues: bool) -> Continuation:
    """What the state allows on this connection; `continues`: whether its format can build on an answer.

    Raises ModelFailed `agent.provider_state_invalid`: no session id, or a cursor that does not fit the transcript.
    """
    held = state if is_object(state) else {}
    session = held.get("sessionId")
    if not isinstance(session, str) or not session.strip():
        raise _invalid("sessionId is missing")
    if not is_same(held, connection):
        return Continuation(session)
    previous = held.get("previousResponseId")
    previous = previous if continues and isinstance(previous, str) and previous.strip() else None
    cursor = held.get("messageCursor")
    if previous is not None and not _is_count(cursor):
        raise _invalid("messageCursor is missing: without it nobody knows what the provider has seen")
    if not _is_count(cursor):
        return Continuation(session)
    if cursor > message_count:
        raise _invalid(f"messageCursor {cursor} exceeds the {message_count} messages of the transcript")
    return Continuation(session, cursor, previous, held.get("transport"))


def is_same(state: Json, connection: Connection) -> bool:
    """Whether the state does not contradict the connection; what it does not name is taken for the same."""
    known = {
        "chatCompletionSource": connection.source, "providerFormat": connection.format, "connectionKey": connection.key,
    }  # fmt: skip
    return all(state.get(name) in (None, value) for name, value in known.items())


def updated(
    session: str,
    connection: Connection,
    response: ModelResponse,
    message_count: int,
    *,
    native: str | None,
    transport: str,
    continues: bool,
) -> dict[str, Json]:
    """The state after an answer, made anew; `native`: the provider of the native parts that are counted, if any.

    Raises ModelFailed `agent.provider_state_invalid` where a format that continues got no response id.
    """
    if continues and response.id is None:
        raise _invalid("the answer has no response id, so nothing can be built on it")
    state: dict[str, Json] = {
        "sessionId": session,
        "chatCompletionSource": connection.source,
        "providerFormat": connection.format,
        "connectionKey": connection.key,
        "model": connection.model,
        "messageCursor": message_count,
        "lastResponseId": response.id,
    }
    if native is not None:
        count = sum(isinstance(part, NativePart) and part.provider == native for part in response.message.parts)
        state["nativeContinuation"] = {"provider": native, "partCount": count}
    if continues:
        state["transport"] = transport
    if continues and transport == SOCKET:
        state["previousResponseId"] = response.id
    return state


def told(state: dict[str, Json]) -> dict[str, Json]:
    """What `provider_state_updated` tells: no session, no key, no native value."""
    return {key: state.get(key) for key in _TOLD} | {"transport": state.get("transport", HTTP)}


def _is_count(value: Json) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _invalid(what: str) -> ModelFailed:
    return ModelFailed(f"the provider state can't be used: {what}", code="agent.provider_state_invalid")
