"""One request over HTTP, its reply as it came: no environment proxies, no redirects, no retries."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from socket import gaierror

import httpx

from ...graph.errors import ModelFailed
from ...graph.ports import WireReply, WireRequest
from ..connection import without_query

ERROR_BODY_BYTES = 64 * 1024
"""Of a reply outside 200 to 299 no more is read."""

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
    """A `ModelTransport` over httpx: connections are kept alive, the client is made when it is first needed."""

    def __init__(
        self, timeouts: Timeouts | None = None, *, proxy: str | None = None, verify: ssl.SSLContext | bool = True
    ) -> None:
        self._timeouts = timeouts or Timeouts()
        self._proxy = proxy
        self._verify = verify
        self._clients: dict[bool, httpx.AsyncClient] = {}

    async def send(self, request: WireRequest) -> WireReply:
        """One exchange. Raises ModelFailed with details {networkCode, endpoint}; cancelling it closes the socket."""
        endpoint = without_query(request.url)
        try:
            async with asyncio.timeout(self._timeouts.total):
                return await self._exchange(request)
        except TimeoutError:
            raise _failed("network.timeout", "did not answer in time", endpoint) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError):
            # LocalProtocolError quotes header values: nothing of it is told.
            raise ModelFailed(
                "the request's address or headers are not valid", code="model.request_build_failed"
            ) from None
        except httpx.RequestError as error:
            raise _failed(*_what_happened(error), endpoint, retryable=not _is_bad_certificate(error)) from None

    async def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _exchange(self, request: WireRequest) -> WireReply:
        stream = self._opened(request.url).stream(
            request.method, request.url, headers=dict(request.headers), content=request.body
        )
        async with stream as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if not response.is_success and len(body) >= ERROR_BODY_BYTES:
                    del body[ERROR_BODY_BYTES:]
                    break
            headers = {name.lower(): value for name, value in response.headers.items()}
            return WireReply(response.status_code, headers, bytes(body))

    def _opened(self, url: str) -> httpx.AsyncClient:
        """The client for the URL's scheme: certificates are loaded (0.1 s) only when an https URL is first asked."""
        is_plain = url.lower().startswith("http:") and self._proxy is None
        client = self._clients.get(is_plain)
        if client is None:
            _quieten()
            times = self._timeouts
            client = self._clients[is_plain] = httpx.AsyncClient(
                trust_env=False,
                follow_redirects=False,
                proxy=self._proxy,
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
        case httpx.ConnectError() if any(isinstance(cause, gaierror) for cause in _causes(error)):
            return "network.dns_failed", "has a name that can't be resolved"
        case httpx.ConnectError() if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
            return "network.tls_failed", "could not be reached securely"
        case httpx.ConnectError():
            return "network.connect_failed", "can't be reached"
        case httpx.ProxyError():
            return "network.proxy_failed", "can't be reached through the proxy"
        case httpx.ReadError() | httpx.RemoteProtocolError() | httpx.DecodingError():
            return "network.body_interrupted", "broke the connection off before its answer was whole"
        case _:
            return "network.request_failed", "could not be asked"


def _is_bad_certificate(error: httpx.RequestError) -> bool:
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _failed(network_code: str, what: str, endpoint: str, *, retryable: bool = True) -> ModelFailed:
    details: dict[str, object] = {"networkCode": network_code, "endpoint": endpoint}
    return ModelFailed(f"the model's server {what} ({network_code})", retryable=retryable, details=details)
