"""The Anthropic simulator answers as Messages does, and holds a conversation to the order and the thinking it demands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest

from treadle.gateway.wire import elements, member
from treadle.testkit.replies import call
from treadle.testkit.simulators.claude_messages import ClaudeRules, claude_messages
from treadle.testkit.simulators.provider import ScriptedServer, Step
from treadle.testkit.turns import Refusal, Usage, says

from .asking import CLAUDE_HEADERS, PARAMETERS, Body, post, spliced, without

TOOL = {"name": "read_file", "description": "Read", "input_schema": PARAMETERS}
ASK: Body = {
    "model": "claude-x",
    "max_tokens": 4000,
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "tools": [TOOL],
    "messages": [{"role": "user", "content": "Compare a.md and b.md"}],
}
ANSWER = says(
    "Reading both.",
    call("read_file", path="a.md"),
    call("read_file", path="b.md"),
    reasoning="Read b\u00f6th.",
    usage=Usage(50, 20, 10, 30),
    blocks=(b'{"data" : "Emw+","type":"redacted_thinking"}',),
)
Change = Callable[[list[str]], list[str]]

RESULTS: list[Body] = [
    {"type": "tool_result", "tool_use_id": "toolu_000001_1", "content": "A"},
    {"type": "tool_result", "tool_use_id": "toolu_000001_2", "content": "gone", "is_error": True},
]


async def ask(server: ScriptedServer, body: Any = ASK) -> httpx.Response:
    return await post(server, "/messages", CLAUDE_HEADERS, body)


async def blocks_of(server: ScriptedServer, body: Any = ASK) -> list[str]:
    """The blocks of the answer to this request, exactly as received."""
    answer = await ask(server, body)
    assert answer.status_code == 200, answer.text
    return elements(member(answer.text, "content") or "")


def second(blocks: Sequence[str], results: Sequence[Any] = RESULTS, **changes: Any) -> str:
    """The request that answers the calls in these blocks."""
    messages = [*ASK["messages"], {"role": "assistant", "content": "@blocks"}, {"role": "user", "content": results}]
    return spliced({**ASK, "messages": messages, **changes}, blocks=f"[{','.join(blocks)}]")


async def said_to(*steps: Step, body: Any) -> str:
    """What the server says in refusal of a first request."""
    async with claude_messages(steps) as server:
        answer = await ask(server, body)
    assert answer.status_code == 400 and answer.json()["error"]["type"] == "invalid_request_error", answer.text
    assert server.refusals == [answer.json()["error"]["message"]]
    return server.refusals[0]


async def said_to_second(blocks: Change, results: Sequence[Any] = RESULTS, **changes: Any) -> str:
    """What the server says in refusal of a second request, whose blocks `blocks` makes of those it sent."""
    async with claude_messages([ANSWER]) as server:
        answer = await ask(server, second(blocks(await blocks_of(server)), results, **changes))
    assert answer.status_code == 400, answer.text
    return server.refusals[0]


def unchanged(blocks: list[str]) -> list[str]:
    return blocks


async def test_it_answers_in_the_shape_of_messages_and_takes_its_blocks_back() -> None:
    async with claude_messages([ANSWER, says("Done.")]) as server:
        first = await ask(server)
        later = await ask(server, second(elements(member(first.text, "content") or "")))

    document = first.json()
    thinking, redacted, text, one, two = document["content"]
    assert (document["id"], document["role"], document["stop_reason"]) == ("msg_000001", "assistant", "tool_use")
    assert document["usage"] == {
        "input_tokens": 20,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 30,
        "output_tokens": 30,
    }
    assert (thinking["type"], thinking["thinking"], len(thinking["signature"]) > 40) == (
        "thinking",
        "Read b\u00f6th.",
        True,
    )
    assert (redacted["data"], text["text"]) == ("Emw+", "Reading both.")
    assert (one["id"], two["input"]) == ("toolu_000001_1", {"path": "b.md"})
    assert (later.status_code, later.json()["stop_reason"]) == (200, "end_turn")


async def test_two_answers_are_signed_differently_and_two_servers_alike() -> None:
    signatures: list[str] = []
    for _ in range(2):
        async with claude_messages([says("a", reasoning="same"), says("b", reasoning="same")]) as server:
            signatures += [(await ask(server)).json()["content"][0]["signature"] for _ in range(2)]

    assert signatures[0] != signatures[1] and signatures[:2] == signatures[2:]


async def test_a_paused_answer_is_sent_back_and_gone_on_with() -> None:
    paused = says(
        "Looking.", blocks=(b'{"type":"server_tool_use","id":"srv_1","name":"x","input":{}}',), finish="pause"
    )
    async with claude_messages([paused, says("", call("read_file", path="a")), says("Done.")]) as server:
        first = await blocks_of(server)
        on = [*ASK["messages"], {"role": "assistant", "content": "@blocks"}]
        more = await blocks_of(
            server, spliced({**without(ASK, "thinking"), "messages": on}, blocks=f"[{','.join(first)}]")
        )
        results = [{"type": "tool_result", "tool_use_id": "toolu_000002_1", "content": "A"}]
        last = await ask(server, second([*first, *more], results, thinking={"type": "disabled"}))

    assert last.json()["content"][0]["text"] == "Done."


async def test_a_refusal_tells_why() -> None:
    async with claude_messages([says(finish="refusal")]) as server:
        document = (await ask(server)).json()

    assert (document["stop_reason"], document["stop_details"]["type"], document["content"]) == (
        "refusal",
        "refusal",
        [],
    )


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (402, "billing_error"), (429, "rate_limit_error"), (500, "api_error")],
)
async def test_errors_have_the_type_of_their_status(status: int, kind: str) -> None:
    async with claude_messages([Refusal(status, "No.")]) as server:
        answer = await ask(server)

    assert (answer.status_code, answer.json()["type"]) == (status, "error")
    assert answer.json()["error"] == {"type": kind, "message": "No."}
    assert answer.json()["request_id"] == answer.headers["request-id"]


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({"anthropic-version": "2023-06-01"}, 401, "authentication_error"),
        ({**CLAUDE_HEADERS, "x-api-key": "other"}, 401, "authentication_error"),
        ({"x-api-key": "k"}, 400, "invalid_request_error"),
        ({**CLAUDE_HEADERS, "anthropic-version": "2024-01-01"}, 400, "invalid_request_error"),
        ({**CLAUDE_HEADERS, "content-type": "text/plain"}, 400, "invalid_request_error"),
    ],
)
async def test_key_version_and_type_must_be_told(headers: dict[str, str], status: int, kind: str) -> None:
    async with claude_messages([says("ok")], api_key="k") as server:
        answer = await post(server, "/messages", headers, ASK)

    assert (answer.status_code, answer.json()["error"]["type"], server.steps_left) == (status, kind, 1)


async def test_a_key_is_asked_for_where_any_will_do() -> None:
    async with claude_messages([says("ok")]) as server:
        answer = await post(server, "/messages", {"anthropic-version": "2023-06-01"}, ASK)

    assert (answer.status_code, server.refusals) == (401, ["x-api-key header is required"])


async def test_other_paths_and_other_bodies_are_refused() -> None:
    async with claude_messages([says("ok")]) as server:
        nowhere = await post(server, "/complete", CLAUDE_HEADERS, ASK)
        broken = await ask(server, b"{")
        listed = await ask(server, [])

    assert [nowhere.status_code, broken.status_code, listed.status_code] == [404, 400, 400]


MODIFIED = "messages.1.content.{}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be"


async def test_thinking_must_come_back_as_it_was() -> None:
    dropped = await said_to_second(lambda blocks: blocks[1:])
    cut = await said_to_second(lambda blocks: [blocks[0].replace("Read b", "Heed b"), *blocks[1:]])
    reprinted = await said_to_second(lambda blocks: [blocks[0].replace("\\u00f6", "\u00f6"), *blocks[1:]])
    unsealed = await said_to_second(lambda blocks: [blocks[0], blocks[1].replace("Emw+", "Emw/"), *blocks[2:]])

    assert dropped.startswith(MODIFIED.format(2))
    assert {cut[:40], reprinted[:40], unsealed[:40]} == {MODIFIED.format(3)[:40]}


async def test_no_block_of_an_answer_may_be_left_out_moved_or_printed_again() -> None:
    said = [
        await said_to_second(lambda blocks: [*blocks[:2], *blocks[3:]]),
        await said_to_second(lambda blocks: [*blocks[:2], blocks[3], blocks[2], blocks[4]]),
        await said_to_second(lambda blocks: [*blocks[:3], blocks[3].replace('"path": ', '"path":'), blocks[4]]),
    ]

    assert all("not, byte for byte and in order, what this server sent" in one for one in said)


async def test_a_signature_of_another_is_refused_and_a_call_without_thinking_too() -> None:
    foreign = [
        *ASK["messages"],
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}]},
    ]
    unsigned = [*ASK["messages"], {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}]
    bare: list[Body] = [{"type": "tool_use", "id": "own_1", "name": "read_file", "input": {}}]
    results = [{"type": "tool_result", "tool_use_id": "own_1", "content": "A"}]
    said = [
        await said_to(body={**ASK, "messages": [*foreign, *ASK["messages"]]}),
        await said_to(body={**ASK, "messages": [*unsigned, *ASK["messages"]]}),
        await said_to_second(lambda _: [spliced(block) for block in bare], results),
    ]

    assert said[0] == "messages.1.content.0: Invalid `signature` in `thinking` block"
    assert said[1] == "messages.1.content.0.thinking.signature: Field required"
    assert said[2].startswith(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"
    )


async def test_an_earlier_turn_may_come_back_without_its_thinking() -> None:
    async with claude_messages([ANSWER, says("Done.")]) as server:
        blocks = (await blocks_of(server))[2:]
        messages = [
            *ASK["messages"],
            {"role": "assistant", "content": "@blocks"},
            {"role": "user", "content": RESULTS},
            {"role": "assistant", "content": "Both read."},
            {"role": "user", "content": "And now?"},
        ]
        answer = await ask(server, spliced({**ASK, "messages": messages}, blocks=f"[{','.join(blocks)}]"))

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (
            RESULTS[:1],
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_000001_2.",
        ),
        ([{"type": "text", "text": "Well."}, *RESULTS], "messages.1: `tool_use` ids were found without"),
        ([*RESULTS, RESULTS[0]], "messages.2.content.2: each tool_use must have a single result."),
        ([*RESULTS, {**RESULTS[0], "tool_use_id": "toolu_x"}], "messages.2.content.2: unexpected `tool_use_id` found"),
    ],
)
async def test_every_call_has_one_result_at_the_head_of_the_next_message(results: list[Any], said: str) -> None:
    assert (await said_to_second(unchanged, results)).startswith(said)


async def test_results_may_stand_in_any_order_with_text_behind_them() -> None:
    async with claude_messages([ANSWER, says("Done.")]) as server:
        blocks = await blocks_of(server)
        answer = await ask(server, second(blocks, [*reversed(RESULTS), {"type": "text", "text": "Go on."}]))

    assert answer.status_code == 200


async def test_calls_at_the_end_and_ids_given_twice_are_refused() -> None:
    made: Body = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "own_1", "name": "read_file", "input": {}}],
    }
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "own_1", "content": "A"}]}
    said = [
        await said_to(body={**ASK, "messages": [*ASK["messages"], made]}),
        await said_to(body={**ASK, "messages": [*ASK["messages"], made, result, made, result]}),
    ]

    assert said[0].startswith("messages.1: `tool_use` ids were found without")
    assert said[1] == "messages: `tool_use` ids must be unique"


async def test_roles_alternate_from_the_user_to_the_user() -> None:
    user: Body = ASK["messages"][0]
    model: Body = {"role": "assistant", "content": "Yes?"}
    said = [
        await said_to(body={**ASK, "messages": messages})
        for messages in ([model, user], [user, user], [user, model, model, user], [user, model])
    ]
    async with claude_messages([says("ok")], rules=ClaudeRules(alternating=False)) as server:
        joined = await ask(server, {**ASK, "messages": [user, user]})

    assert said[0] == 'messages: first message must use the "user" role'
    assert [one.rpartition("multiple ")[2] for one in said[1:3]] == [
        '"user" roles in a row',
        '"assistant" roles in a row',
    ]
    assert said[3].endswith("The conversation must end with a user message.")
    assert joined.status_code == 200
