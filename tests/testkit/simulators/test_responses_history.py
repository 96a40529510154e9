"""Items of earlier turns come back to the Responses simulator whole, unchanged and in their company, or are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from treadle.graph.jsontext import Json, dumps, loads
from treadle.testkit.replies import call
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.responses_script import Reasoning, Say, answers

from .asking_responses import USER, encrypted, last, post, refusal, request, result, socket, spliced

ASKED = dumps(USER)

Made = tuple[bytes, bytes, bytes]
"""A reasoning item and its call as they were sent, and the call's result."""

Change = Callable[[Made], tuple[bytes, ...]]


async def first_turn(server: OpenAIResponsesServer) -> Made:
    body = (await post(server, encrypted(USER))).content
    output = body.partition(b'"output":[')[2][:-2]
    thought, _, made = output.partition(b',{"id": "fc_')
    made = b'{"id": "fc_' + made
    return thought, made, dumps(result(loads(made)["call_id"]))


def over_http(body: bytes) -> bytes:
    return body.replace(b'"type":"response.create",', b"")


async def replayed(change: Change) -> str:
    """What is said to a second request whose items are made of the first answer's; empty: it was taken."""
    async with OpenAIResponsesServer([answers(Reasoning("é"), call("a")), answers(Say("ok"))]) as server:
        items = change(await first_turn(server))
        answer = await post(server, over_http(spliced(ASKED, *items)))
    return "" if answer.status_code == 200 else answer.json()["error"]["message"]


async def test_items_that_come_back_as_they_were_are_taken_again_and_again() -> None:
    async with OpenAIResponsesServer(
        [answers(Reasoning("é"), call("a")), answers(Say("1")), answers(Say("2"))]
    ) as server:
        items = await first_turn(server)
        second = await post(server, over_http(spliced(ASKED, *items)))
        said = second.content.partition(b'"output":[')[2][:-2]
        third = await post(server, over_http(spliced(ASKED, *items, said, ASKED)))

    assert (second.status_code, third.status_code) == (200, 200)


def changed(made: Made, place: int, **keys: Json) -> tuple[bytes, ...]:
    item = {**loads(made[place]), **keys}
    return tuple(dumps(item) if index == place else raw for index, raw in enumerate(made))


CHANGES: list[tuple[Change, str]] = [
    (lambda made: (dumps(loads(made[0])), *made[1:]), "is not, byte for byte, the item that this server sent"),
    (lambda made: (made[0], dumps(loads(made[1])), made[2]), "is not, byte for byte"),
    (lambda made: (made[0] + b" ", *made[1:]), ""),
    (lambda made: changed(made, 0, summary=[]), "is not, byte for byte"),
    (lambda made: changed(made, 0, encrypted_content="gAAAAother"), "The encrypted content gAAA...ther could not"),
    (lambda made: changed(made, 0, encrypted_content=None), "Items are not persisted when `store` is set to false"),
    (lambda made: changed(made, 0, id="rs_other"), "could not be verified"),
    (lambda made: changed(made, 0, id=None), "Missing required parameter: 'input[1].id'"),
    (lambda made: changed(made, 1, id="fc_other"), "Item with id 'fc_other' not found"),
    (lambda made: changed(made, 1, id="other"), "Expected an ID that begins with 'fc'"),
    (lambda made: changed(made, 2, id="fc_other"), "Item with id 'fc_other' not found"),
    (lambda made: made[1:], "of type 'function_call' was provided without its required 'reasoning' item: 'rs_"),
    (lambda made: made[:1], "of type 'reasoning' was provided without its required following item"),
    (lambda made: (made[0], ASKED, *made[1:]), "without its required following item"),
    (lambda made: (made[1], made[0], made[2]), "without its required 'reasoning' item"),
    (lambda made: (*made, *made), "Duplicate item found with id rs_"),
    (lambda made: made[:2], "No tool output found for function call call_"),
    (lambda made: (*made, made[2]), "Duplicate function_call_output for call_id call_"),
    (lambda made: made[2:], "No tool call found for function call output with call_id call_"),
    (lambda made: (made[2], *made[:2]), "No tool call found for function call output"),
    (lambda made: changed(made, 2, call_id="call_other"), "No tool call found for function call output"),
    (lambda made: (*made, dumps({"type": "item_reference", "id": "rs_1"})), "Item with id 'rs_1' not found"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES)
async def test_how_items_may_come_back(change: Change, told: str) -> None:
    said = await replayed(change)

    assert told in said
    assert bool(told) == bool(said)


async def test_reasoning_that_was_not_encrypted_can_not_come_back() -> None:
    async with OpenAIResponsesServer([answers(Reasoning(), call("a"))]) as server:
        output = (await post(server, request(USER))).json()["output"]
        refused = await refusal(server, request(USER, *output, result(output[1]["call_id"])))

    assert refused["message"].startswith(f"Item with id '{output[0]['id']}' not found. Items are not persisted")


async def test_one_call_id_is_one_call() -> None:
    made: Json = {"type": "function_call", "call_id": "c", "name": "a", "arguments": "{}"}
    async with OpenAIResponsesServer([]) as server:
        refused = await refusal(server, request(USER, made, made, result("c")))

    assert refused["message"] == "Duplicate function_call for call_id c."


CONTINUED: list[tuple[Callable[[Json], list[Json]], str]] = [
    (lambda output: [USER], "No tool output found for function call call_"),
    (lambda output: [result("other")], "No tool call found for function call output with call_id other."),
    (lambda output: [result(output[1]["call_id"])] * 2, "Duplicate function_call_output"),
    (lambda output: [output[1], result(output[1]["call_id"])], "byte for byte"),
]


@pytest.mark.parametrize(("made", "told"), CONTINUED)
async def test_a_continuation_answers_the_calls_it_goes_on_from(made: Callable[[Json], list[Json]], told: str) -> None:
    async with OpenAIResponsesServer([answers(Reasoning(), call("a"))]) as server, socket(server) as opened:
        response = (await last(opened, encrypted(USER)))["response"]
        refused = await last(opened, request(*made(response["output"]), previous_response_id=response["id"]))

    assert told in refused["error"]["message"]


async def test_a_continuation_that_repeats_what_the_server_holds_is_refused() -> None:
    item = b'{"type": "function_call", "id": "fc_1", "call_id": "c", "name": "a", "arguments": "{}"}'
    async with OpenAIResponsesServer([answers(item)]) as server, socket(server) as opened:
        response = (await last(opened, request(USER)))["response"]
        refused = await last(opened, spliced(item, dumps(result("c")), previous_response_id=response["id"]))

    assert refused["error"]["message"].startswith("Duplicate item found with id fc_1.")
