"""Sessions over real sockets on loopback: bytes as they came, faults by name, and no socket used after a broken turn."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from treadle.gateway.transports.faults import ERROR_BODY_BYTES
from treadle.gateway.transports.socket_times import SocketTimes
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.graph.errors import ModelFailed
from treadle.graph.ports import ModelSockets, UpgradeRefused, WireRequest
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

END = b"end"
QUICK = 0.5
"""Seconds, where waiting for the server would take two."""
GIANT = 3 * 1024 * 1024

Wire = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def sockets(clock: ManualClock) -> AsyncIterator[WebSocketTransport]:
    made = WebSocketTransport(clock)
    yield made
    await made.close()


class Echo:
    """A server that answers each message with itself and `end`; it keeps what it saw."""

    def __init__(self, answer: Callable[[ServerConnection, str | bytes], Awaitable[None]] | None = None) -> None:
        self._answer = answer or self._echo
        self.seen: list[str | bytes] = []
        self.opened: list[ServerConnection] = []
        self.ended: list[int | None] = []
        self.port = 0

    async def _echo(self, socket: ServerConnection, message: str | bytes) -> None:
        await socket.send(message)
        await socket.send(END, text=True)

    async def _converse(self, socket: ServerConnection) -> None:
        self.opened.append(socket)
        try:
            while True:
                message = await socket.recv()
                self.seen.append(message)
                await self._answer(socket, message)
        except ConnectionClosed as closed:
            self.ended.append(None if closed.rcvd is None else closed.rcvd.code)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Echo]:
        async with serve(self._converse, "127.0.0.1", 0, max_size=None, close_timeout=0.2) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            yield self


def to(port: int, path: str = "/v1/responses", scheme: str = "http", **headers: str) -> WireRequest:
    return WireRequest(f"{scheme}://127.0.0.1:{port}{path}", headers, b"")


def is_end(frame: bytes) -> bool:
    return frame == END


async def ask(sockets: ModelSockets, message: bytes = b"hi", session: str = "s") -> tuple[bytes, ...]:
    return await sockets.turn(session, message, is_end)


async def failed_turn(sockets: ModelSockets, session: str = "s") -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await ask(sockets, session=session)
    return failed.value


async def failed_open(sockets: ModelSockets, request: WireRequest) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await sockets.open("s", request)
    return failed.value


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_true():
            await asyncio.sleep(0.001)


@asynccontextmanager
async def raw(behave: Wire, *, shakes_hands: bool = True) -> AsyncGenerator[int]:
    """A server that does with the stream what it is told, after the handshake; its port."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            greeting = await reader.readuntil(b"\r\n\r\n")
            if shakes_hands:
                writer.write(_accepting(greeting))
            await behave(reader, writer)
        finally:
            writer.transport.abort()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve_one(reader, writer))
        tasks.add(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _accepting(greeting: bytes) -> bytes:
    protocol = ServerProtocol()
    protocol.receive_data(greeting)
    (request,) = protocol.events_received()
    assert isinstance(request, Request)
    protocol.send_response(protocol.accept(request))
    return b"".join(protocol.data_to_send())


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


def answering(answer: bytes) -> Wire:
    async def sent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        await writer.drain()
        writer.write_eof()
        await asyncio.sleep(0.05)

    return sent


async def test_bytes_go_out_as_one_text_frame_and_come_back_as_they_are(sockets: WebSocketTransport) -> None:
    message = '{"a": 1.10, "b": "é\\ud83d"}'.encode()
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        frames = await ask(sockets, message)

    assert frames == (message, END)
    assert server.seen == [message.decode()]


async def test_binary_frames_and_text_that_is_no_utf_8_are_received_as_bytes(sockets: WebSocketTransport) -> None:
    async def answer(socket: ServerConnection, _: str | bytes) -> None:
        await socket.send(b"\x00\xff")
        await socket.send(b"\xed\xa0\x80", text=True)
        await socket.send(END)

    async with Echo(answer).running() as server:
        await sockets.open("s", to(server.port))
        frames = await ask(sockets)

    assert frames == (b"\x00\xff", b"\xed\xa0\x80", END)


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


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://h/", "http://h:x/", "http:///v1", "nowhere", "http://[/"])
async def test_an_address_that_can_not_be_asked_is_a_build_failure(sockets: WebSocketTransport, url: str) -> None:
    failed = await failed_open(sockets, WireRequest(url, {}, b""))

    assert (failed.error_code, failed.retryable) == ("model.request_build_failed", False)


@pytest.mark.parametrize("header", [("authorization", "Bearer sk-canary\n"), ("x canary", "v"), ("x", "canary\u2603")])
async def test_a_header_that_can_not_be_sent_is_not_quoted(
    sockets: WebSocketTransport, header: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    failed = await failed_open(sockets, WireRequest("http://127.0.0.1:9/", dict([header]), b""))

    assert failed.error_code == "model.request_build_failed"
    assert "canary" not in f"{failed} {failed.details} {failed.__cause__} {caplog.text}"


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


async def test_a_frame_of_three_mebibytes_is_received(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        frames = await ask(sockets, b"x" * GIANT)

    assert [len(frame) for frame in frames] == [GIANT, 3]


async def test_a_frame_over_the_limit_names_the_limit_and_is_not_worth_another_try(clock: ManualClock) -> None:
    sockets = WebSocketTransport(clock, max_size=1000)
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        with pytest.raises(ModelFailed, match="1000 bytes") as failed:
            await ask(sockets, b"x" * 1001)
        await sockets.close()

    assert (failed.value.error_code, failed.value.retryable) == ("model.upstream_invalid_response", False)


async def test_a_frame_over_the_limit_is_told_though_the_server_does_not_hang_up(clock: ManualClock) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x82\x7e\xff\xff" + bytes(65535))
        await asyncio.sleep(3600)

    sockets = WebSocketTransport(clock, SocketTimes(close=0.1), max_size=1000)
    async with raw(answer) as port:
        await sockets.open("s", to(port))
        failed = await failed_turn(sockets)

    assert failed.error_code == "model.upstream_invalid_response"


@pytest.mark.parametrize("code", [1000, 1001, 1008, 1011, 4000])
async def test_a_close_before_the_last_frame_is_a_failure_worth_another_try(
    sockets: WebSocketTransport, code: int
) -> None:
    async def answer(socket: ServerConnection, _: str | bytes) -> None:
        await socket.send("half the answer")
        await socket.close(code)

    async with Echo(answer).running() as server:
        await sockets.open("s", to(server.port, "/v1?key=canary"))
        failed = await failed_turn(sockets)
        again = await sockets.open("s", to(server.port, "/v1?key=canary"))

    assert (failed.error_code, failed.retryable, again.fresh) == ("model.request_failed", True, True)
    assert failed.details == {
        "networkCode": "network.request_failed",
        "endpoint": f"ws://127.0.0.1:{server.port}/v1",
        "closeCode": code,
    }


async def test_a_server_that_finds_the_message_too_large_will_do_so_again(sockets: WebSocketTransport) -> None:
    async def answer(socket: ServerConnection, _: str | bytes) -> None:
        await socket.close(1009)

    async with Echo(answer).running() as server:
        await sockets.open("s", to(server.port))
        failed = await failed_turn(sockets)

    assert (failed.error_code, failed.retryable) == ("model.request_failed", False)


async def test_a_goodbye_without_hanging_up_does_not_keep_the_turn_waiting(clock: ManualClock) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"\x88\x02\x03\xe8")
        await asyncio.sleep(3600)

    sockets = WebSocketTransport(clock, SocketTimes(close=0.1))
    async with raw(answer) as port:
        await sockets.open("s", to(port))
        failed = await failed_turn(sockets)

    assert failed.details["closeCode"] == 1000


@pytest.mark.parametrize(
    "answer", [b"", b"\x81\x0aabc", b"\x81\x7e\x01"], ids=["nothing", "half a frame", "half a head"]
)
async def test_a_connection_that_breaks_off_is_worth_another_try(sockets: WebSocketTransport, answer: bytes) -> None:
    async with raw(answering(answer)) as port:
        await sockets.open("s", to(port))
        failed = await failed_turn(sockets)

    assert (failed.error_code, failed.retryable) == ("model.request_failed", True)
    assert failed.details["networkCode"] == "network.request_failed"


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


async def test_a_discarded_socket_is_closed_and_replaced(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        await sockets.open("s", to(server.port))
        sockets.discard("s")
        sockets.discard("unknown")
        again = await sockets.open("s", to(server.port))
        await until(lambda: server.ended == [1000])

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


async def test_a_silent_server_times_out(clock: ManualClock) -> None:
    sockets = WebSocketTransport(clock, SocketTimes(idle=0.05, close=0.05))
    async with raw(hang) as port:
        await sockets.open("s", to(port))
        failed = await failed_turn(sockets)
        await sockets.close()

    assert (failed.details["networkCode"], failed.retryable) == ("network.timeout", True)


async def test_the_idle_time_counts_from_frame_to_frame(clock: ManualClock) -> None:
    async def answer(socket: ServerConnection, _: str | bytes) -> None:
        for _place in range(4):
            await asyncio.sleep(0.1)
            await socket.send("still there")
        await socket.send(END)

    sockets = WebSocketTransport(clock, SocketTimes(idle=0.3))
    async with Echo(answer).running() as server:
        await sockets.open("s", to(server.port))
        frames = await ask(sockets)
        await sockets.close()

    assert len(frames) == 5


async def test_a_server_that_does_not_take_the_message_times_out(clock: ManualClock) -> None:
    sockets = WebSocketTransport(clock, SocketTimes(write=0.1, close=0.05))
    async with raw(hang) as port:
        await sockets.open("s", to(port))
        with pytest.raises(ModelFailed) as failed:
            await ask(sockets, b"x" * 20_000_000)
        await sockets.close()

    assert failed.value.details["networkCode"] == "network.timeout"


async def test_a_ping_without_an_answer_is_a_timeout(clock: ManualClock) -> None:
    sockets = WebSocketTransport(clock, SocketTimes(ping=0.02, pong=0.05, close=0.05))
    async with raw(hang) as port:
        await sockets.open("s", to(port))
        failed = await failed_turn(sockets)
        await sockets.close()

    assert (failed.details["networkCode"], failed.retryable) == ("network.timeout", True)


async def test_a_handshake_that_takes_too_long_is_a_timeout(clock: ManualClock) -> None:
    async with raw(hang, shakes_hands=False) as port:
        failed = await failed_open(WebSocketTransport(clock, SocketTimes(connect=0.1)), to(port))

    assert (failed.details["networkCode"], failed.retryable) == ("network.timeout", True)


async def test_a_refusal_carries_status_headers_and_at_most_64_kib_of_body(sockets: WebSocketTransport) -> None:
    refusal = Reply(b"x" * 100_000, 429, {"Retry-After": "2"})
    async with LoopbackServer(lambda _: refusal) as server:
        with pytest.raises(UpgradeRefused) as refused:
            await sockets.open("s", to(server.port))

    reply = refused.value.reply
    assert (reply.status, reply.headers["retry-after"], len(reply.body)) == (429, "2", ERROR_BODY_BYTES)


async def test_a_redirect_is_a_refusal_and_nothing_is_sent_elsewhere(sockets: WebSocketTransport) -> None:
    seen: list[Received] = []

    def respond(request: Received) -> Reply:
        seen.append(request)
        return Reply(b"", 307, {"location": "/elsewhere"})

    async with LoopbackServer(respond) as server:
        with pytest.raises(UpgradeRefused) as refused:
            await sockets.open("s", to(server.port))

    assert (refused.value.reply.status, len(seen)) == (307, 1)


async def test_a_handshake_that_is_not_right_is_worth_another_try(sockets: WebSocketTransport) -> None:
    def spoil(socket: ServerConnection, request: Request, response: Response) -> Response:
        del response.headers["Sec-WebSocket-Accept"]
        response.headers["Sec-WebSocket-Accept"] = "wrong"
        return response

    async def nothing(socket: ServerConnection) -> None:
        await socket.wait_closed()

    async with serve(nothing, "127.0.0.1", 0, process_response=spoil) as server:
        failed = await failed_open(sockets, to(next(iter(server.sockets)).getsockname()[1]))

    assert (failed.details["networkCode"], failed.retryable) == ("network.request_failed", True)


async def test_a_server_that_hangs_up_in_the_handshake_is_worth_another_try(sockets: WebSocketTransport) -> None:
    async with LoopbackServer(lambda _: Reply(b"", drop="before_answer")) as server:
        failed = await failed_open(sockets, to(server.port))

    assert (failed.details["networkCode"], failed.retryable) == ("network.request_failed", True)


async def test_a_closed_port_is_a_failed_connect(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        port = server.port
    failed = await failed_open(sockets, to(port, "/v1?key=canary"))

    assert (failed.details["networkCode"], failed.retryable) == ("network.connect_failed", True)
    assert failed.details["endpoint"] == f"ws://127.0.0.1:{port}/v1"
    assert "canary" not in f"{failed} {failed.details}"


async def test_a_name_that_does_not_resolve_is_named_so(sockets: WebSocketTransport) -> None:
    failed = await failed_open(sockets, WireRequest("http://no-such-host.invalid/v1", {}, b""))

    assert failed.details["networkCode"] == "network.dns_failed"


async def test_a_server_without_tls_is_named_so(sockets: WebSocketTransport) -> None:
    async with LoopbackServer(lambda _: Reply(b"")) as server:
        failed = await failed_open(sockets, to(server.port, scheme="https"))

    assert (failed.details["networkCode"], failed.retryable) == ("network.tls_failed", True)


async def test_proxies_of_the_environment_are_not_used(
    sockets: WebSocketTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with Echo().running() as server:
        opened = await sockets.open("s", to(server.port))

    assert opened.fresh


async def test_a_proxy_that_refuses_or_can_not_be_reached_is_named_so(clock: ManualClock) -> None:
    async with LoopbackServer(lambda _: Reply(b"", 407)) as server:
        refusing = WebSocketTransport(clock, proxy=f"http://u:canary@127.0.0.1:{server.port}")
        refused = await failed_open(refusing, to(9))
        port = server.port
    gone = await failed_open(WebSocketTransport(clock, proxy=f"http://127.0.0.1:{port}"), to(9))

    assert [one.details["networkCode"] for one in (refused, gone)] == ["network.proxy_failed"] * 2
    assert "canary" not in f"{refused} {refused.details}"


async def test_a_proxy_that_is_none_is_a_build_failure(clock: ManualClock) -> None:
    failed = await failed_open(WebSocketTransport(clock, proxy="gopher://h"), to(9))

    assert failed.error_code == "model.request_build_failed"


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
