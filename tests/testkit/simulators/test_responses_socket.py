"""The Responses simulator on a WebSocket: events in order, one response at a time, the last one remembered, and faults."""

from __future__ import annotations

import asyncio

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from treadle.graph.jsontext import Json, dumps, loads
from treadle.testkit.replies import Reply, call, error
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.responses_script import (
    GIANT,
    Answer,
    Broken,
    Reasoning,
    Say,
    Step,
    answers,
    giant,
    limit_reached,
)

from .asking_responses import KEY, USER, address, encrypted, events, frames, last, post, request, result, send, socket


async def test_events_come_in_order_and_are_numbered() -> None:
    script = [answers(Reasoning("why"), Say("so"), call("a", b=1))]
    async with OpenAIResponsesServer(script) as server, socket(server) as opened:
        seen = await events(opened, encrypted(USER))

    part, inner = "response.content_part", "response.reasoning_summary"
    assert [event["type"] for event in seen] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        f"{inner}_part.added",
        f"{inner}_text.delta",
        f"{inner}_text.done",
        f"{inner}_part.done",
        "response.output_item.done",
        "response.output_item.added",
        f"{part}.added",
        "response.output_text.delta",
        "response.output_text.done",
        f"{part}.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event["sequence_number"] for event in seen] == list(range(len(seen)))
    assert seen[0]["response"]["id"] == seen[-1]["response"]["id"]


async def test_deltas_make_up_the_arguments_and_an_announced_item_is_not_yet_whole() -> None:
    script = [answers(Reasoning("why"), call("a", text="x" * 100))]
    async with OpenAIResponsesServer(script) as server, socket(server) as opened:
        seen = await events(opened, encrypted(USER))
    added, done = ([e["item"] for e in seen if e["type"] == f"response.output_item.{end}"] for end in ("added", "done"))
    deltas = [e["delta"] for e in seen if e["type"] == "response.function_call_arguments.delta"]

    assert len(deltas) > 1
    assert "".join(deltas) == done[1]["arguments"]
    assert (added[0]["summary"], added[1]["arguments"], added[1]["status"]) == ([], "", "in_progress")
    assert added[0]["encrypted_content"] != done[0]["encrypted_content"]


async def test_an_item_has_the_same_bytes_in_its_event_and_in_the_response() -> None:
    async with OpenAIResponsesServer([answers(Say("é"))]) as server, socket(server) as opened:
        await send(opened, request(USER))
        seen = await frames(opened)
    done = next(frame for frame in seen if b"output_item.done" in frame)
    raw = done.partition(b'"item":')[2][:-1]

    assert raw in seen[-1]
    assert dumps(loads(raw)) != raw


async def test_a_continuation_sends_only_what_is_new() -> None:
    script = [answers(Reasoning(), call("a"), call("a")), answers(call("a")), answers(Say("end"))]
    async with OpenAIResponsesServer(script) as server, socket(server) as opened:
        response = (await last(opened, encrypted(USER)))["response"]
        for _ in range(2):
            made = [result(item["call_id"]) for item in response["output"] if item["type"] == "function_call"]
            response = (await last(opened, encrypted(*made, previous_response_id=response["id"])))["response"]

    assert response["output"][0]["content"][0]["text"] == "end"
    assert [one.method for one in server.requests] == ["WEBSOCKET"] * 3
    assert (server.sockets, server.connections, server.refusals) == (1, 1, [])


async def started(server: OpenAIResponsesServer) -> tuple[Json, Json]:
    """A first turn on a socket that is closed after it: the continuation's request, and its response's id."""
    async with socket(server) as opened:
        response = (await last(opened, request(USER)))["response"]
    return request(USER, previous_response_id=response["id"]), response["id"]


async def test_another_socket_does_not_know_the_response() -> None:
    async with OpenAIResponsesServer([answers(Say("hi"))]) as server:
        continued, response_id = await started(server)
        async with socket(server) as opened:
            refused = await last(opened, continued)

    assert (refused["type"], refused["status"]) == ("error", 400)
    assert refused["error"] == {
        "message": f"Previous response with id '{response_id}' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }


async def test_only_the_last_response_is_remembered() -> None:
    async with OpenAIResponsesServer([answers(Say("1")), answers(Say("2"))]) as server, socket(server) as opened:
        first = (await last(opened, request(USER)))["response"]["id"]
        await last(opened, request(USER))
        refused = await last(opened, request(USER, previous_response_id=first))

    assert refused["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize("fault", ["forget", "forgotten", "refused", "overloaded", "failed"])
async def test_what_evicts_the_last_response(fault: str) -> None:
    first = Answer((Say("1"),), forgotten=fault == "forgotten")
    second: Step = error(503, "busy", type="server_error") if fault == "overloaded" else Answer((), "failed")
    async with OpenAIResponsesServer([first, second]) as server, socket(server) as opened:
        continued = request(USER, previous_response_id=(await last(opened, request(USER)))["response"]["id"])
        if fault == "forget":
            server.forget()
        elif fault == "refused":
            await last(opened, {**continued, "zz": 1})
        elif fault != "forgotten":
            await last(opened, continued)
        refused = await last(opened, continued)

    assert refused["error"]["code"] == "previous_response_not_found"


async def test_a_failed_response_can_not_be_continued() -> None:
    async with OpenAIResponsesServer([Answer((), "failed", "server_error")]) as server, socket(server) as opened:
        failed = await last(opened, request(USER))
        refused = await last(opened, request(USER, previous_response_id=failed["response"]["id"]))

    assert refused["error"]["code"] == "previous_response_not_found"


async def test_a_refused_turn_that_continues_nothing_evicts_nothing() -> None:
    async with OpenAIResponsesServer([answers(Say("1")), answers(Say("2"))]) as server, socket(server) as opened:
        response = (await last(opened, request(USER)))["response"]
        await last(opened, request(USER, zz=1))
        again = await last(opened, request(USER, previous_response_id=response["id"]))

    assert again["type"] == "response.completed"


async def test_one_response_is_in_flight_at_a_time() -> None:
    go_on = asyncio.Event()

    async def sleep(_: float) -> None:
        await go_on.wait()

    async with OpenAIResponsesServer([answers(Say("1")).after(1)], sleep=sleep) as server, socket(server) as opened:
        await send(opened, request(USER))
        refused = await last(opened, request(USER))
        go_on.set()
        first = loads((await frames(opened))[-1])

    assert refused["error"]["code"] == "response_already_in_flight"
    assert first["type"] == "response.completed"


async def test_an_upgrade_is_refused_with_a_status_so_many_times() -> None:
    async with OpenAIResponsesServer([answers(Say("1"))]) as server:
        server.refuse_upgrades(error(429, "too many connections", retry_after="1"))
        with pytest.raises(InvalidStatus) as refused:
            async with socket(server):
                pass
        async with socket(server) as opened:
            await last(opened, request(USER))

    assert refused.value.response.status_code == 429
    assert (refused.value.response.headers["retry-after"], server.sockets) == ("1", 1)


async def test_a_server_may_speak_http_only() -> None:
    async with OpenAIResponsesServer([answers(Say("1"))]) as server:
        server.refuse_upgrades(error(426, "no sockets here"), times=None)
        for _ in range(3):
            with pytest.raises(InvalidStatus, match="426"):
                async with socket(server):
                    pass
        answer = await post(server, request(USER))

    assert (answer.status_code, server.sockets) == (200, 0)


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer other"}])
async def test_a_stranger_gets_no_socket(headers: dict[str, str]) -> None:
    async with OpenAIResponsesServer([], api_key="k") as server:
        with pytest.raises(InvalidStatus, match="401"):
            async with connect(address(server), additional_headers=headers, proxy=None):
                pass


async def test_a_greeting_that_is_no_websocket_version_it_knows_is_refused() -> None:
    async with OpenAIResponsesServer([]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.base_url.split(":")[2].split("/")[0]))
        greeting = "GET /v1/responses HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\nUpgrade: websocket\r\n\r\n"
        writer.write(greeting.encode())
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 426")


@pytest.mark.parametrize("code", [1000, 1011, None])
async def test_a_turn_breaks_off_after_so_many_events(code: int | None) -> None:
    async with OpenAIResponsesServer([Broken(answers(Say("hi")), 2, code)]) as server, socket(server) as opened:
        await send(opened, request(USER))
        seen = [loads(await opened.recv(decode=False))["type"] for _ in range(2)]
        with pytest.raises(ConnectionClosed) as closed:
            await opened.recv()

    assert seen == ["response.created", "response.in_progress"]
    assert (None if closed.value.rcvd is None else closed.value.rcvd.code) == code


async def test_a_socket_at_its_limit_says_so_and_closes() -> None:
    async with OpenAIResponsesServer([limit_reached()]) as server, socket(server) as opened:
        refused = await last(opened, request(USER))
        await opened.wait_closed()

    assert refused["error"]["code"] == "websocket_connection_limit_reached"
    assert opened.close_code == 1000


async def test_a_frame_may_be_larger_than_three_mebibytes() -> None:
    async with OpenAIResponsesServer([giant()]) as server, socket(server) as opened:
        await send(opened, request(USER))
        seen = await frames(opened)

    assert len(seen[-1]) > GIANT


async def test_an_error_of_the_script_is_an_error_event() -> None:
    limited = error(429, "slow", type="requests", code="rate_limit_exceeded", retry_after="2")
    async with OpenAIResponsesServer([limited]) as server, socket(server) as opened:
        told = await last(opened, request(USER))

    assert (told["status"], told["error"]["code"]) == (429, "rate_limit_exceeded")
    assert told["headers"] == {"retry-after": "2"}


async def test_a_reply_that_is_no_error_is_one_frame_as_it_is() -> None:
    async with OpenAIResponsesServer([Reply(b"no JSON")]) as server, socket(server) as opened:
        await send(opened, request(USER))
        frame = await opened.recv()

    assert frame == "no JSON"


async def test_a_reply_that_is_dropped_cuts_the_socket_off() -> None:
    async with OpenAIResponsesServer([Reply(b"", drop="before_answer")]) as server, socket(server) as opened:
        await send(opened, request(USER))
        with pytest.raises(ConnectionClosed) as closed:
            await opened.recv()

    assert closed.value.rcvd is None


async def test_frames_of_other_responses_may_come_ahead() -> None:
    stale = b'{"type":"response.output_text.delta","response_id":"resp_old","delta":"x"}'
    async with OpenAIResponsesServer([Answer((Say("1"),), ahead=(stale,))]) as server, socket(server) as opened:
        seen = await events(opened, request(USER))

    assert (seen[0], seen[1]["type"]) == (loads(stale), "response.created")


async def test_a_client_that_leaves_in_a_turn_is_counted() -> None:
    async with OpenAIResponsesServer([answers(Say("late")).after(3600)]) as server:
        async with socket(server) as opened:
            await send(opened, request(USER))
            while not server.requests:
                await asyncio.sleep(0.001)
        while not server.aborted:
            await asyncio.sleep(0.001)

    assert server.aborted == 1


async def test_it_closes_while_an_answer_is_still_due() -> None:
    async with OpenAIResponsesServer([answers(Say("late")).after(3600)]) as server:
        opened = await connect(address(server), additional_headers=KEY, proxy=None)
        await send(opened, request(USER))
        while not server.requests:
            await asyncio.sleep(0.001)
    with pytest.raises(ConnectionClosed):
        await opened.recv()


async def test_fragments_make_one_message_and_pings_are_answered() -> None:
    message = dumps({"type": "response.create", **request(USER)}).decode()
    async with OpenAIResponsesServer([answers(Say("1"))]) as server, socket(server) as opened:
        await opened.send([message[:10], message[10:]])
        await (await opened.ping())
        told = loads((await frames(opened))[-1])

    assert told["type"] == "response.completed"
