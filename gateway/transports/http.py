"""One request over HTTP, its reply as it came: no environment proxies, no redirects, no retries."""

from __future__ import annotations

import asyncio
import logging
import ssl
from dataclasses import dataclass

import httpx

from ...graph.ports import WireReply, WireRequest
from ..connections.connection import without_query
from .faults import (
    ERROR_BODY_BYTES,
    MAX_REPLY_BYTES,
    connect_fault,
    is_bad_certificate,
    line_failed,
    not_askable,
    too_long,
)  # fmt: skip

_KEEPALIVE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds."""

    connect: float = 180.0
    read: float = 600.0
    """Between two pieces of the reply."""
    write: float = 600.0
    total: float = 600.0


class HttpTransport:
    """A `ModelTransport` over httpx: connections are kept alive, the client is made when it is first needed.

    `max_reply_bytes` bounds an answer as it is unpacked; a longer one is refused as soon as that is known.
    """

    def __init__(
        self,
        timeouts: Timeouts | None = None,
        *,
        proxy: str | None = None,
        verify: ssl.SSLContext | bool = True,
        max_reply_bytes: int = MAX_REPLY_BYTES,
    ) -> None:
        self._timeouts = timeouts or Timeouts()
        self._proxy = proxy
        self._verify = verify
        self.max_reply_bytes = max_reply_bytes
        self._clients: dict[tuple[bool, str | None], httpx.AsyncClient] = {}

    async def send(self, request: WireRequest) -> WireReply:
        """One exchange. Raises ModelFailed with details {networkCode, endpoint}; cancelling it closes the socket."""
        endpoint = without_query(request.url)
        try:
            async with asyncio.timeout(self._timeouts.total):
                return await self._exchange(request)
        except TimeoutError:
            raise line_failed("network.timeout", "did not answer in time", endpoint) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError):
            # LocalProtocolError quotes header values: nothing of it is told.
            raise not_askable() from None
        except httpx.RequestError as error:
            raise line_failed(*_what_happened(error), endpoint, retryable=not is_bad_certificate(error)) from None

    async def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _exchange(self, request: WireRequest) -> WireReply:
        stream = self._opened(request.url, request.proxy or self._proxy).stream(
            request.method, request.url, headers=dict(request.headers), content=request.body
        )
        async with stream as response:
            limit = self.max_reply_bytes
            if response.is_success and int(response.headers.get("content-length", "0")) > limit:
                raise too_long(limit, without_query(request.url), "max_reply_bytes")
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if not response.is_success and len(body) >= ERROR_BODY_BYTES:
                    del body[ERROR_BODY_BYTES:]
                    break
                if len(body) > limit:
                    raise too_long(limit, without_query(request.url), "max_reply_bytes")
            headers = {name.lower(): value for name, value in response.headers.items()}
            return WireReply(response.status_code, headers, bytes(body))

    def _opened(self, url: str, proxy: str | None) -> httpx.AsyncClient:
        """The client for the URL's scheme: certificates are loaded (0.1 s) only when an https URL is first asked."""
        is_plain = url.lower().startswith("http:") and proxy is None
        client = self._clients.get((is_plain, proxy))
        if client is None:
            _quieten()
            times = self._timeouts
            client = self._clients[is_plain, proxy] = httpx.AsyncClient(
                trust_env=False,
                follow_redirects=False,
                proxy=proxy,
                verify=False if is_plain else self._verify,  # nothing to verify; and no redirect leads it to https
                timeout=httpx.Timeout(connect=times.connect, read=times.read, write=times.write, pool=times.connect),
                limits=httpx.Limits(
                    max_connections=None, max_keepalive_connections=20, keepalive_expiry=_KEEPALIVE_SECONDS
                ),
                headers={"user-agent": "treadle"},
            )
        return client


def _quieten() -> None:
    """httpx and httpcore log whole URLs and headers; unless somebody set their level, only warnings remain."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


def _what_happened(error: httpx.RequestError) -> tuple[str, str]:
    match error:
        case httpx.TimeoutException():
            return "network.timeout", "did not answer in time"
        case httpx.ConnectError():
            return connect_fault(error)
        case httpx.ProxyError():
            return "network.proxy_failed", "can't be reached through the proxy"
        case httpx.ReadError() | httpx.RemoteProtocolError() | httpx.DecodingError():
            return "network.body_interrupted", "broke the connection off before its answer was whole"
        case _:
            return "network.request_failed", "could not be asked"
