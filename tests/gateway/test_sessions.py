"""A run's turns over real sockets: only what is new while the server remembers, all of it once where it does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from treadle.gateway.connection import Connection
from treadle.gateway.delivery import WireCall
from treadle.gateway.gateway import Exchange, ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json, dumps
from treadle.graph.messages import Message, Role, TextPart, ToolResult, ToolResultPart
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

from .responses_side import (
    REASONING,
    Answer,
    Close,
    ResponsesSide,
    Silence,
    asked,
    at,
    completed,
    created,
    fault,
    response,
    said,
)
from .traps import trap
from .words import KEY, TOOLS, MemorySecrets

OPENING = (Message(Role.SYSTEM, (TextPart("You write."),)), Message(Role.USER, (TextPart("Go."),)))
FIRST = (created("r1"), completed("r1", REASONING, asked("c1")))
SECOND = completed("r2", said("Done."))
START: Json = {"sessionId": "run-1"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def gateway(clock: ManualClock) -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets(), clock, sockets=WebSocketTransport(clock))
    yield made
    await made.close()


class Talk:
    """A run's conversation, as its rounds go on."""

    def __init__(self, gateway: ModelGateway, here: Connection, **settings: Json) -> None:
        self._gateway = gateway
        self.here = here
        self._settings = settings
        self.messages: list[Message] = list(OPENING)
        self.state: Json = START
        self.heard: list[WireCall] = []

    async def round(self) -> Exchange:
        """Ask, and answer whatever calls come."""
        fragments = [self._gateway.encode_turn(self.here, message) for message in self.messages]
        outgoing = self._gateway.outgoing(self.here, self._settings, fragments, TOOLS, self.state)
        exchange = await self._gateway.generate(outgoing, self.heard)
        self.state = exchange.provider_state
        self.messages.append(exchange.response.message)
        for call in exchange.response.tool_calls:
            self.messages.append(Message(Role.TOOL, (ToolResultPart(ToolResult(call.id, call.name, "done")),)))
        return exchange

    async def failure(self) -> ModelFailed:
        with pytest.raises(ModelFailed) as failed:
            await self.round()
        return failed.value


def kinds(turn: dict[str, Json]) -> list[str]:
    return [item.get("role") or item["type"] for item in turn["input"]]


WHOLE = ["developer", "user", "reasoning", "function_call", "function_call_output"]


def side(*answers: Answer) -> ResponsesSide:
    return ResponsesSide(answers)


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0.005)


async def test_the_second_turn_sends_only_the_results_over_the_same_socket(gateway: ModelGateway) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        first, second = await talk.round(), await talk.round()

    assert server.by == [1, 1]
    assert [turn["type"] for turn in server.turns] == ["response.create"] * 2
    assert kinds(server.turns[0]) == ["developer", "user"]
    assert kinds(server.turns[1]) == ["function_call_output"]
    assert server.turns[1]["previous_response_id"] == "r1"
    assert server.turns[1]["tools"] == server.turns[0]["tools"]
    assert first.body == "\n".join(FIRST).encode()
    assert (first.replays, second.replays, second.response.text) == ((), (), "Done.")


async def test_the_state_tells_what_can_be_built_on(gateway: ModelGateway) -> None:
    async with side(FIRST).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()

    assert talk.state == {
        "sessionId": "run-1",
        "chatCompletionSource": "custom",
        "providerFormat": "openai_responses",
        "connectionKey": talk.here.key,
        "model": "m",
        "messageCursor": 2,
        "lastResponseId": "r1",
        "nativeContinuation": {"provider": "openai_responses", "partCount": 1},
        "transport": "responses_websocket",
        "previousResponseId": "r1",
    }


async def test_neither_session_nor_state_goes_out_and_the_key_goes_in_a_header(gateway: ModelGateway) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        await talk.round()

    sent = json.dumps([server.turns, server.headers])
    assert "run-1" not in sent and "messageCursor" not in sent and "_tauritavern" not in sent
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(server.turns)


async def test_each_turn_is_recorded_as_it_went(gateway: ModelGateway) -> None:
    async with side(FIRST).running() as server:
        talk = Talk(gateway, at(server.base_url))
        exchange = await talk.round()

    (call,) = talk.heard
    assert (call.transport, call.error) == ("responses_websocket", None)
    assert call.reply is not None and call.reply.body == exchange.body
    assert json.loads(call.request.body) == server.turns[0]
    assert b"".join(call.request.pieces) == call.request.body


@trap(40)
async def test_a_socket_closed_between_turns_costs_one_whole_transcript_and_no_retry(gateway: ModelGateway) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        await server.sockets[0].close(1001)
        await settled()
        exchange = await talk.round()

    assert exchange.replays == ("socket_lost",)
    assert server.by == [1, 2]
    assert kinds(server.turns[1]) == WHOLE
    assert "previous_response_id" not in server.turns[1]
    assert server.turns[1]["input"][2:4] == [json.loads(REASONING), json.loads(asked("c1"))]
    assert exchange.provider_state["previousResponseId"] == "r2"


@trap(40)
async def test_a_socket_that_ends_as_a_turn_is_sent_costs_one_whole_transcript_too(gateway: ModelGateway) -> None:
    async with side(FIRST, Close(1000), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.replays == ("socket_lost",)
    assert server.by == [1, 1, 2]
    assert [kinds(turn) for turn in server.turns[1:]] == [["function_call_output"], WHOLE]
    assert [call.error is None for call in talk.heard] == [True, False, True]


@trap(40)
async def test_an_answer_that_is_forgotten_costs_one_whole_transcript_on_a_new_socket(gateway: ModelGateway) -> None:
    async with side(FIRST, fault("previous_response_not_found"), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.replays == ("previous_response_not_found",)
    assert server.by == [1, 1, 2]
    assert kinds(server.turns[2]) == WHOLE
    assert "previous_response_id" not in server.turns[2]


async def test_there_is_one_repeat_and_no_more(gateway: ModelGateway) -> None:
    lost = fault("previous_response_not_found")
    async with side(FIRST, lost, lost, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        failure = await talk.failure()

    assert len(server.turns) == 3
    assert (failure.error_code, failure.retryable) == ("model.request_failed", False)
    assert failure.details["providerCode"] == "previous_response_not_found"


async def test_results_that_the_server_misses_are_sent_with_all_the_rest(gateway: ModelGateway) -> None:
    missed = fault(None, "No tool output found for function call c1.")
    async with side(FIRST, missed, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.replays == ("no_tool_output",)
    assert kinds(server.turns[2]) == WHOLE


@trap(41)
async def test_a_socket_at_the_server_s_age_limit_is_opened_anew(gateway: ModelGateway) -> None:
    async with side(FIRST, fault("websocket_connection_limit_reached"), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.replays == ("websocket_connection_limit_reached",)
    assert server.by == [1, 1, 2]
    assert kinds(server.turns[2]) == WHOLE


@trap(41)
async def test_a_first_turn_at_the_limit_is_repeated_too_and_a_second_limit_is_worth_a_retry(
    gateway: ModelGateway,
) -> None:
    limit = fault("websocket_connection_limit_reached")
    async with side(limit, limit).running() as server:
        failure = await Talk(gateway, at(server.base_url)).failure()

    assert (len(server.turns), failure.retryable) == (2, True)


@trap(41)
async def test_a_socket_of_an_hour_is_not_used_again(gateway: ModelGateway, clock: ManualClock) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        clock.advance(56 * 60)
        exchange = await talk.round()

    assert exchange.replays == ("socket_expired",)
    assert server.by == [1, 2]
    assert kinds(server.turns[1]) == WHOLE


async def test_a_server_that_stores_is_asked_to_go_on_over_a_new_socket(gateway: ModelGateway) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url), store=True)
        await talk.round()
        await server.sockets[0].close()
        await settled()
        exchange = await talk.round()

    assert (exchange.replays, server.by) == ((), [1, 2])
    assert server.turns[1]["previous_response_id"] == "r1"


@trap(42)
async def test_after_a_cancelled_turn_nothing_of_it_is_taken_for_the_next_answer(gateway: ModelGateway) -> None:
    async with side(FIRST, Silence(), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        turn = asyncio.create_task(talk.round())
        while len(server.turns) < 2:
            await asyncio.sleep(0.005)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        exchange = await talk.round()

    assert talk.heard[1].error == "cancelled"
    assert (exchange.response.text, exchange.replays) == ("Done.", ("socket_lost",))
    assert server.by == [1, 1, 2]


@trap(43)
@pytest.mark.parametrize("code", [1000, 1001, 1011])
async def test_a_close_before_the_last_event_is_a_fault_and_no_answer(gateway: ModelGateway, code: int) -> None:
    async with side(Close(code, (created("r1"),))).running() as server:
        talk = Talk(gateway, at(server.base_url))
        failure = await talk.failure()

    assert (failure.error_code, failure.retryable) == ("model.request_failed", True)
    assert talk.state == START
    assert server.by == [1]


@trap(43)
async def test_a_close_in_the_middle_of_a_later_turn_is_left_to_the_run_s_retry(gateway: ModelGateway) -> None:
    async with side(FIRST, Close(1000, (created("r2"),)), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        failure = await talk.failure()
        exchange = await talk.round()

    assert failure.retryable
    assert exchange.replays == ("socket_lost",)
    assert kinds(server.turns[2]) == WHOLE


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


async def test_a_session_that_is_closed_ends_its_turn(gateway: ModelGateway) -> None:
    async with side().running() as server:
        turn = asyncio.create_task(Talk(gateway, at(server.base_url)).failure())
        while not server.turns:
            await asyncio.sleep(0.005)
        gateway.close_session("unknown")
        gateway.close_session("run-1")
        failure = await turn

    assert failure.error_code == "model.cancelled"
