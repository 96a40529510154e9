"""What a payload says about a Claude request, and what goes into its headers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treadle.gateway.claude.settings import cache_ttl
from treadle.gateway.connections.connection import Switches
from treadle.gateway.connections.secret import Secret
from treadle.gateway.formats import claude_messages as claude
from treadle.graph.errors import InvalidInput, ModelFailed
from treadle.graph.jsontext import Json
from treadle.graph.messages import Role, ToolSpec

from .claude_words import HERE, THINKING, body, call, content, native, result, said, use, user
from .traps import trap
from .words import KEY, READ, TOOLS

ADAPTIVE = replace(HERE, model="claude-opus-4-6")
FORCED: list[Json] = ["required", {"type": "function", "function": {"name": "workspace.read_file"}}]


def sent(**settings: Json) -> dict[str, Json]:
    made = body([user("x")], **settings)
    made.pop("messages")
    return made


def test_a_bare_request_names_the_model_and_a_length() -> None:
    assert sent() == {"model": "claude-x", "max_tokens": 1024, "stream": False}


def test_known_settings_are_sent_and_no_others() -> None:
    made = sent(
        max_tokens=9, temperature=0.5, top_p=0.9, top_k=5, stop=["END"], seed=1, _private=1, prompt_cache_ttl="off",
        presence_penalty=1,
    )  # fmt: skip

    assert made == {
        "model": "claude-x", "max_tokens": 9, "stream": False, "stop_sequences": ["END"],
        "temperature": 0.5, "top_p": 0.9, "top_k": 5,
    }  # fmt: skip


def test_sampling_at_its_default_is_left_out() -> None:
    assert "temperature" not in sent(temperature=1.0, top_p=1, top_k=0, max_completion_tokens=7)
    assert sent(max_completion_tokens=7)["max_tokens"] == 7
    assert sent(temperature=0)["temperature"] == 0
    assert sent(stop="END")["stop_sequences"] == ["END"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_tokens", 0),
        ("max_tokens", "9"),
        ("max_tokens", True),
        ("max_tokens", 1.5),
        ("stop", [" "]),
        ("stop", [7]),
        ("stop", {"a": 1}),
        ("thinking", "on"),
        ("reasoning_effort", "wild"),
        ("reasoning_effort", 3),
        ("json_schema", []),
        ("prompt_cache_ttl", "2h"),
        ("custom_claude_prompt_caching", "yes"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(key: str, value: Json) -> None:
    with pytest.raises(InvalidInput, match=key):
        sent(**{key: value})


@pytest.mark.parametrize(
    ("effort", "longest", "budget"),
    [
        ("min", 8000, 1024),
        ("low", 40000, 4000),
        ("medium", 8000, 2000),
        ("high", 8000, 4000),
        ("max", 8000, 7600),
        ("max", 64000, 21333),
        ("low", 2000, 1024),
    ],
)
def test_an_effort_is_a_budget_and_takes_the_sampling_away(effort: str, longest: int, budget: int) -> None:
    made = sent(reasoning_effort=effort, max_tokens=longest, temperature=0.5, top_k=3)

    assert made["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert not made.keys() & {"temperature", "top_k"}


def test_thinking_needs_room_for_its_least_budget() -> None:
    with pytest.raises(InvalidInput, match="max_tokens must be above 1024"):
        sent(reasoning_effort="high")


@pytest.mark.parametrize(
    "model", ["claude-opus-4-6", "claude-sonnet-4.6", "anthropic/claude-opus-5", "claude-opus-4-10"]
)
def test_newer_models_are_told_the_effort_in_words(model: str) -> None:
    made = body([user("x")], replace(HERE, model=model), reasoning_effort="high", include_reasoning=True)

    assert made["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert made["output_config"] == {"effort": "high"}


@pytest.mark.parametrize("model", ["claude-opus-4-20250514", "claude-sonnet-4-5", "claude-3-7-sonnet-latest", "other"])
def test_older_models_and_those_of_others_are_given_a_budget(model: str) -> None:
    made = body([user("x")], replace(HERE, model=model), reasoning_effort="high", max_tokens=8000)

    assert made["thinking"] == {"type": "enabled", "budget_tokens": 4000}


def test_thoughts_that_are_not_wanted_are_not_displayed() -> None:
    made = body([user("x")], ADAPTIVE, reasoning_effort="min", include_reasoning=False)

    assert made["thinking"] == {"type": "adaptive", "display": "omitted"}
    assert made["output_config"] == {"effort": "low"}


@pytest.mark.parametrize("model", ["claude-3-5-sonnet-20241022", "claude-3-opus-20240229", "claude-2.1"])
def test_models_that_can_not_think_are_not_asked_to(model: str) -> None:
    made = body([user("x")], replace(HERE, model=model), reasoning_effort="high", max_tokens=8000)

    assert "thinking" not in made


@pytest.mark.parametrize("off", [{"reasoning_effort": "auto"}, {"reasoning_effort": "high", "enable_thinking": False}])
def test_thinking_may_be_left_to_the_model_or_turned_off(off: dict[str, Json]) -> None:
    assert "thinking" not in sent(**off)


def test_a_schema_for_the_answer_is_its_output_format() -> None:
    made = sent(json_schema={"name": "x", "schema": {"type": "object"}})

    assert made["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}


@pytest.mark.parametrize(
    ("given", "wire"),
    [
        (None, {"type": "auto"}),
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        (FORCED[1], {"type": "tool", "name": "workspace_read_file"}),
    ],
)
def test_the_tool_choice_in_claudes_words(given: Json, wire: Json) -> None:
    assert body([user("x")], tools=TOOLS, choice=given)["tool_choice"] == wire
    assert "tool_choice" not in body([user("x")], choice=given)


@trap(13)
@pytest.mark.parametrize("choice", FORCED)
@pytest.mark.parametrize(
    "thinking",
    [
        {"reasoning_effort": "high", "max_tokens": 8000},
        {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        {"thinking": {"type": "adaptive"}},
    ],
)
def test_no_call_is_forced_on_a_model_that_thinks(choice: Json, thinking: dict[str, Json]) -> None:
    made = body([user("x")], tools=TOOLS, choice=choice, **thinking)

    assert made["thinking"]["type"] in ("enabled", "adaptive")
    assert made["tool_choice"] == {"type": "auto"}


@trap(13)
def test_thinking_that_the_user_put_into_the_body_counts_too() -> None:
    at = replace(HERE, body_include=(("thinking", {"type": "enabled", "budget_tokens": 1024}),))

    assert body([user("x")], at, tools=TOOLS, choice="required")["tool_choice"] == {"type": "auto"}


def test_thinking_on_a_budget_waits_until_calls_from_elsewhere_are_done_with() -> None:
    asked, thinking = said(Role.ASSISTANT, "", call("a")), {"type": "enabled", "budget_tokens": 2000}
    own = native(content(THINKING, use("a")), "a")

    assert "thinking" not in body([user("x"), asked, result("a")], thinking=thinking)
    assert "thinking" in body([user("x"), asked, result("a"), user("on")], thinking=thinking)
    assert "thinking" in body([user("x"), own, result("a")], thinking=thinking)
    assert "thinking" in body([user("x"), asked, result("a")], thinking={"type": "adaptive"})


def test_tools_are_sent_by_alias_with_an_object_schema() -> None:
    schema: dict[str, Json] = {"$schema": "s", "$id": "i", "properties": {"$id": {"type": "string"}}}
    odd = ToolSpec("a.odd", "Odd", "Odd one", schema)
    bare = ToolSpec("a.bare", "Bare", "", {})
    made = body([user("x")], tools=[odd, bare])["tools"]

    assert made == [
        {
            "name": "a_odd",
            "description": "Odd one",
            "input_schema": {"type": "object", "properties": {"$id": {"type": "string"}}},
        },
        {"name": "a_bare", "description": "", "input_schema": {"type": "object", "properties": {}}},
    ]
    assert "$schema" in schema


def test_aliases_that_stand_for_two_tools_are_refused() -> None:
    with pytest.raises(ModelFailed) as failed:
        body([user("x")], tools=[READ, READ])
    assert failed.value.error_code == "model.request_build_failed"


def test_the_users_own_body_keys_win() -> None:
    at = replace(HERE, body_include=(("max_tokens", 5), ("top_k", 9)), body_exclude=("temperature",))
    made = body([user("x")], at, max_tokens=9, temperature=0.5)

    assert (made["max_tokens"], made["top_k"]) == (5, 9)
    assert "temperature" not in made


def test_the_key_is_in_a_header_and_the_version_beside_it() -> None:
    url, headers = claude.endpoint(HERE)

    assert url == "http://localhost:9/v1/messages"
    assert headers == {"anthropic-version": "2023-06-01", "x-api-key": KEY}


def test_the_users_own_authorization_takes_the_keys_place() -> None:
    _, headers = claude.endpoint(replace(HERE, headers=(("Authorization", Secret("Bearer t")),)))

    assert headers == {"anthropic-version": "2023-06-01"}


def test_the_betas_of_the_connection_stand_in_one_header() -> None:
    named = replace(HERE, switches=Switches(anthropic_beta=("context-1m-2025-08-07", "b")))

    assert claude.endpoint(named)[1]["anthropic-beta"] == "context-1m-2025-08-07,b"
    assert "anthropic-beta" not in claude.endpoint(HERE)[1]


def test_the_connection_says_how_long_the_cache_is_kept_where_the_payload_does_not() -> None:
    kept = replace(HERE, switches=Switches(prompt_cache_ttl="1h"))

    assert cache_ttl(kept, {}) == "1h"
    assert cache_ttl(kept, {"prompt_cache_ttl": "off"}) is None
    assert cache_ttl(kept, {"custom_claude_prompt_caching": False}) is None
    assert cache_ttl(HERE, {}) is None
