"""The settings of a Responses body, its tools and its tool choice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treadle.gateway.responses.settings import responses_settings, responses_tool_choice, responses_tools
from treadle.graph.errors import InvalidInput, ModelFailed
from treadle.graph.jsontext import Json
from treadle.graph.messages import ToolSpec

from .responses_side import at
from .traps import trap
from .words import READ, TOOLS

BARE: dict[str, Json] = {"store": False, "include": ["reasoning.encrypted_content"]}


def settings(**payload: Json) -> dict[str, Json]:
    return responses_settings(at(), payload)


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        ({}, {}),
        ({"temperature": 0.5, "top_p": 1, "metadata": {"a": "b"}, "parallel_tool_calls": False}, None),
        ({"seed": 1, "n": 2, "stop": ["x"], "stream": True, "previous_response_id": "r0", "_x": 1}, {}),
        ({"max_tokens": 0, "max_completion_tokens": 9}, {"max_output_tokens": 9}),
        ({"max_tokens": 7, "max_completion_tokens": 9}, {"max_output_tokens": 7}),
        ({"max_tokens": -1}, {}),
        ({"reasoning_effort": "high"}, {"reasoning": {"effort": "high"}}),
        ({"include_reasoning": True}, {"reasoning": {"summary": "auto"}}),
        ({"include_reasoning": False, "reasoning_effort": "auto"}, {}),
        ({"verbosity": "low"}, {"text": {"verbosity": "low"}}),
        (
            {"json_schema": {"name": "a", "schema": {"type": "object"}}},
            {"text": {"format": {"type": "json_schema", "name": "a", "strict": True, "schema": {"type": "object"}}}},
        ),
        ({"store": True}, {"store": True}),
    ],
)
def test_which_settings_go_out(payload: dict[str, Json], wanted: dict[str, Json] | None) -> None:
    assert settings(**payload) == BARE | (payload if wanted is None else wanted)


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ({"store": "no"}, "store"),
        ({"store": 1}, "store"),
        ({"max_tokens": "9"}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"json_schema": "x"}, "json_schema"),
        ({"reasoning_effort": 1}, "reasoning_effort"),
    ],
)
def test_a_setting_that_can_not_be_used_is_named(payload: dict[str, Json], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        settings(**payload)


def test_the_user_s_own_keys_go_in_and_out() -> None:
    here = replace(at(), body_include=(("service_tier", "flex"),), body_exclude=("top_p",))

    assert responses_settings(here, {"top_p": 1}) == BARE | {"service_tier": "flex"}


@pytest.mark.parametrize("key", ["background", "type"])
def test_an_answer_can_not_be_put_off(key: str) -> None:
    with pytest.raises(InvalidInput, match=key):
        responses_settings(replace(at(), body_include=((key, True),)), {})


@trap(31)
def test_tools_go_out_flat_and_under_their_aliases() -> None:
    assert responses_tools([READ]) == [
        {
            "type": "function",
            "name": "workspace_read_file",
            "description": "Read a file",
            "parameters": READ.input_schema,
            "strict": False,
        }
    ]


def test_an_alias_that_servers_refuse_is_an_error() -> None:
    with pytest.raises(ModelFailed, match="alias"):
        responses_tools([ToolSpec("a b", "", "", {})])


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        (
            {"type": "function", "function": {"name": "workspace.read_file"}},
            {"type": "function", "name": "workspace_read_file"},
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "workspace.read_file"}}],
                },
            },
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "workspace_read_file"}],
            },
        ),
    ],
)
def test_a_tool_choice_in_this_api_s_form(given: Json, wanted: Json) -> None:
    assert responses_tool_choice(given, TOOLS) == wanted


@pytest.mark.parametrize(
    "given",
    [
        {"type": "function", "function": {"name": "other"}},
        {"type": "allowed_tools", "allowed_tools": {"tools": [{"function": {"name": "other"}}]}},
        {"type": "allowed_tools", "allowed_tools": {"tools": ["x"]}},
    ],
)
def test_a_tool_choice_of_an_unknown_tool_is_an_error(given: Json) -> None:
    with pytest.raises(ModelFailed, match="names no tool"):
        responses_tool_choice(given, TOOLS)


@pytest.mark.parametrize("held", [None, "x", {}])
def test_allowed_tools_without_a_list_are_an_error(held: Json) -> None:
    with pytest.raises(InvalidInput, match="allowed_tools"):
        responses_tool_choice({"type": "allowed_tools", "allowed_tools": held}, TOOLS)
