"""The clock and the sockets that the socket tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.testkit.ports import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def sockets(clock: ManualClock) -> AsyncIterator[WebSocketTransport]:
    made = WebSocketTransport(clock)
    yield made
    await made.close()
