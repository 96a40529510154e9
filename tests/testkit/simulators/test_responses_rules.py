"""Each rule of OpenAI's Responses on a request by itself refuses what breaks it, and nothing else."""

from __future__ import annotations

import pytest

from treadle.graph.jsontext import Json
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.responses_script import Say, answers

from .asking_responses import TOOL, USER, last, post, refusal, request, result, socket

IMAGE: Json = {"type": "input_image", "image_url": "data:"}


def called(call_id: Json = "c", **more: Json) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "a", "arguments": "{}", **more}


def asking(content: Json, role: Json = "user", **more: Json) -> Json:
    return request({"type": "message", "role": role, "content": content, **more})


def tooled(strict: Json = False, **schema: Json) -> Json:
    return request(USER, tools=[{"type": "function", "name": "a", "parameters": schema, "strict": strict}])


def strictly(member: Json) -> Json:
    return tooled(True, type="object", properties={"p": member}, required=["p"], additionalProperties=False)


@pytest.mark.parametrize(
    "body",
    [
        request(USER),
        {"model": "m", "store": False, "input": "hi"},
        b'{"model": "m", "store": false, "input": [{"role": "user", "content": "\\ud83d"}], "user": "\\ud83d"}',
        request({"role": "user", "content": "hi"}),
        asking([{"type": "input_text", "text": "a"}, IMAGE]),
        asking("x", "developer"),
        asking("x", "system"),
        asking([{"type": "output_text", "text": "x"}], "assistant"),
        request(USER, called(), result("c"), USER),
        request(USER, called("1"), called("2"), result("2"), result("1")),
        request(USER, called(), {"type": "function_call_output", "call_id": "c", "output": [IMAGE]}),
        request(USER, tools=[TOOL], tool_choice="required", parallel_tool_calls=True),
        request(USER, tools=[TOOL], tool_choice={"type": "function", "name": "a"}),
        request(USER, tools=[{"type": "web_search"}], tool_choice={"type": "web_search"}),
        request(
            USER,
            tools=[TOOL],
            tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]},
        ),
        request(USER, reasoning={"effort": "low", "summary": "auto"}, text={"verbosity": "low"}),
        request(USER, temperature=1.5, top_p=0.5, max_output_tokens=16, metadata={"a": "b"}),
        request(USER, stream=False, background=False, previous_response_id=None, tools=[], tool_choice="auto"),
        tooled(type="object", properties={"p": {"minLength": 1, "default": ""}, "q": True}, zz=1),
        strictly({"type": ["string", "null"], "pattern": "a"}),
        strictly({"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "null"}]}),
    ],
)
async def test_what_is_right_is_taken(body: Json) -> None:
    async with OpenAIResponsesServer([answers(Say("ok"))]) as server:
        answer = await post(server, body)

    assert (answer.status_code, server.refusals) == (200, [])


MISSING, UNKNOWN, VALUE, KIND = "missing_required_parameter", "unknown_parameter", "invalid_value", "invalid_type"
UNSUPPORTED, SCHEMA = "unsupported_value", "invalid_function_parameters"

REFUSED: list[tuple[Json, str | None, str | None]] = [
    (b"{", None, None),
    (b"[]", None, None),
    (b'{"temperature": NaN}', None, None),
    ({"store": False, "input": "hi"}, "model", MISSING),
    ({"model": "m", "store": False}, "input", MISSING),
    ({"model": "m", "input": "hi"}, "store", UNSUPPORTED),
    (request(USER, store=True), "store", UNSUPPORTED),
    (request(USER, stream=True), "stream", UNSUPPORTED),
    (request(USER, background=True), "background", UNSUPPORTED),
    (request(USER, type="response.create"), "type", UNKNOWN),
    (request(USER, verbosity="low"), "verbosity", UNKNOWN),
    (request(USER, seed=1), "seed", UNKNOWN),
    (request(USER, messages=[]), "messages", UNKNOWN),
    (request(USER, _mark=1), "_mark", UNKNOWN),
    (request(USER, previous_response_id=1), "previous_response_id", KIND),
    (request(USER, include="x"), "include", KIND),
    (request(USER, include=["x"]), "include[0]", VALUE),
    (request(USER, reasoning="low"), "reasoning", KIND),
    (request(USER, reasoning={"zz": 1}), "reasoning.zz", UNKNOWN),
    (request(USER, text={"zz": 1}), "text.zz", UNKNOWN),
    (request(USER, temperature="1"), "temperature", KIND),
    (request(USER, temperature=2.5), "temperature", "decimal_above_max_value"),
    (request(USER, top_p=-1), "top_p", "decimal_below_min_value"),
    (request(USER, max_output_tokens="1"), "max_output_tokens", KIND),
    (request(USER, max_output_tokens=1), "max_output_tokens", "integer_below_min_value"),
    (request(USER, input={}), "input", KIND),
    (request(1), "input[0]", KIND),
    (request({"type": "zz"}), "input[0]", VALUE),
    (asking("x", "tool"), "input[0].role", VALUE),
    (asking("x", ["user"]), "input[0].role", VALUE),
    (request(USER, tools=[{"type": {}}]), "tools[0].type", VALUE),
    (request(USER, include=[{}]), "include[0]", VALUE),
    (asking([{"type": []}]), "input[0].content[0]", VALUE),
    (asking("x", "function"), "input[0].role", VALUE),
    (request({"content": "x"}), "input[0].role", MISSING),
    (asking(None), "input[0].content", MISSING),
    (asking(1), "input[0].content", KIND),
    (asking([{"type": "text"}]), "input[0].content[0]", VALUE),
    (asking([{"type": "output_text"}]), "input[0].content[0]", VALUE),
    (asking([{"type": "input_text"}], "assistant"), "input[0].content[0]", VALUE),
    (asking("x", name="n"), "input[0].name", UNKNOWN),
    (asking("x", id=1), "input[0].id", KIND),
    (request(called(None)), "input[0].call_id", MISSING),
    (request(called("")), "input[0].call_id", "empty_string"),
    (request(called(1)), "input[0].call_id", KIND),
    (request(called(name=None)), "input[0].name", MISSING),
    (request(called(name="a.b")), "input[0].name", VALUE),
    (request(called(arguments={})), "input[0].arguments", KIND),
    (request(called(), {"type": "function_call_output", "call_id": "c"}), "input[1].output", MISSING),
    (request(called(), {"type": "function_call_output", "output": "x"}), "input[1].call_id", MISSING),
    (
        request(called(), {"type": "function_call_output", "call_id": "c", "output": "x", "name": "a"}),
        "input[1].name",
        UNKNOWN,
    ),
    (request(USER, tools={}), "tools", KIND),
    (request(USER, tools=[1]), "tools[0]", KIND),
    (request(USER, tools=[{}]), "tools[0].type", MISSING),
    (request(USER, tools=[{"type": "zz"}]), "tools[0].type", VALUE),
    (request(USER, tools=[{"type": "function", "function": {"name": "a"}}]), "tools[0].function", UNKNOWN),
    (request(USER, tools=[{"type": "function"}]), "tools[0].name", MISSING),
    (request(USER, tools=[{"type": "function", "name": "a.b"}]), "tools[0].name", VALUE),
    (request(USER, tools=[{"type": "function", "name": 1}]), "tools[0].name", KIND),
    (request(USER, tools=[{"type": "function", "name": "a" * 65}]), "tools[0].name", VALUE),
    (request(USER, tools=[TOOL, TOOL]), "tools[1].name", VALUE),
    (tooled(1, type="object"), "tools[0].strict", KIND),
    (tooled(), "tools[0].parameters", SCHEMA),
    (tooled(type="string"), "tools[0].parameters", SCHEMA),
    (tooled(type="object", anyOf=[]), "tools[0].parameters", SCHEMA),
    (tooled(type="object", properties={"p": {"type": "text"}}), "tools[0].parameters", SCHEMA),
    (tooled(type="object", properties={"p": {"type": {}}}), "tools[0].parameters", SCHEMA),
    (tooled(type="object", properties={"p": {"anyOf": 1}}), "tools[0].parameters", SCHEMA),
    (tooled(type="object", properties={"p": {"anyOf": [{"type": "text"}]}}), "tools[0].parameters", SCHEMA),
    (tooled(type="object", properties={"p": {"items": {"type": "text"}}}), "tools[0].parameters", SCHEMA),
    (tooled(type="object", **{"$defs": {"p": {"type": "text"}}}), "tools[0].parameters", SCHEMA),
    (
        tooled(True, type="object", required=1, properties={"p": {}}, additionalProperties=False),
        "tools[0].parameters",
        SCHEMA,
    ),
    (tooled(type="object", properties={"p": 1}), "tools[0].parameters", SCHEMA),
    (tooled(type="object", properties={"p": {"type": "array"}}), "tools[0].parameters", SCHEMA),
    (tooled(True, type="object"), "tools[0].parameters", SCHEMA),
    (tooled(None, type="object"), "tools[0].parameters", SCHEMA),
    (tooled(True, type="object", properties={"p": {"type": "string"}}), "tools[0].parameters", SCHEMA),
    (request(USER, tool_choice="required"), "tool_choice", None),
    (request(USER, tools=[TOOL], tool_choice="zz"), "tool_choice", VALUE),
    (request(USER, tools=[TOOL], tool_choice={"type": "function", "name": "b"}), "tool_choice", None),
    (
        request(USER, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "a"}}),
        "tool_choice.function",
        UNKNOWN,
    ),
    (request(USER, tools=[TOOL], tool_choice={"type": "allowed_tools"}), "tool_choice.tools", MISSING),
]


@pytest.mark.parametrize(("body", "param", "code"), REFUSED)
async def test_what_breaks_a_rule_is_refused_by_its_name(body: Json, param: str | None, code: str | None) -> None:
    async with OpenAIResponsesServer([]) as server:
        refused = await refusal(server, body)

    assert (refused["type"], refused["param"], refused["code"]) == ("invalid_request_error", param, code)
    assert server.refusals == [refused["message"]]


@pytest.mark.parametrize(
    ("member", "told"),
    [
        ({"type": "string", "minLength": 1}, "'minLength' is not permitted."),
        ({"type": "string", "default": ""}, "'default' is not permitted."),
        ({"allOf": []}, "'allOf' is not permitted."),
        ({"description": "any"}, "schema must have a 'type' key."),
        ({"type": "object"}, "'additionalProperties' is required to be supplied and to be false."),
        (True, "True is not of type 'object', 'boolean'."),
    ],
)
async def test_a_strict_schema_is_refused_with_the_place_of_its_fault(member: Json, told: str) -> None:
    async with OpenAIResponsesServer([]) as server:
        refused = await refusal(server, strictly(member))

    assert refused["message"] == f"Invalid schema for function 'a': In context=('properties', 'p'), {told}"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"{", None),
        (request(USER, type="zz"), "type"),
        (request(USER, stream=False), "stream"),
        (request(1), "input[0]"),
    ],
)
async def test_a_socket_refuses_with_an_error_event_and_stays_open(body: Json, param: str | None) -> None:
    async with OpenAIResponsesServer([answers(Say("ok"))]) as server, socket(server) as opened:
        refused = await last(opened, body)
        again = await last(opened, request(USER))

    assert (refused["type"], refused["status"], refused["error"]["param"]) == ("error", 400, param)
    assert again["type"] == "response.completed"
