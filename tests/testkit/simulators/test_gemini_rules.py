"""What breaks a rule of generateContent by itself is refused in Google's words; what breaks none is not."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.testkit.simulators.gemini_rules import check
from treadle.testkit.simulators.provider import RequestRefused

from .asking import PARAMETERS, Body

USER = {"role": "user", "parts": [{"text": "hi"}]}
DECLARATION = {"name": "read_file", "description": "Read", "parameters": PARAMETERS}
UNKNOWN = """
$schema $id $ref $defs definitions additionalProperties patternProperties unevaluatedProperties dependencies
dependentRequired dependentSchemas allOf anyOf oneOf not if then else const default examples title
"""
AT = "GenerateContentRequest.tools[0].function_declarations[0]"


def declared(**changes: Any) -> Body:
    return {"tools": [{"functionDeclarations": [{**DECLARATION, **changes}]}]}


def schema(**path: Any) -> Body:
    """A tool whose one parameter has this schema."""
    return declared(parameters={"type": "object", "properties": {"path": path}})


def root(**keys: Any) -> Body:
    return declared(parameters={**PARAMETERS, **keys})


def generation(**keys: Any) -> Body:
    return {"generationConfig": keys}


def calling(**keys: Any) -> Body:
    return {**declared(), "toolConfig": {"functionCallingConfig": keys}}


def parts(*held: Any, role: str = "user") -> Body:
    return {"contents": [{"role": role, "parts": list(held)}]}


def unknown(name: str, at: str) -> str:
    return f"Invalid JSON payload received. Unknown name \"{name}\" at '{at}': "


def said_to(changes: Body, *, model: str = "gemini-3-x", call_ids: bool = True) -> str:
    with pytest.raises(RequestRefused) as refused:
        check({"contents": [USER], **changes}, model, call_ids=call_ids)
    return refused.value.refusal.message


TAKEN: list[Body] = [
    {"systemInstruction": {"parts": [{"text": "You write."}]}},
    {"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]},
    generation(candidateCount=1, maxOutputTokens=9, temperature=2, topP=1, topK=1, seed=3, stopSequences=["x"]),
    generation(thinkingConfig={"thinkingLevel": "low", "includeThoughts": True}),
    generation(responseMimeType="application/json", responseSchema={"type": "string", "enum": ["a"]}),
    declared(parameters=None),
    calling(mode="ANY", allowedFunctionNames=["read_file"]),
    schema(type="string", nullable=True, enum=["a"], format="date", pattern="a", minLength=1),
    schema(type="array", items={"type": "object", "properties": {"title": {"type": "integer", "minimum": 0}}}),
    {"tools": [{"googleSearch": {}}]},
    parts({"inlineData": {"mimeType": "image/png", "data": "AA=="}}, {"text": ""}),
]


@pytest.mark.parametrize("changes", TAKEN)
def test_what_breaks_no_rule_is_taken(changes: Body) -> None:
    check({"contents": [USER], **changes}, "gemini-3-x", call_ids=True)


@pytest.mark.parametrize("keyword", UNKNOWN.split())
def test_each_keyword_that_is_not_known_is_refused_wherever_it_stands(keyword: str) -> None:
    assert said_to(root(**{keyword: {}})).startswith(unknown(keyword, f"{AT}.parameters"))
    assert said_to(schema(type="string", **{keyword: {}})).startswith(
        unknown(keyword, f"{AT}.parameters.properties[path]")
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (schema(type=["string", "null"]), unknown("type", f"{AT}.parameters.properties[path]")),
        (schema(), f"* {AT}.parameters.properties[path].type: must be specified"),
        (schema(type="null"), f"Invalid value at '{AT}.parameters.properties[path].type'"),
        (schema(type="object"), f"* {AT}.parameters.properties[path].properties: should be non-empty for OBJECT type"),
        (schema(type="array"), f"* {AT}.parameters.properties[path].items: missing field."),
        (schema(type="array", items={"type": []}), unknown("type", f"{AT}.parameters.properties[path].items")),
        (schema(type="integer", enum=["1"]), f"* {AT}.parameters.properties[path].enum: only allowed for STRING type"),
        (schema(type="string", enum=["a", 1]), f"Invalid value at '{AT}.parameters.properties[path].enum[1]'"),
        (schema(type="string", enum=[""]), f"* {AT}.parameters.properties[path].enum[0]: cannot be empty"),
        (declared(parameters={"type": "object", "properties": {"path": True}}), "Invalid value at"),
        (
            declared(parameters={"type": "object", "properties": {}}),
            f"* {AT}.parameters.properties: should be non-empty",
        ),
        (declared(parameters={"type": "string"}), f"* {AT}.parameters.type: "),
        (root(required=["ghost"]), f"* {AT}.parameters.required[0]: property is not defined"),
    ],
)
def test_schemas(changes: Body, said: str) -> None:
    assert said_to(changes).startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (declared(name="1st"), f"* {AT}.name: [FIELD_INVALID] Invalid function name."),
        (declared(name="a" * 129), f"* {AT}.name: [FIELD_INVALID] Invalid function name."),
        (declared(input_schema={}), unknown("input_schema", "tools[0].function_declarations[0]")),
        ({"tools": [{"functionDeclarations": [DECLARATION] * 2}]}, "Duplicate function declaration found: read_file"),
        (calling(mode="any"), "Invalid value at 'tool_config.function_calling_config.mode'"),
        (calling(mode="AUTO", allowedFunctionNames=["read_file"]), "Allowed function names should only be set"),
        (
            calling(mode="ANY", allowedFunctionNames=["x"]),
            "Allowed function name x is not in the function declarations.",
        ),
        ({"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}, "Function calling config is set without"),
    ],
)
def test_tools(changes: Body, said: str) -> None:
    assert said_to(changes).startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stream": False}, 'Invalid JSON payload received. Unknown name "stream": Cannot find field.'),
        ({"contents": []}, "* GenerateContentRequest.contents: contents is not specified"),
        ({"contents": USER}, "Invalid value at 'contents'"),
        (parts(role="system"), "Please use a valid role: user, model."),
        (parts(), "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty."),
        (parts({"thoughtSignature": "YQ=="}), "* GenerateContentRequest.contents[0].parts[0].data: required oneof"),
        (parts({"text": "a", "functionCall": {"name": "x"}}), "Invalid value at 'contents[0].parts[0]' (oneof)"),
        (parts({"text": None}), "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING)"),
        (parts({"text": "a", "cache_control": {}}), unknown("cache_control", "contents[0].parts[0]")),
        (
            parts({"functionCall": {"name": "x"}}),
            "* GenerateContentRequest.contents[0].parts[0]: function_call is only",
        ),
        (
            parts({"functionResponse": {"name": "x"}}, role="model"),
            "* GenerateContentRequest.contents[0].parts[0]: function",
        ),
        (
            parts({"functionResponse": {"name": "", "response": {}}}),
            "* GenerateContentRequest.contents[0].parts[0].function",
        ),
        (
            parts({"functionResponse": {"name": "x", "response": "a"}}),
            "Invalid value at 'contents[0].parts[0].function",
        ),
        (parts({"functionCall": {"name": "x", "args": "{}"}}, role="model"), "Invalid value at 'contents[0].parts[0]."),
    ],
)
def test_contents(changes: Body, said: str) -> None:
    assert said_to(changes).startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (generation(max_tokens=9), unknown("max_tokens", "generation_config")),
        (generation(topK=0), "* GenerateContentRequest.generation_config.top_k: must be in the range [1, inf]"),
        (
            generation(temperature=2.5),
            "* GenerateContentRequest.generation_config.temperature: must be in the range [0, 2]",
        ),
        (generation(topP="1"), "Invalid value at 'generation_config.top_p'"),
        (generation(thinkingConfig={"thinkingLevel": "max"}), "Invalid value at 'generation_config.thinking_config."),
        (generation(thinkingConfig={"thinkingLevel": "low", "thinkingBudget": 9}), "You can only set only one of"),
        (
            generation(responseSchema={"type": "string"}),
            "* GenerateContentRequest.generation_config.response_mime_type: ",
        ),
        (
            generation(responseSchema={"title": "a"}),
            unknown("title", "GenerateContentRequest.generation_config.response_schema"),
        ),
    ],
)
def test_generation(changes: Body, said: str) -> None:
    assert said_to(changes).startswith(said)


def test_levels_are_not_for_models_that_think_by_budget() -> None:
    changes = generation(thinkingConfig={"thinkingLevel": "low"})

    assert said_to(changes, model="gemini-2.5-flash") == "Thinking level is not supported for this model."


def test_ids_are_unknown_where_calls_have_none() -> None:
    changes = parts({"functionCall": {"name": "x", "id": "a"}}, role="model")

    assert said_to(changes, call_ids=False).startswith(unknown("id", "contents[0].parts[0].function_call"))
