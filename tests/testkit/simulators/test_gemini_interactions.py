"""The Interactions simulator answers in steps, and holds a request to its parameters and to the steps it sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest

from treadle.gateway.wire import elements, member
from treadle.testkit.replies import call
from treadle.testkit.simulators.gemini_interactions import gemini_interactions
from treadle.testkit.simulators.interactions_rules import check
from treadle.testkit.simulators.provider import RequestRefused, ScriptedServer
from treadle.testkit.turns import Refusal, Usage, says

from .asking import GOOGLE_HEADERS, PARAMETERS, Body, post, spliced, without

TOOL = {"type": "function", "name": "read_file", "description": "Read", "parameters": PARAMETERS}
USER = {"type": "user_input", "content": [{"type": "text", "text": "Summarise notes.md"}]}
ASK: Body = {"model": "gemini-3-x", "store": False, "input": [USER], "tools": [TOOL]}
ANSWER = says(
    "Reading.",
    call("read_file", path="a.md"),
    call("read_file", path="b.md"),
    reasoning="Read b\u00f6th.",
    usage=Usage(60, 12, 9, 4),
)
FIRST, SECOND = "call-000001-1", "call-000001-2"


def result(call_id: str, **changes: Any) -> Body:
    return {"type": "function_result", "call_id": call_id, "name": "read_file", "result": {"ok": True}, **changes}


RESULTS = [result(FIRST), result(SECOND)]


async def ask(server: ScriptedServer, body: Any = ASK, **headers: str) -> httpx.Response:
    return await post(server, "/v1beta/interactions", {**GOOGLE_HEADERS, **headers}, body)


async def steps_of(server: ScriptedServer) -> list[str]:
    """The steps of the answer, exactly as received."""
    answer = await ask(server)
    assert answer.status_code == 200, answer.text
    return elements(member(answer.text, "steps") or "")


def second(steps: Sequence[str], results: Sequence[Any] = RESULTS) -> str:
    names = {f"step{place}": step for place, step in enumerate(steps)}
    return spliced({**ASK, "input": [USER, *(f"@{name}" for name in names), *results]}, **names)


async def said_to(given: Any) -> str:
    """What the server says in refusal of a first request with this input."""
    async with gemini_interactions([says("ok")]) as server:
        answer = await ask(server, {**ASK, "input": given})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request"), answer.text
    assert server.refusals == [answer.json()["error"]["message"]]
    return server.refusals[0]


async def said_to_second(change: Callable[[list[str]], list[str]], results: Sequence[Any] = RESULTS) -> str:
    """What the server says in refusal of a second request, whose steps `change` makes of those it sent."""
    async with gemini_interactions([ANSWER]) as server:
        answer = await ask(server, second(change(await steps_of(server)), results))
    assert answer.status_code == 400, answer.text
    return server.refusals[0]


def unchanged(steps: list[str]) -> list[str]:
    return steps


async def test_it_answers_in_steps_and_takes_them_back() -> None:
    async with gemini_interactions([ANSWER, says("Done.")]) as server:
        first = await ask(server, **{"api-revision": "2026-05-20"})
        later = await ask(server, second(elements(member(first.text, "steps") or "")))

    document = first.json()
    thought, output, one, two = document["steps"]
    assert (document["id"], document["status"], document["model"]) == (
        "interaction-000001",
        "requires_action",
        "gemini-3-x",
    )
    assert (document["usage"]["total_thought_tokens"], document["usage"]["total_tokens"]) == (9, 81)
    assert (thought["type"], thought["summary"]) == ("thought", [{"type": "text", "text": "Read b\u00f6th."}])
    assert output == {"type": "model_output", "content": [{"type": "text", "text": "Reading."}]}
    assert one == {"type": "function_call", "id": FIRST, "name": "read_file", "arguments": {"path": "a.md"}}
    assert two["id"] == SECOND
    assert later.json()["status"] == "completed"


async def test_a_plain_text_is_an_input_and_a_hidden_thought_has_no_summary() -> None:
    async with gemini_interactions([says("Hi.", reasoning="")]) as server:
        document = (await ask(server, {**ASK, "input": "hi"})).json()

    assert (document["steps"][0]["summary"], len(document["steps"][0]["signature"]) > 40) == ([], True)


@pytest.mark.parametrize(("finish", "status"), [("length", "incomplete"), ("filter", "failed")])
async def test_the_status_tells_how_an_answer_ends(finish: Any, status: str) -> None:
    async with gemini_interactions([says("so far", finish=finish)]) as server:
        document = (await ask(server)).json()

    assert (document["status"], "errors" in document) == (status, status == "failed")


@pytest.mark.parametrize(
    ("status", "code"), [(403, "permission_denied"), (429, "rate_limit_exceeded"), (500, "internal")]
)
async def test_errors_have_the_code_of_their_status(status: int, code: str) -> None:
    async with gemini_interactions([Refusal(status, "No.")]) as server:
        answer = await ask(server)

    assert (answer.status_code, answer.json()) == (status, {"error": {"message": "No.", "code": code}})


async def test_the_key_comes_in_its_header_and_never_in_the_url() -> None:
    async with gemini_interactions([says("ok")], api_key="k") as server:
        path = "/v1beta/interactions"
        answers = [
            await post(server, path, {}, ASK),
            await post(server, path, {"x-goog-api-key": "other"}, ASK),
            await post(server, f"{path}?key=k", GOOGLE_HEADERS, ASK),
            await post(server, "/v1beta/models", GOOGLE_HEADERS, ASK),
            await ask(server, b"{"),
            await ask(server, []),
        ]

    assert [answer.status_code for answer in answers] == [401, 401, 400, 404, 400, 400]
    assert answers[0].json()["error"]["code"] == "authentication"


async def test_a_key_is_asked_for_where_any_will_do() -> None:
    async with gemini_interactions([says("ok")]) as server:
        answer = await post(server, "/v1beta/interactions", {}, ASK)

    assert (answer.status_code, server.steps_left) == (401, 1)


async def test_the_older_schema_is_no_longer_spoken() -> None:
    async with gemini_interactions([says("ok")]) as server:
        answer = await ask(server, **{"api-revision": "2025-12-01"})

    said = [answer.json()["error"]["message"], await said_to([{"role": "user", "content": "hi"}])]
    assert all(one.startswith("The legacy Interactions API schema is no longer supported") for one in said)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (RESULTS[:1], f"no function_result for the function calls {SECOND}."),
        ([*RESULTS, result(FIRST)], f"the function call '{FIRST}' has two results."),
        ([*RESULTS, result("call-x")], "'input[7].call_id' 'call-x' is of no function call before it."),
        (
            [result(FIRST, name="write_file"), RESULTS[1]],
            f"'input[5].name' is not that of the function call '{FIRST}'.",
        ),
        ([USER, *RESULTS], f"no function_result for the function calls {FIRST}, {SECOND}."),
        ([USER], f"no function_result for the function calls {FIRST}, {SECOND}."),
        ([without(RESULTS[0], "name"), RESULTS[1]], "'input[5]' needs 'name' and 'result'."),
    ],
)
async def test_every_call_has_one_result_right_behind_it(results: list[Any], said: str) -> None:
    assert await said_to_second(unchanged, results) == f"Invalid input received: {said}"


async def test_thoughts_come_back_as_they_were() -> None:
    missing = await said_to_second(lambda steps: steps[1:])
    changed = await said_to_second(lambda steps: [steps[0].replace("Read b", "Heed b"), *steps[1:]])
    resigned = await said_to_second(lambda steps: [steps[0].replace('"signature": "', '"signature": "A'), *steps[1:]])
    foreign = await said_to([USER, {"type": "thought", "signature": "YQ==", "summary": []}, USER])
    blank = await said_to([USER, {"type": "thought", "signature": ""}, USER])

    assert all(
        "the thought before" in said and "is missing or was changed." in said for said in (missing, changed, resigned)
    )
    assert [foreign, blank] == ["Invalid thought signature at 'input[1].signature'."] * 2


async def test_no_step_may_be_left_out_moved_or_printed_again() -> None:
    said = [
        await said_to_second(lambda steps: [steps[0], *steps[2:]]),
        await said_to_second(lambda steps: [steps[0], steps[1], steps[3], steps[2]]),
        await said_to_second(lambda steps: [*steps[:2], steps[2].replace('"path": ', '"path":'), steps[3]]),
    ]

    assert all("are not, byte for byte and in order, what this server sent." in one for one in said)


async def test_the_input_ends_with_the_user_and_ids_are_given_once() -> None:
    made: Body = {"type": "function_call", "id": "own", "name": "read_file", "arguments": {}}
    output = {"type": "model_output", "content": [{"type": "text", "text": "a"}]}
    said = [
        await said_to([USER, output]),
        await said_to([USER, made]),
        await said_to([USER, made, result("own"), made, result("own")]),
    ]

    assert said == [
        "The input must end with a step of type 'user_input' or 'function_result'.",
        "Invalid input received: no function_result for the function calls own.",
        "Invalid input received: two function calls have the id 'own'.",
    ]


async def test_the_model_may_have_spoken_first() -> None:
    greeting = {"type": "model_output", "content": [{"type": "text", "text": "The kettle sings."}]}
    async with gemini_interactions([says("ok")]) as server:
        answer = await ask(server, {**ASK, "input": [greeting, USER]})

    assert answer.status_code == 200


async def test_an_unknown_parameter_is_named() -> None:
    async with gemini_interactions([says("ok")]) as server:
        answer = await ask(server, {**ASK, "max_tokens": 9})

    assert answer.json()["error"] == {"message": "Unknown parameter 'max_tokens'.", "code": "parameter_unknown"}


def configured(**keys: Any) -> Body:
    return {"generation_config": keys}


def tool(**changes: Any) -> Body:
    return {"tools": [{**TOOL, **changes}]}


TAKEN: list[Body] = [
    configured(temperature=1, top_p=1, seed=1, stop_sequences=["x"], max_output_tokens=9, thinking_level="low"),
    configured(thinking_summaries="auto", tool_choice="any"),
    configured(tool_choice={"allowed_tools": {"mode": "any", "tools": ["read_file"]}}),
    tool(parameters={"type": "object", "properties": {}}),
    {"tools": [{"type": "google_search"}]},
    {"input": [{"type": "model_output", "content": [{"type": "text", "text": "A greeting."}]}, USER]},
    {"input": [USER, {"type": "google_search_call", "id": "s", "arguments": {}}, USER]},
]


@pytest.mark.parametrize("changes", TAKEN)
def test_what_breaks_no_rule_is_taken(changes: Body) -> None:
    check({**ASK, **changes})


REFUSED: list[tuple[Body, str]] = [
    ({"model": None}, "The required parameter 'model' is missing."),
    ({"model": "claude-x"}, "Model 'claude-x' not found."),
    ({"stream": True}, "The value of 'stream' must be false"),
    ({"store": True}, "The value of 'store' must be false"),
    ({"previous_interaction_id": "i"}, "'previous_interaction_id' can not be used when 'store' is false."),
    ({"system_instruction": {}}, "Invalid value at 'system_instruction'."),
    ({"input": []}, "The required parameter 'input' is missing."),
    ({"input": {}}, "Invalid value at 'input'."),
    ({"input": ["a"]}, "Invalid value at 'input[0].type'."),
    ({"input": [{"type": "text", "text": "a"}]}, "The value 'text' is not supported for 'type' at 'input[0].type'."),
    ({"input": [{**USER, "name": "x"}]}, "Unknown parameter 'input[0].name'."),
    ({"input": [{**USER, "content": "a"}]}, "Invalid value at 'input[0].content'."),
    ({"input": [{**USER, "content": [{"type": "image_url"}]}]}, "The value 'image_url' is not supported"),
    ({"input": [{**USER, "content": [{"type": "text"}]}]}, "Invalid value at 'input[0].content'."),
    (
        {"input": [{"type": "function_call", "id": "a", "name": "b", "arguments": "{}"}]},
        "Invalid value at 'input[0].arg",
    ),
    ({"input": [{"type": "function_call", "id": "", "name": "b", "arguments": {}}]}, "Invalid value at 'input[0].id'."),
    ({"input": [result("a", error=True)]}, "Unknown parameter 'input[0].error'."),
    (configured(top_k=3), "Unknown parameter 'generation_config.top_k'."),
    (configured(temperature=3), "Invalid value at 'generation_config.temperature'."),
    (configured(max_output_tokens=0), "Invalid value at 'generation_config.max_output_tokens'."),
    (configured(thinking_level="max"), "The value 'max' is not supported for 'thinking_level'"),
    (configured(tool_choice="required"), "The value 'required' is not supported for 'tool_choice'"),
    (configured(tool_choice={"name": "x"}), "Invalid value at 'generation_config.tool_choice'."),
    (configured(tool_choice={"allowed_tools": {"tools": ["x"]}}), "The value 'x' is not supported for 'tools'"),
    ({**configured(tool_choice="auto"), "tools": []}, "'generation_config.tool_choice' can not be set without tools."),
    (tool(strict=True), "Unknown parameter 'tools[0].strict'."),
    (tool(name="1st"), "* tools[0].name: [FIELD_INVALID]"),
    (tool(parameters={**PARAMETERS, "$ref": "#"}), 'Invalid JSON payload received. Unknown name "$ref"'),
    ({"tools": [TOOL, TOOL]}, "Duplicate function declaration found: read_file"),
    ({"tools": [{"name": "x"}]}, "Invalid value at 'tools[0].type'."),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED)
def test_what_breaks_a_rule_by_itself_is_refused(changes: Body, said: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        check({**ASK, **changes})

    assert refused.value.refusal.message.startswith(said)
