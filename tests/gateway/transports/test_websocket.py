"""A session keeps one socket: how long, for whom, and what is asked on it."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys

import pytest
from websockets.asyncio.server import ServerConnection

from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.testkit.ports import ManualClock

from .loopback import END, Echo, ask, failed_turn, to, until


async def test_bytes_go_out_as_one_text_frame_and_come_back_as_they_are(sockets: WebSocketTransport) -> None:
    message = '{"a": 1.10, "b": "é\\ud83d"}'.encode()
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        frames = await ask(sockets, message)

    assert frames == (message, END)
    assert server.seen == [message.decode()]


async def test_path_query_and_headers_reach_the_server_and_nothing_is_compressed(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port, "/v1/responses?q=1", authorization="Bearer k", **{"x-a": "b"}))
        await until(lambda: bool(server.opened))
        asked = server.opened[0].request

    assert asked is not None
    assert (asked.path, asked.headers["Authorization"], asked.headers["x-a"]) == ("/v1/responses?q=1", "Bearer k", "b")
    assert "Sec-WebSocket-Extensions" not in asked.headers


@pytest.mark.parametrize("scheme", ["http", "ws", "HTTP"])
async def test_plain_schemes_are_asked_in_plain(sockets: WebSocketTransport, scheme: str) -> None:
    async with Echo().running() as server:
        opened = await sockets.open("s", to(server.port, scheme=scheme))

    assert opened.fresh


async def test_a_session_keeps_its_socket_and_tells_its_age(sockets: WebSocketTransport, clock: ManualClock) -> None:
    async with Echo().running() as server:
        first = await sockets.open("s", to(server.port))
        await ask(sockets)
        clock.advance(30)
        second = await sockets.open("s", to(server.port))
        await ask(sockets)

    assert (first.fresh, first.age_s) == (True, 0)
    assert (second.fresh, second.age_s, second.generation) == (False, 30, first.generation)
    assert len(server.opened) == 1


async def test_a_socket_older_than_55_minutes_is_replaced(sockets: WebSocketTransport, clock: ManualClock) -> None:
    async with Echo().running() as server:
        first = await sockets.open("s", to(server.port))
        clock.advance(55 * 60 - 1)
        young = await sockets.open("s", to(server.port))
        clock.advance(1)
        old = await sockets.open("s", to(server.port))
        await ask(sockets)
        await until(lambda: server.ended == [1000])

    assert (young.fresh, old.fresh, old.age_s) == (False, True, 0)
    assert old.generation != first.generation


@pytest.mark.parametrize(
    "other", [{"path": "/v2"}, {"authorization": "Bearer other"}, {"x-b": "1"}], ids=["url", "key", "header"]
)
async def test_another_url_or_header_is_another_socket(sockets: WebSocketTransport, other: dict[str, str]) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port, authorization="Bearer k"))
        changed = await sockets.open("s", to(server.port, **{"authorization": "Bearer k", **other}))
        await ask(sockets)
        await until(lambda: server.ended == [1000])

    assert (changed.fresh, len(server.opened)) == (True, 2)


async def test_two_sessions_talk_side_by_side(sockets: WebSocketTransport) -> None:
    both = asyncio.Barrier(2)

    async def answer(socket: ServerConnection, message: str | bytes) -> None:
        await both.wait()
        await socket.send(message)
        await socket.send(END, text=True)

    async with Echo(answer).running() as server:
        await sockets.open("a", to(server.port))
        await sockets.open("b", to(server.port))
        answers = await asyncio.gather(ask(sockets, b"1", "a"), ask(sockets, b"2", "b"))

    assert list(answers) == [(b"1", END), (b"2", END)]


async def test_turns_of_one_session_wait_for_each_other(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        answers = await asyncio.gather(*(ask(sockets, b"%d" % number) for number in range(5)))

    assert answers == [(b"%d" % number, END) for number in range(5)]


async def test_a_socket_that_the_server_closed_between_turns_is_replaced(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        first = await sockets.open("s", to(server.port))
        await ask(sockets)
        await server.opened[0].close()
        second = await sockets.open("s", to(server.port))
        frames = await ask(sockets, b"again")

    assert (second.fresh, frames) == (True, (b"again", END))
    assert second.generation != first.generation


async def test_a_turn_on_a_socket_that_was_lost_since_it_was_opened_is_worth_another_try(
    sockets: WebSocketTransport,
) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        await until(lambda: bool(server.opened))
        server.opened[0].transport.abort()
        failed = await failed_turn(sockets)

    assert (failed.details["networkCode"], failed.retryable) == ("network.request_failed", True)


async def test_a_turn_without_an_open_socket_is_worth_another_try(sockets: WebSocketTransport) -> None:
    failed = await failed_turn(sockets)

    assert (failed.error_code, failed.retryable) == ("model.request_failed", True)


async def test_a_discarded_socket_is_closed_and_replaced(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        sockets.discard("s")
        sockets.discard("unknown")
        again = await sockets.open("s", to(server.port))
        await until(lambda: server.ended == [1000])

    assert again.fresh


async def test_of_too_many_sockets_the_one_unused_longest_is_closed(clock: ManualClock) -> None:
    sockets = WebSocketTransport(clock, max_sockets=2)
    async with Echo().running() as server:
        await sockets.open("a", to(server.port))
        clock.advance(1)
        await sockets.open("b", to(server.port))
        clock.advance(1)
        await ask(sockets, session="a")
        await sockets.open("c", to(server.port))
        kept = await sockets.open("a", to(server.port))
        gone = await sockets.open("b", to(server.port))
        await sockets.close()

    assert (kept.fresh, gone.fresh) == (False, True)


async def test_a_socket_in_a_turn_is_never_closed_for_another(clock: ManualClock) -> None:
    go_on = asyncio.Event()

    async def answer(socket: ServerConnection, _: str | bytes) -> None:
        await go_on.wait()
        await socket.send(END)

    sockets = WebSocketTransport(clock, max_sockets=1)
    async with Echo(answer).running() as server:
        await sockets.open("a", to(server.port))
        turn = asyncio.create_task(ask(sockets, session="a"))
        await until(lambda: bool(server.seen))
        await sockets.open("b", to(server.port))
        go_on.set()
        frames = await turn
        await sockets.close()

    assert frames == (END,)


async def test_a_socket_that_nobody_used_for_an_hour_is_closed_when_another_is_opened(
    sockets: WebSocketTransport, clock: ManualClock
) -> None:
    async with Echo().running() as server:
        await sockets.open("a", to(server.port))
        clock.advance(3601)
        await sockets.open("b", to(server.port))
        await until(lambda: server.ended == [1000])


async def test_neither_urls_nor_headers_nor_frames_are_logged(
    sockets: WebSocketTransport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, "websockets.server")
    async with Echo().running() as server:
        await sockets.open("s", to(server.port, "/v1?key=canary", authorization="canary"))
        await ask(sockets, b"canary")

    assert "canary" not in caplog.text


def test_the_library_is_not_loaded_before_a_socket_is_opened() -> None:
    code = "import sys, treadle.gateway.transports.websocket; sys.exit('websockets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False)

    assert done.returncode == 0
