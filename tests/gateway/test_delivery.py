"""One exchange over a real socket, and the record that is kept of each call, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Self

import pytest

from treadle.gateway.delivery import Delivery, WireCall
from treadle.gateway.formats import openai_compatible
from treadle.gateway.outgoing import Fragment, Outgoing
from treadle.gateway.provider_state import HTTP
from treadle.gateway.responses.sessions import NO_WEBSOCKET
from treadle.gateway.transports.http import HttpTransport, Timeouts
from treadle.graph.errors import ModelFailed
from treadle.graph.messages import Role
from treadle.graph.ports import WireRequest
from treadle.testkit.ports import NEW_YEAR, ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

from .words import connection

OUTGOING = Outgoing(connection(), {}, [Fragment(Role.USER, (b"{}",))], session="s", cursor=1, previous="resp_1")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def delivery(clock: ManualClock) -> AsyncIterator[Delivery]:
    made = Delivery(HttpTransport(Timeouts(total=5)), clock)
    yield made
    await made.close()


class Provider:
    """Answers from a list; each answer takes 1.5 seconds of the clock. An async context manager."""

    def __init__(self, clock: ManualClock, *replies: Reply) -> None:
        self._clock, self._replies = clock, list(replies)
        self.received: list[Received] = []
        self.server = LoopbackServer(self._respond)

    def request(self, body: bytes = b"{}") -> WireRequest:
        return WireRequest(f"http://127.0.0.1:{self.server.port}/v1/x?key=k", {"x-a": "b"}, body)

    def _respond(self, request: Received) -> Reply:
        self.received.append(request)
        self._clock.advance(1.5)
        return self._replies.pop(0)

    async def __aenter__(self) -> Self:
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *left: object) -> None:
        await self.server.__aexit__(None, None, None)


async def test_an_exchange_is_delivered_and_recorded_as_it_went(delivery: Delivery, clock: ManualClock) -> None:
    heard: list[WireCall] = []
    async with Provider(clock, Reply(b'{"n": 1.10}', headers={"X-Id": "r"})) as provider:
        wire = provider.request(b'{"a": 1e2}')
        delivered = await delivery.deliver(openai_compatible, OUTGOING.whole(), lambda _: wire, heard)

    assert provider.received[0].body == b'{"a": 1e2}'
    assert (delivered.request, delivered.reply.body, delivered.reply.headers["x-id"]) == (wire, b'{"n": 1.10}', "r")
    assert (delivered.transport, delivered.replays) == (HTTP, ())
    assert heard == [WireCall(wire, HTTP, NEW_YEAR, 1.5, delivered.reply)]


async def test_over_http_the_whole_transcript_is_built_and_the_replay_told(
    delivery: Delivery, clock: ManualClock
) -> None:
    built: list[Outgoing] = []
    async with Provider(clock, Reply(b"{}")) as provider:

        def build(outgoing: Outgoing) -> WireRequest:
            built.append(outgoing)
            return provider.request()

        delivered = await delivery.deliver(openai_compatible, OUTGOING, build, [])

    assert built == [replace(OUTGOING, previous=None)]
    assert delivered.replays == (NO_WEBSOCKET,)


async def test_a_request_that_can_not_be_built_is_not_sent_and_not_recorded(delivery: Delivery) -> None:
    heard: list[WireCall] = []

    def build(_: Outgoing) -> WireRequest:
        raise ModelFailed("no", code="model.request_build_failed")

    with pytest.raises(ModelFailed):
        await delivery.deliver(openai_compatible, OUTGOING, build, heard)
    assert heard == []


@pytest.mark.parametrize("status", [204, 302, 400, 429, 503, 529])
async def test_a_refusal_is_a_reply_and_not_repeated(delivery: Delivery, clock: ManualClock, status: int) -> None:
    heard: list[WireCall] = []
    async with Provider(clock, Reply(b"", status)) as provider:
        reply = await delivery.send(provider.request(), heard)

    assert (reply.status, len(provider.received)) == (status, 1)
    assert [(call.reply, call.error) for call in heard] == [(reply, None)]


@pytest.mark.parametrize("drop", ["before_answer", "inside_body"])
async def test_a_line_that_breaks_is_recorded_with_what_is_known(
    delivery: Delivery, clock: ManualClock, drop: str
) -> None:
    heard: list[WireCall] = []
    broken = Reply(b'{"a": 1}', drop="before_answer" if drop == "before_answer" else "inside_body")
    async with Provider(clock, broken) as provider:
        with pytest.raises(ModelFailed) as failed:
            await delivery.send(provider.request(), heard)

    (call,) = heard
    assert (call.reply, call.error, call.duration_s) == (None, failed.value.message, 1.5)
    assert failed.value.retryable


async def test_a_host_that_is_not_there_is_recorded(delivery: Delivery, clock: ManualClock) -> None:
    heard: list[WireCall] = []
    async with Provider(clock) as provider:
        wire = provider.request()
    with pytest.raises(ModelFailed) as failed:
        await delivery.send(wire, heard)

    assert [(call.request, call.error) for call in heard] == [(wire, failed.value.message)]
    assert "key=k" not in failed.value.message


async def test_a_cancelled_call_is_recorded_and_stays_a_cancel(delivery: Delivery, clock: ManualClock) -> None:
    heard: list[WireCall] = []
    async with Provider(clock, Reply(b"{}").after(60), Reply(b"next")) as provider:
        task = asyncio.create_task(delivery.send(provider.request(), heard))
        while not provider.received:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        after = await delivery.send(provider.request(), heard)

    assert [(call.reply, call.error) for call in heard] == [(None, "cancelled"), (after, None)]
    assert (after.body, provider.server.connections) == (b"next", 2)


async def test_calls_are_recorded_in_order_and_share_a_connection(delivery: Delivery, clock: ManualClock) -> None:
    heard: list[WireCall] = []
    async with Provider(clock, Reply(b"1", 503), Reply(b"2"), Reply(b"3")) as provider:
        for body in (b"a", b"b", b"c"):
            await delivery.send(provider.request(body), heard)

    assert [(call.request.body, call.reply.body if call.reply else None) for call in heard] == [
        (b"a", b"1"), (b"b", b"2"), (b"c", b"3"),
    ]  # fmt: skip
    assert [call.started_at for call in heard] == [NEW_YEAR, NEW_YEAR + 1.5, NEW_YEAR + 3]
    assert provider.server.connections == 1


async def test_calls_at_the_same_time_keep_to_their_own_record(delivery: Delivery, clock: ManualClock) -> None:
    records: list[list[WireCall]] = [[] for _ in range(8)]
    async with Provider(clock, *(Reply(b"%d" % n).after(0.01 * (8 - n)) for n in range(8))) as provider:
        replies = await asyncio.gather(*(delivery.send(provider.request(), heard) for heard in records))

    assert [[call.reply for call in heard] for heard in records] == [[reply] for reply in replies]
    assert sorted(reply.body for reply in replies) == [b"%d" % n for n in range(8)]


async def test_an_unknown_session_is_let_go_without_a_word(delivery: Delivery) -> None:
    delivery.close_session("never heard of")
    delivery.close_session("never heard of")


async def test_closing_lets_the_connections_go_and_a_later_call_opens_one(
    delivery: Delivery, clock: ManualClock
) -> None:
    async with Provider(clock, Reply(b"1"), Reply(b"2")) as provider:
        await delivery.send(provider.request(), [])
        await delivery.close()
        await delivery.close()
        await delivery.send(provider.request(), [])

        assert provider.server.connections == 2
