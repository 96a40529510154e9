"""Frames of a turn: bytes as they came, however long, and faults by name where they stop coming."""

from __future__ import annotations

import asyncio

import pytest
from websockets.asyncio.server import ServerConnection

from treadle.gateway.transports.socket_times import SocketTimes
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.graph.errors import ModelFailed
from treadle.testkit.ports import ManualClock

from .loopback import END, Echo, answering, ask, failed_turn, hang, raw, to

GIANT = 3 * 1024 * 1024


async def test_binary_frames_and_text_that_is_no_utf_8_are_received_as_bytes(sockets: WebSocketTransport) -> None:
    async def answer(socket: ServerConnection, _: str | bytes) -> None:
        await socket.send(b"\x00\xff")
        await socket.send(b"\xed\xa0\x80", text=True)
        await socket.send(END)

    async with Echo(answer).running() as server:
        await sockets.open("s", to(server.port))
        frames = await ask(sockets)

    assert frames == (b"\x00\xff", b"\xed\xa0\x80", END)


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


async def test_the_frames_of_a_turn_count_together(clock: ManualClock) -> None:
    async def answer(socket: ServerConnection, _: str | bytes) -> None:
        for size in (300, 300, 300, 300):
            await socket.send("x" * size)

    sockets = WebSocketTransport(clock, max_size=1000)
    async with Echo(answer).running() as server:
        await sockets.open("s", to(server.port))
        failed = await failed_turn(sockets)
        await sockets.close()

    assert (failed.error_code, failed.retryable) == ("model.upstream_invalid_response", False)
    assert failed.message.endswith("raise the limit: reply_limit of the engine, max_size of the transport")


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
