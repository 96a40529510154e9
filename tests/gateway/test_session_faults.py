"""What a session does with faults, refused sockets and other connections: told by code, by HTTP, or not at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from treadle.gateway.connections.connection import Connection, Switches
from treadle.gateway.gateway import ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.graph.jsontext import Json, dumps
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

from .responses_side import (
    REASONING,
    asked,
    at,
    completed,
    created,
    fault,
    response,
    said,
)
from .talk import FIRST, SECOND, START, WHOLE, Talk, kinds, side
from .traps import trap
from .words import MemorySecrets


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def gateway(clock: ManualClock) -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets(), clock, sockets=WebSocketTransport(clock))
    yield made
    await made.close()


@trap(45)
async def test_an_answer_of_three_mebibytes_arrives(gateway: ModelGateway) -> None:
    async with side(completed("r1", said("x" * 3 * 1024 * 1024))).running() as server:
        exchange = await Talk(gateway, at(server.base_url)).round()

    assert len(exchange.response.text) == 3 * 1024 * 1024


@pytest.mark.parametrize(
    ("event", "code", "retryable"),
    [
        (fault("rate_limit_exceeded", status=429), "model.provider_rate_limited", True),
        (fault("insufficient_quota", status=429), "model.provider_rate_limited", False),
        (fault("invalid_api_key", status=401), "model.request_failed", False),
        (fault("server_error", status=500), "model.request_failed", True),
        (fault(None, kind="server_error", status=0), "model.request_failed", True),
        (fault("slow_down", status=503), "model.request_failed", True),
        (fault("context_length_exceeded"), "model.request_failed", False),
        (
            '{"type":"response.failed","response":{"id":"r1","status":"failed","error":{"code":"server_error","message":"x"}}}',
            "model.request_failed",
            True,
        ),
        (
            '{"type":"response.failed","response":{"id":"r1","status":"failed","error":{"code":"rate_limit_exceeded","message":"x"}}}',
            "model.provider_rate_limited",
            True,
        ),
        ("not JSON", "model.upstream_invalid_response", True),
        ('{"type":"response.completed"}', "model.upstream_invalid_response", True),
    ],
)
async def test_what_a_fault_means_and_that_its_socket_goes(
    gateway: ModelGateway, event: str, code: str, retryable: bool
) -> None:
    async with side(event, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        failure = await talk.failure()
        await talk.round()

    assert (failure.error_code, failure.retryable) == (code, retryable)
    assert server.by == [1, 2]


async def test_an_error_event_s_headers_say_when_to_come_back(gateway: ModelGateway) -> None:
    event = json.dumps(json.loads(fault("rate_limit_exceeded", status=429)) | {"headers": {"Retry-After": "7"}})
    async with side(event).running() as server:
        failure = await Talk(gateway, at(server.base_url)).failure()

    assert failure.retry_after_ms == 7000


async def test_events_of_another_response_end_nothing(gateway: ModelGateway) -> None:
    stale = completed("r1", said("old"))
    async with side(FIRST, (stale, created("r2"), stale, '"no object"', "{}", SECOND)).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.response.text == "Done."


class Plain:
    """A server that refuses WebSockets with a status, and answers POST requests."""

    def __init__(self, status: int, *answers: str, refusal: bytes = b'{"error":{"message":"no"}}') -> None:
        self._status = status
        self._answers = list(answers)
        self._refusal = refusal
        self.seen: list[Received] = []

    def __call__(self, request: Received) -> Reply:
        self.seen.append(request)
        if request.method == "GET":
            return Reply(self._refusal, self._status)
        return Reply(self._answers.pop(0).encode())

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.seen]


def there(server: LoopbackServer) -> Connection:
    return at(f"http://127.0.0.1:{server.port}/v1")


@pytest.mark.parametrize("status", [404, 405, 426, 501])
async def test_a_server_without_websockets_is_asked_by_http_for_the_rest_of_the_run(
    gateway: ModelGateway, status: int
) -> None:
    plain = Plain(status, response("r1", REASONING, asked("c1")), response("r2", said("Done.")))
    async with LoopbackServer(plain) as server:
        talk = Talk(gateway, there(server))
        first, second = await talk.round(), await talk.round()

    assert plain.methods == ["GET", "POST", "POST"]
    bodies = [request.json() for request in plain.seen[1:]]
    assert [kinds(body) for body in bodies] == [["developer", "user"], WHOLE]
    assert all(body["store"] is False and "type" not in body for body in bodies)
    assert (first.replays, second.replays) == ((), ())
    assert second.provider_state["transport"] == "http"
    assert "previousResponseId" not in second.provider_state
    assert [(call.transport, call.reply and call.reply.status) for call in talk.heard] == [
        ("responses_websocket", status), ("http", 200), ("http", 200),
    ]  # fmt: skip


async def test_a_run_that_went_by_http_stays_there_in_another_process(gateway: ModelGateway) -> None:
    plain = Plain(404, response("r2", said("Done.")))
    async with LoopbackServer(plain) as server:
        talk = Talk(gateway, there(server))
        talk.state = START | {"transport": "http", "messageCursor": 2, "lastResponseId": "r1"}
        await talk.round()

    assert plain.methods == ["POST"]


async def test_a_connection_whose_websockets_are_off_is_asked_by_http_alone(gateway: ModelGateway) -> None:
    plain = Plain(404, response("r1", REASONING, asked("c1")), response("r2", said("Done.")))
    async with LoopbackServer(plain) as server:
        talk = Talk(gateway, replace(there(server), switches=Switches(web_socket="off")))
        first, second = await talk.round(), await talk.round()

    assert plain.methods == ["POST", "POST"]
    assert [kinds(request.json()) for request in plain.seen] == [["developer", "user"], WHOLE]
    assert (first.replays, second.replays) == ((), ())


async def test_a_retry_does_not_ask_for_a_websocket_again(gateway: ModelGateway) -> None:
    plain = Plain(404, "<html>", response("r1", said("Hi.")))
    async with LoopbackServer(plain) as server:
        talk = Talk(gateway, there(server))
        failure = await talk.failure()
        await talk.round()

    assert failure.retryable
    assert plain.methods == ["GET", "POST", "POST"]


async def test_another_session_asks_for_a_websocket_again(gateway: ModelGateway) -> None:
    plain = Plain(404, response("r1", said("a")), response("r2", said("b")))
    async with LoopbackServer(plain) as server:
        for session in ("a", "b"):
            talk = Talk(gateway, there(server))
            talk.state = {"sessionId": session}
            await talk.round()

    assert plain.methods == ["GET", "POST"] * 2


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (401, "model.request_failed", False),
        (403, "model.request_failed", False),
        (429, "model.provider_rate_limited", True),
        (503, "model.request_failed", True),
        (302, "model.request_failed", False),
        (400, "model.request_failed", False),
        (200, "model.request_failed", False),
    ],
)
async def test_another_refusal_of_a_websocket_means_what_its_status_means(
    gateway: ModelGateway, status: int, code: str, retryable: bool
) -> None:
    plain = Plain(status)
    async with LoopbackServer(plain) as server:
        talk = Talk(gateway, there(server))
        failure = await talk.failure()

    assert (failure.error_code, failure.retryable) == (code, retryable)
    assert plain.methods == ["GET"]
    assert len(talk.heard) == 1


async def test_without_sockets_all_goes_by_http_and_whole() -> None:
    plain = Plain(404, response("r1", REASONING, asked("c1")), response("r2", said("Done.")))
    gateway = ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())
    async with LoopbackServer(plain) as server:
        talk = Talk(gateway, there(server))
        await talk.round()
        talk.state = talk.state | {"transport": "responses_websocket", "previousResponseId": "r1"}
        exchange = await talk.round()
        await gateway.close()

    assert plain.methods == ["POST", "POST"]
    assert kinds(plain.seen[1].json()) == WHOLE
    assert exchange.replays == ("no_websocket",)


@trap(47)
@pytest.mark.parametrize("changed", ["model", "address"])
async def test_no_other_connection_is_told_of_an_answer_that_it_never_gave(gateway: ModelGateway, changed: str) -> None:
    async with side(FIRST, SECOND).running() as server, side(SECOND).running() as other:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        talk.here = at(server.base_url, "m2") if changed == "model" else at(other.base_url)
        exchange = await talk.round()

    sent = [*server.turns, *other.turns][1]
    assert "previous_response_id" not in sent
    assert kinds(sent) == ["developer", "user", "function_call", "function_call_output"]
    assert "gAAA==" not in dumps(sent).decode()
    assert exchange.replays == ()


@trap(62)
async def test_an_answer_without_an_id_is_no_answer_to_build_on(gateway: ModelGateway) -> None:
    event = '{"type":"response.completed","response":{"status":"completed","output":[' + said("Hi.") + "]}}"
    async with side(event).running() as server:
        failure = await Talk(gateway, at(server.base_url)).failure()

    assert (failure.error_code, failure.retryable) == ("agent.provider_state_invalid", False)


@trap(37)
@pytest.mark.parametrize("cursor", [None, -1, True, 9])
async def test_a_state_without_a_fitting_cursor_is_refused_before_anything_is_sent(
    gateway: ModelGateway, cursor: Json
) -> None:
    async with side(FIRST).running() as server:
        talk = Talk(gateway, at(server.base_url))
        talk.state = START | {"previousResponseId": "r0", "messageCursor": cursor}
        failure = await talk.failure()

    assert failure.error_code == "agent.provider_state_invalid"
    assert server.sockets == []
