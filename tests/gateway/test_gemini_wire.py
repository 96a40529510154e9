"""Gemini over a real connection: whole rounds, its refusals, and a key that stands in one header only."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from treadle.gateway.connections.connection import Connection, without_query
from treadle.gateway.gateway import Exchange, ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import ModelFailed, NativeMetadataLost
from treadle.graph.jsontext import Json, dumps
from treadle.graph.messages import Message, NativePart
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

from .gemini_words import GEMINI_3, answer, called, results, said
from .traps import trap
from .words import KEY, TOOLS, MemorySecrets

QUOTA = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDayPerModel"}]}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "45.837906927s"}


class Line:
    """A gateway, and a server on loopback that gives these answers and keeps what it was sent."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.received: list[Received] = []
        self._replies = list(replies)
        self.server = LoopbackServer(self._respond)
        self.gateway = ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())

    def _respond(self, request: Received) -> Reply:
        self.received.append(request)
        return self._replies.pop(0)

    def connect(self) -> Connection:
        address = f"http://127.0.0.1:{self.server.port}?key=q-{KEY}"
        chosen: dict[str, Json] = {"chat_completion_source": "makersuite", "model": GEMINI_3}
        return self.gateway.connect({**chosen, "reverse_proxy": address, "proxy_password": KEY})

    async def ask(self, *messages: Message) -> Exchange:
        at = self.connect()
        fragments = [self.gateway.encode_turn(at, message) for message in messages]
        return await self.gateway.generate(self.gateway.outgoing(at, {}, fragments, TOOLS, {"sessionId": "s"}))


@asynccontextmanager
async def line(*replies: Reply) -> AsyncGenerator[Line]:
    made = Line(replies)
    async with made.server:
        yield made
        await made.gateway.close()


async def failure(reply: Reply) -> ModelFailed:
    async with line(reply) as held:
        with pytest.raises(ModelFailed) as refused:
            await held.ask(said("Go."))
        return refused.value


def refused(status: int, word: str, *details: Json, message: str = "no", listed: bool = False) -> Reply:
    document: Json = {"error": {"code": status, "message": message, "status": word, "details": list(details)}}
    return Reply(dumps([document] if listed else document), status)


@trap(1, 5, 48)
async def test_a_whole_round_goes_over_the_wire_and_the_content_comes_back_verbatim() -> None:
    parts = f"{called('workspace_read_file', 'c1', signature='S==')},{called('workspace_list_files', 'c2')}"
    async with line(Reply(answer(parts).encode()), Reply(answer('{"text":"Done."}').encode())) as held:
        first = await held.ask(said("Go."))
        second = await held.ask(said("Go."), first.response.message, *results(first.response.tool_calls))

    block = next(part.value for part in first.response.message.parts if isinstance(part, NativePart))
    assert block in held.received[1].body
    assert second.response.text == "Done."
    assert first.provider_state["nativeContinuation"] == {"provider": "gemini", "partCount": 1}


@trap(48)
async def test_a_turn_without_the_block_it_was_born_with_is_not_sent() -> None:
    async with line(Reply(answer(called("workspace_read_file", "c1")).encode())) as held:
        first = await held.ask(said("Go."))
        native, *calls = first.response.message.parts

        assert isinstance(native, NativePart)
        with pytest.raises(NativeMetadataLost):
            held.gateway.encode_turn(held.connect(), Message(first.response.message.role, tuple(calls)), first.native)


@trap(50)
async def test_the_key_stands_in_one_header_only() -> None:
    async with line(refused(401, "UNAUTHENTICATED", message=f"bad key {KEY} at /v1beta?key={KEY}")) as held:
        with pytest.raises(ModelFailed) as failed:
            await held.ask(said("Go."))
        (sent,) = held.received
        endpoint = without_query(f"http://127.0.0.1:{held.server.port}/v1beta/models/{GEMINI_3}:generateContent")

    told = f"{failed.value} {failed.value.technical_message} {failed.value.details}"
    assert [name for name, value in sent.headers.items() if KEY in value] == ["x-goog-api-key"]
    assert KEY.encode() not in sent.body
    assert KEY not in told
    assert failed.value.details["endpoint"] == endpoint


@trap(52)
@pytest.mark.parametrize("status", [400, 429, 503])
async def test_an_error_in_a_list_is_read_like_any_other(status: int) -> None:
    plain, listed = [await failure(refused(status, "X", message="Told.", listed=one)) for one in (False, True)]

    assert "Told." in listed.message
    assert (listed.message, listed.error_code, listed.retryable) == (plain.message, plain.error_code, plain.retryable)
    assert listed.details["providerCode"] == "X"


@trap(52)
async def test_an_error_in_a_list_is_found_in_a_200_too() -> None:
    failed = await failure(Reply(b'[{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}]'))

    assert (failed.error_code, failed.retryable) == ("model.provider_rate_limited", True)
    assert "Slow down." in failed.message


@trap(54)
@pytest.mark.parametrize("listed", [True, False])
async def test_a_rate_limit_says_when_to_come_back_and_a_spent_day_does_not(listed: bool) -> None:
    slow = await failure(refused(429, "RESOURCE_EXHAUSTED", RETRY, listed=listed))
    spent = await failure(refused(429, "RESOURCE_EXHAUSTED", QUOTA, RETRY, listed=listed))

    assert (slow.error_code, slow.retryable, slow.retry_after_ms) == ("model.provider_rate_limited", True, 45_838)
    assert (spent.error_code, spent.retryable, spent.retry_after_ms) == ("model.provider_rate_limited", False, None)


async def test_a_key_that_google_does_not_know_is_a_matter_of_authorization() -> None:
    failed = await failure(refused(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}))

    assert (failed.details["kind"], failed.retryable) == ("auth", False)


@trap(8)
async def test_a_bungled_call_may_be_asked_for_again() -> None:
    failed = await failure(Reply(b'{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","index":0}]}'))

    assert (failed.error_code, failed.retryable) == ("model.upstream_invalid_response", True)


@trap(9)
async def test_a_blocked_prompt_is_not_asked_again() -> None:
    failed = await failure(Reply(b'{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}'))

    assert (failed.error_code, failed.retryable, failed.details["reason"]) == (
        "model.request_failed", False, "PROHIBITED_CONTENT",
    )  # fmt: skip


@pytest.mark.parametrize("reply", [b"", b"<html></html>", b'{"candidates":[{"content"', b'{"candidates":[NaN]}'])
async def test_an_answer_that_can_not_be_read_may_be_asked_for_again(reply: bytes) -> None:
    failed = await failure(Reply(reply))

    assert (failed.error_code, failed.retryable) == ("model.upstream_invalid_response", True)
