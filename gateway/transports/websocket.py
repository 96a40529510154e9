"""WebSockets of sessions: one socket for each, one turn at a time, and none used again after a turn that broke off."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import httpx

from ...graph.errors import ModelFailed
from ...graph.ports import Clock, Opened, WireRequest
from .faults import MAX_REPLY_BYTES, line_failed, not_askable
from .socket_times import SocketTimes

if TYPE_CHECKING:
    from .websocket_line import Line

_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

_Key = tuple[str, frozenset[tuple[str, str]], str | None]
"""URL, headers and network proxy."""


@dataclass(slots=True, eq=False)
class _Live:
    line: Line
    key: _Key = field(repr=False)  # the headers hold the key
    number: int
    opened: float
    used: float


@dataclass(slots=True, eq=False)
class _Session:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    live: _Live | None = None
    is_closed: bool = False
    users: set[asyncio.Timeout] = field(default_factory=set[asyncio.Timeout])
    """Of whoever uses the session or waits for it: what ends that when the session is closed."""


class WebSocketTransport:
    """`ModelSockets` over the `websockets` library, which is imported when the first socket is opened.

    `max_size` bounds what is received in one turn, all its frames together, in bytes. Beyond `max_sockets` the one unused longest is closed; one in a
    turn never is.
    """

    def __init__(
        self,
        clock: Clock,
        times: SocketTimes | None = None,
        *,
        proxy: str | None = None,
        verify: ssl.SSLContext | bool = True,
        max_size: int = MAX_REPLY_BYTES,
        max_sockets: int = 64,
    ) -> None:
        self._clock = clock
        self._times = times or SocketTimes()
        self._proxy = proxy
        self._verify = verify
        self._context: ssl.SSLContext | None = None
        self._max_size = max_size
        self._max_sockets = max_sockets
        self._sessions: dict[str, _Session] = {}
        self._numbers = count(1)
        self._closing: set[asyncio.Task[None]] = set()

    async def open(self, session: str, request: WireRequest) -> Opened:
        """See to a live socket to the request's URL with its headers; raises UpgradeRefused, or ModelFailed."""
        key = _socket_url(request.url), _checked(request), request.proxy or self._proxy
        async with self._held(session) as held:
            live = held.live
            is_fresh = live is None or not self._serves(live, key)
            if live is None or is_fresh:
                self._drop(held)
                live = await self._dialled(held, key, request)
            return Opened(is_fresh, self._clock.monotonic() - live.opened, live.number)

    async def turn(self, session: str, message: bytes, is_last: Callable[[bytes], bool]) -> tuple[bytes, ...]:
        """Send one text frame; the frames received up to the one of which `is_last` is true. Raises ModelFailed."""
        async with self._held(session) as held:
            live = held.live
            if live is None:
                raise line_failed("network.request_failed", "has no open WebSocket for this session", "")
            is_whole = False
            try:
                frames = await live.line.exchange(message, is_last)
                is_whole = True
            finally:
                live.used = self._clock.monotonic()
                if not is_whole:
                    self._drop(held)
            return frames

    def discard(self, session: str) -> None:
        """Drop the session's socket; it is closed in the background, and the next `open` makes a new one."""
        held = self._sessions.get(session)
        if held is not None:
            self._drop(held)

    def close_session(self, session: str) -> None:
        """Close the session's socket in the background; whoever is using it gets `model.cancelled`."""
        held = self._sessions.pop(session, None)
        if held is None:
            return
        held.is_closed = True
        for user in held.users:
            user.reschedule(asyncio.get_running_loop().time())
        self._drop(held)

    async def close(self) -> None:
        """Close all sessions and wait until their sockets are gone; a later `open` opens new ones."""
        for session in list(self._sessions):
            self.close_session(session)
        await asyncio.gather(*self._closing)

    @asynccontextmanager
    async def _held(self, session: str) -> AsyncGenerator[_Session]:
        """The session for one user alone; its record goes when no socket and no user is left."""
        held = self._sessions.setdefault(session, _Session())
        user = asyncio.timeout(None)
        try:
            async with user:
                held.users.add(user)
                try:
                    async with held.lock:
                        yield held
                finally:
                    held.users.discard(user)
        except TimeoutError:
            raise _cancelled() from None
        finally:
            if held.live is None and not held.users and self._sessions.get(session) is held:
                del self._sessions[session]

    def _serves(self, live: _Live, key: _Key) -> bool:
        now = self._clock.monotonic()
        is_young = now - live.opened < self._times.max_age and now - live.used <= self._times.max_unused
        return live.key == key and is_young and live.line.is_open

    async def _dialled(self, held: _Session, key: _Key, request: WireRequest) -> _Live:
        from .websocket_line import dial  # `websockets` costs start-up time, and many runs never open a socket

        self._make_room()
        url, _, proxy = key
        if self._context is None and url.startswith("wss:"):
            self._context = httpx.create_ssl_context(self._verify, trust_env=False)
        line = await dial(
            url,
            request.headers,
            self._times,
            max_size=self._max_size,
            proxy=proxy,
            context=self._context if url.startswith("wss:") else None,
        )
        now = self._clock.monotonic()
        held.live = _Live(line, key, next(self._numbers), now, now)
        if held.is_closed:
            self._drop(held)
            raise _cancelled()
        return held.live

    def _make_room(self) -> None:
        """Close what nobody has used for long, and the oldest of the unused where there are too many."""
        now = self._clock.monotonic()
        unused = sorted(
            ((one.live.used, name) for name, one in self._sessions.items() if one.live is not None and not one.users)
        )
        open_now = sum(one.live is not None for one in self._sessions.values())
        for place, (used, session) in enumerate(unused):
            if now - used > self._times.max_unused or open_now - place >= self._max_sockets:
                self.close_session(session)

    def _drop(self, held: _Session) -> None:
        live, held.live = held.live, None
        if live is not None:
            task = asyncio.get_running_loop().create_task(live.line.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


def _socket_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise not_askable() from None
    if not usable:
        raise not_askable()
    return urlunsplit(parts._replace(scheme=_SCHEMES[parts.scheme], fragment=""))


def _checked(request: WireRequest) -> frozenset[tuple[str, str]]:
    """The headers, names in lower case; checked here, as the library's own message would quote them."""
    for name, value in request.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise not_askable()
    return frozenset((name.lower(), value) for name, value in request.headers.items())


def _cancelled() -> ModelFailed:
    return ModelFailed("the session was closed", code="model.cancelled")
