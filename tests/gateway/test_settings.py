"""Which keys of a payload reach the wire."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treadle.gateway.connections.connection import Connection
from treadle.gateway.settings import chat_settings, reasoning_effort, wire_tool_choice
from treadle.graph.errors import InvalidInput, ModelFailed
from treadle.graph.jsontext import Json

from .words import TOOLS, connection


def at(source: str, model: str = "m") -> Connection:
    return replace(connection(), source=source, model=model)


def test_only_known_keys_that_are_not_null_reach_the_wire() -> None:
    payload = {
        "chat_completion_source": "custom", "custom_url": "http://h", "custom_include_headers": None, "tools": None,
        "stream": None, "temperature": None, "secret_id": "s", "proxy_password": "p", "prompt": "x", "n": 3,
        "_tauritavern_provider_state": {"sessionId": "s"}, "_x": 1, "bias_preset": "y", "top_p": 0.5, "seed": 2**70,
        "stop": ["a"], "max_tokens": 0,
    }  # fmt: skip

    assert chat_settings(connection(), payload) == {"top_p": 0.5, "max_tokens": 0, "stop": ["a"], "seed": 2**70}


@pytest.mark.parametrize(
    ("source", "model", "given", "sent"),
    [
        ("custom", "m", "auto", None),
        ("custom", "m", "", None),
        ("custom", "m", None, None),
        ("custom", "m", "min", "minimal"),
        ("custom", "m", " High ", "high"),
        ("custom", "m", "xhigh", "xhigh"),
        ("openai", "gpt-4o", "high", None),
        ("openai", "gpt-5-mini", "maximum", "high"),
        ("openai", "o3", "xhigh", "high"),
        ("openai", "gpt-5.2", "xhigh", "xhigh"),
    ],
)
def test_effort_is_sent_in_words_that_the_model_knows(source: str, model: str, given: Json, sent: str | None) -> None:
    assert reasoning_effort(at(source, model), given) == sent


def test_openrouter_takes_its_own_extras() -> None:
    payload = {"reasoning_effort": "low", "include_reasoning": True, "provider": {"order": ["a"]}, "plugins": None}

    assert chat_settings(at("openrouter"), payload) == {
        "include_reasoning": True, "provider": {"order": ["a"]}, "reasoning": {"effort": "low"},
    }  # fmt: skip
    assert chat_settings(at("custom"), {"provider": {"order": ["a"]}}) == {}


@pytest.mark.parametrize(("wanted", "kind"), [(True, "enabled"), (False, "disabled")])
def test_thinking_is_switched_where_hosts_have_the_switch(wanted: bool, kind: str) -> None:
    assert chat_settings(at("moonshot"), {"enable_thinking": wanted}) == {"thinking": {"type": kind}}
    assert chat_settings(at("custom"), {"enable_thinking": wanted}) == {}


def test_a_json_schema_becomes_a_response_format() -> None:
    settings = chat_settings(connection(), {"json_schema": {"name": "n", "value": {"type": "object"}, "strict": False}})

    schema = {"name": "n", "strict": False, "schema": {"type": "object"}}
    assert settings == {"response_format": {"type": "json_schema", "json_schema": schema}}
    with pytest.raises(InvalidInput):
        chat_settings(connection(), {"json_schema": "x"})


@pytest.mark.parametrize("name", ["workspace.read_file", "workspace_read_file"])
def test_a_forced_tool_is_named_by_its_alias(name: str) -> None:
    choice = wire_tool_choice({"type": "function", "function": {"name": name}}, TOOLS)

    assert choice == {"type": "function", "function": {"name": "workspace_read_file"}}


@pytest.mark.parametrize("choice", [{"type": "function", "function": {"name": "nope"}}, "any", {"function": None}, 7])
def test_a_choice_that_names_no_tool_can_not_be_built(choice: Json) -> None:
    with pytest.raises(ModelFailed) as refused:
        wire_tool_choice(choice, TOOLS)

    assert refused.value.error_code == "model.request_build_failed"
