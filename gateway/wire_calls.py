"""One call on the wire as it was made, and the reply to a request with the way that both went."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from ..graph.errors import ModelFailed
from ..graph.ports import Clock, WireReply, WireRequest
from .outgoing import Outgoing
from .provider_state import HTTP

Build = Callable[[Outgoing], WireRequest]


@dataclass(frozen=True, slots=True)
class WireCall:
    """One call as it was made: what went out, what came, or why nothing did."""

    request: WireRequest
    transport: str
    started_at: float
    """Seconds since the epoch."""
    duration_s: float
    reply: WireReply | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """The reply to a request, and the way that both went."""

    request: WireRequest
    reply: WireReply
    transport: str = HTTP
    replays: tuple[str, ...] = ()


@dataclass(slots=True)
class Recording:
    """A call under way: what is known of it so far."""

    request: WireRequest
    reply: WireReply | None = None
    error: str | None = None


@contextmanager
def recorded(clock: Clock, request: WireRequest, transport: str, heard: list[WireCall]) -> Generator[Recording]:
    """The call made inside is added to `heard`, however it ends."""
    call, at, since = Recording(request), clock.now(), clock.monotonic()
    try:
        yield call
    except ModelFailed as failure:
        call.error = failure.message
        raise
    except BaseException:
        if call.reply is None:
            call.error = call.error or "cancelled"
        raise
    finally:
        elapsed = clock.monotonic() - since
        heard.append(WireCall(call.request, transport, at, elapsed, call.reply, call.error))
