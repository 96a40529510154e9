"""No socket is used after a broken turn, and closing one never waits for its server."""

from __future__ import annotations

import asyncio
import time

import pytest
from websockets.asyncio.server import ServerConnection

from treadle.gateway.transports.socket_times import SocketTimes
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.graph.errors import ModelFailed
from treadle.testkit.ports import ManualClock

from .loopback import END, QUICK, Echo, ask, failed_open, failed_turn, hang, raw, to, until


async def test_after_a_cancel_the_session_gets_a_new_socket_and_no_frame_of_the_old_answer(
    sockets: WebSocketTransport,
) -> None:
    async def answer(socket: ServerConnection, message: str | bytes) -> None:
        await socket.send(b"first of " + str(message).encode())
        if message == "old":
            await asyncio.sleep(0.05)
        await socket.send(END)

    async with Echo(answer).running() as server:
        first = await sockets.open("s", to(server.port))
        task = asyncio.create_task(ask(sockets, b"old"))
        await until(lambda: server.seen == ["old"])
        task.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - started
        second = await sockets.open("s", to(server.port))
        frames = await ask(sockets, b"new")

    assert (second.fresh, frames, took < QUICK) == (True, (b"first of new", END), True)
    assert second.generation != first.generation


async def test_a_cancel_does_not_wait_for_a_server_that_neither_reads_nor_answers(clock: ManualClock) -> None:
    sockets = WebSocketTransport(clock)
    async with raw(hang) as port:
        await sockets.open("s", to(port))
        task = asyncio.create_task(ask(sockets, b"x" * 20_000_000))
        await asyncio.sleep(0.1)
        task.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - started

    assert took < QUICK


async def test_a_judge_that_raises_ends_the_socket(sockets: WebSocketTransport) -> None:
    def judge(frame: bytes) -> bool:
        raise ModelFailed("no JSON", code="model.upstream_invalid_response")

    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        with pytest.raises(ModelFailed, match="no JSON"):
            await sockets.turn("s", b"hi", judge)
        again = await sockets.open("s", to(server.port))

    assert again.fresh


async def test_a_closed_session_says_goodbye_with_1000_and_an_unknown_one_is_nothing(
    sockets: WebSocketTransport,
) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        sockets.close_session("s")
        sockets.close_session("s")
        sockets.close_session("unknown")
        await until(lambda: server.ended == [1000])


async def test_closing_a_session_fails_its_turn_as_cancelled_at_once(clock: ManualClock) -> None:
    sockets = WebSocketTransport(clock)
    async with raw(hang) as port:
        await sockets.open("s", to(port))
        turns = [asyncio.create_task(failed_turn(sockets)) for _ in range(2)]
        await asyncio.sleep(0.02)
        started = time.monotonic()
        sockets.close_session("s")
        failures = await asyncio.gather(*turns)
        took = time.monotonic() - started

    assert [(one.error_code, one.retryable) for one in failures] == [("model.cancelled", False)] * 2
    assert took < QUICK


async def test_closing_a_session_stops_its_opening(clock: ManualClock) -> None:
    sockets = WebSocketTransport(clock)
    async with raw(hang, shakes_hands=False) as port:
        opening = asyncio.create_task(failed_open(sockets, to(port)))
        await asyncio.sleep(0.05)
        sockets.close_session("s")
        failed = await asyncio.wait_for(opening, 1)

    assert failed.error_code == "model.cancelled"


async def test_a_server_that_hangs_in_the_close_delays_nobody_and_is_cut_off(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    sockets = WebSocketTransport(clock, SocketTimes(close=0.2))
    async with raw(hang) as port:
        await sockets.open("s", to(port))
        started = time.monotonic()
        sockets.close_session("s")
        at_once = time.monotonic() - started
        await sockets.close()
        in_all = time.monotonic() - started

    assert (at_once < 0.1, 0.15 < in_all < 2) == (True, True)
    assert "cut off" in caplog.text


async def test_a_closed_transport_opens_again(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        await sockets.close()
        await until(lambda: server.ended == [1000])
        again = await sockets.open("s", to(server.port))

    assert again.fresh
