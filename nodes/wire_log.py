"""What of a call on the wire goes into a run's wire log: never a key, and of the headers only those that are harmless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..gateway.connections.connection import Connection, without_query
from ..gateway.connections.secret import Secret, masked, scrub
from ..gateway.delivery import WireCall
from ..gateway.provider_state import SOCKET
from ..graph.jsontext import Json
from ..graph.text import sha256_bytes
from ..storage.folder import Change, Put, pretty
from ..storage.runs import timestamp
from ..storage.wire_log import FragmentList, Place, WireLevel, fragment_path, record_path

_HEADERS = frozenset({
    "accept", "anthropic-beta", "anthropic-version", "api-revision", "cf-ray", "content-length", "content-type", "date",
    "openai-processing-ms", "openai-version", "request-id", "retry-after", "retry-after-ms", "server",
    "x-request-id", "x-goog-request-id",
})  # fmt: skip
_SIGNING_IN = ("authorization", "x-api-key", "x-goog-api-key")
_HEADER_FAMILIES = ("x-ratelimit-", "anthropic-ratelimit-")


@dataclass(slots=True)
class WireLog:
    """Knows the newest request, so that the next one is told by what is new in it."""

    level: WireLevel = "metadata"
    _newest: FragmentList = field(default_factory=FragmentList)

    def changes(
        self, round_number: int, attempt: int, connection: Connection, calls: Sequence[WireCall]
    ) -> list[Change]:
        """The files that tell of an attempt's calls; none where the log is off, or nothing was sent."""
        if self.level == "off" or not calls:
            return []
        files: list[tuple[str, bytes]] = []
        told = [
            self._call(Place(round_number, attempt, number), connection, call, files)
            for number, call in enumerate(calls)
        ]
        record = {"round": round_number, "attempt": attempt, "level": self.level, "calls": told}
        files.append((record_path(round_number, attempt), pretty(record)))
        return [Put(path, data) for path, data in files]

    def _call(
        self, place: Place, connection: Connection, call: WireCall, files: list[tuple[str, bytes]]
    ) -> dict[str, Json]:
        reply = call.reply
        answered = reply is not None and reply.status < 400
        error = None if call.error is None else scrub(call.error, _secrets(connection, call))
        if reply is not None and not answered:
            error = f"HTTP {reply.status}"
        return {
            "at": timestamp(call.started_at),
            "durationMs": round(call.duration_s * 1000),
            "level": "INFO" if answered else "WARN" if call.error == "cancelled" else "ERROR",
            "ok": answered,
            "errorMessage": error,
            "source": connection.source,
            "providerFormat": connection.format,
            "model": connection.model,
            "endpoint": without_query(call.request.url),
            "transport": call.transport,
            "stream": connection.switches.stream,
            "request": self._request(place, connection, call, files),
            "response": self._response(place, connection, call, files),
        }

    def _request(
        self, place: Place, connection: Connection, call: WireCall, files: list[tuple[str, bytes]]
    ) -> dict[str, Json]:
        request = call.request
        told: dict[str, Json] = {
            "method": "WEBSOCKET" if call.transport == SOCKET else request.method,
            "headers": _harmless(request.headers, connection, call),
            "bytes": len(request.body),
            "sha256": sha256_bytes(request.body),
        }
        if self.level == "full":
            listed, new = self._newest.told(place, _clean(request.pieces or (request.body,), connection, call))
            told |= listed
            files += new
        return told

    def _response(
        self, place: Place, connection: Connection, call: WireCall, files: list[tuple[str, bytes]]
    ) -> dict[str, Json] | None:
        reply = call.reply
        if reply is None:
            return None
        told: dict[str, Json] = {
            "status": reply.status,
            "headers": _harmless(reply.headers, connection, call),
            "bytes": len(reply.body),
            "sha256": sha256_bytes(reply.body),
        }
        if self.level == "full":
            (body,) = _clean((reply.body,), connection, call)
            told["path"] = fragment_path(sha256_bytes(body))
            files.append((told["path"], body))
        return told


def _clean(pieces: Iterable[bytes], connection: Connection, call: WireCall) -> list[bytes]:
    secrets = list(_secrets(connection, call))
    return [masked(piece, secrets) for piece in pieces]


def _harmless(headers: Mapping[str, str], connection: Connection, call: WireCall) -> dict[str, Json]:
    secrets = list(_secrets(connection, call))
    return {
        name: scrub(value, secrets)
        for name, value in headers.items()
        if name in _HEADERS or name.startswith(_HEADER_FAMILIES)
    }


def _secrets(connection: Connection, call: WireCall) -> Iterator[Secret]:
    """Those of the connection, and what was sent to sign in: an access token is made for a call."""
    yield from connection.secrets()
    for name in _SIGNING_IN:
        credential = call.request.headers.get(name, "")
        yield Secret(credential)
        yield Secret(credential.rpartition(" ")[2])
