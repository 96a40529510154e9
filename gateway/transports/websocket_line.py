"""One WebSocket to a provider: a text frame out, frames in as bytes, no redirects, no compression.

This is the one module that imports `websockets`; it is imported when the first socket is opened.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidProxy,
    InvalidStatus,
    InvalidURI,
    ProxyError,
)
from websockets.http11 import Response
from websockets.protocol import State

from ...graph.errors import ModelFailed
from ...graph.ports import UpgradeRefused, WireReply
from ..connections.connection import without_query
from .faults import ERROR_BODY_BYTES, connect_fault, is_bad_certificate, line_failed, not_askable, too_long
from .socket_times import SocketTimes

_TOO_BIG = 1009

_log = logging.getLogger(__name__)


class Line:
    """An open socket. One exchange at a time; after one that did not end, only `close` is of use."""

    def __init__(self, connection: ClientConnection, endpoint: str, times: SocketTimes, max_size: int) -> None:
        self._connection = connection
        self._endpoint = endpoint
        self._times = times
        self._max_size = max_size

    @property
    def is_open(self) -> bool:
        return self._connection.state is State.OPEN

    async def exchange(self, message: bytes, is_last: Callable[[bytes], bool]) -> tuple[bytes, ...]:
        """Send the message, and return the frames up to the last; raises ModelFailed."""
        frames: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._times.write):
                await self._connection.send(message, text=True)
            while not frames or not is_last(frames[-1]):
                async with asyncio.timeout(self._times.idle):
                    frames.append(await self._connection.recv(decode=False))
                size += len(frames[-1])
                if size > self._max_size:
                    raise self._too_long()
        except TimeoutError:
            raise line_failed("network.timeout", "did not answer in time", self._endpoint) from None
        except ConnectionClosed as closed:
            raise self._lost(closed) from None
        return tuple(frames)

    async def close(self) -> None:
        """Say goodbye with code 1000; cut the connection off if the server does not answer, or if this is cancelled."""
        try:
            async with asyncio.timeout(self._times.close):
                await self._connection.close()
        except TimeoutError:
            _log.warning("%s did not answer the close of a WebSocket; it was cut off", self._endpoint)
        finally:
            self._connection.transport.abort()
        await self._connection.wait_closed()

    def _too_long(self) -> ModelFailed:
        return too_long(self._max_size, self._endpoint, "max_size")

    def _lost(self, closed: ConnectionClosed) -> ModelFailed:
        if closed.sent is not None and closed.sent.code == _TOO_BIG and not closed.rcvd_then_sent:
            return self._too_long()
        if closed.rcvd is None:
            if closed.sent is not None and closed.sent.reason == "keepalive ping timeout":
                return line_failed("network.timeout", "did not answer a ping in time", self._endpoint)
            return line_failed(
                "network.request_failed", "broke the WebSocket off before its last event", self._endpoint
            )
        return line_failed(
            "network.request_failed",
            f"closed the WebSocket before its last event (close code {closed.rcvd.code})",
            self._endpoint,
            retryable=closed.rcvd.code != _TOO_BIG,  # what was sent is too large for it, and stays so
            closeCode=closed.rcvd.code,
        )


async def dial(
    url: str,
    headers: Mapping[str, str],
    times: SocketTimes,
    *,
    max_size: int,
    proxy: str | None,
    context: ssl.SSLContext | None,
) -> Line:
    """Open a `ws` or `wss` URL (`wss` with its context); raises UpgradeRefused, or ModelFailed."""
    endpoint = without_query(url)
    _quieten()
    try:
        connection = await _Connect(
            url,
            additional_headers=dict(headers),
            user_agent_header="treadle",
            compression=None,  # a frame is its own bytes, and the size limit is that of what arrives
            proxy=proxy,
            open_timeout=times.connect,
            ping_interval=times.ping,
            ping_timeout=times.pong,
            close_timeout=times.close,
            max_size=max_size,
            create_connection=_Connection,
            ssl=context,
        )
    except InvalidStatus as refused:
        raise UpgradeRefused(_reply(refused.response)) from None
    except (InvalidHandshake, InvalidURI, InvalidProxy, ImportError, ValueError, OSError) as error:
        raise _not_opened(error, endpoint, secure=context is not None, through_proxy=proxy is not None) from None
    return Line(connection, endpoint, times, max_size)


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception | str:
        """Never another address: it would be given the user's own headers."""
        return exc


class _Connection(ClientConnection):
    def data_received(self, data: bytes) -> None:
        """A server that has said goodbye, or is told that it went wrong, has `close_timeout` to hang up."""
        was_open = self.state is State.OPEN
        super().data_received(data)
        if was_open and self.state is not State.OPEN and self.close_timeout is not None:
            self.loop.call_later(self.close_timeout, self.transport.abort)


def _not_opened(error: Exception, endpoint: str, *, secure: bool, through_proxy: bool) -> ModelFailed:
    match error:
        case TimeoutError():
            return line_failed("network.timeout", "did not answer in time", endpoint)
        case ProxyError():
            return line_failed("network.proxy_failed", "can't be reached through the proxy", endpoint)
        case InvalidHandshake():
            return line_failed("network.request_failed", "did not open a WebSocket as it should", endpoint)
        case ImportError():
            return ModelFailed(
                "a SOCKS proxy needs the package python-socks: install it", code="model.request_build_failed"
            )
        case OSError() if through_proxy and not isinstance(error, ssl.SSLError):
            return line_failed("network.proxy_failed", "can't be reached through the proxy", endpoint)
        case ConnectionResetError() if secure:  # after the connect, so in the TLS handshake
            return line_failed("network.tls_failed", "could not be reached securely", endpoint)
        case OSError():
            return line_failed(*connect_fault(error), endpoint, retryable=not is_bad_certificate(error))
        case _:
            return not_askable()


def _reply(response: Response) -> WireReply:
    headers: dict[str, str] = {}
    for name, value in response.headers.raw_items():
        known = headers.get(name.lower())
        headers[name.lower()] = value if known is None else f"{known}, {value}"
    return WireReply(response.status_code, headers, bytes(response.body or b"")[:ERROR_BODY_BYTES])


def _quieten() -> None:
    """websockets logs headers and frames at debug; unless somebody set its level, only warnings remain."""
    logger = logging.getLogger("websockets")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)
