"""A preset's settings with another model in place of its own."""

from __future__ import annotations

import pytest

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.nodes.assembly.preset_settings import MODEL_KEYS, connected, model_in

PRESET: dict[str, Json] = {
    "temperature": 0.7, "openai_max_tokens": 300, "prompts": [{"identifier": "main"}],
    "chat_completion_source": "openai", "openai_model": "gpt-x", "claude_model": "claude-x", "xai_model": "x",
    "google_model": "g", "model": "m", "custom_url": "http://old", "custom_api_format": "claude_messages",
    "reverse_proxy": "http://proxy", "proxy_password": "p", "secret_id": "s", "custom_include_headers": "a: b",
    "vertexai_region": "eu", "zai_endpoint": "coding", "connection_dialect": {"webSocket": "off"},
    "llm_connection": "old",
}  # fmt: skip
KEPT = {key: PRESET[key] for key in ("temperature", "openai_max_tokens", "prompts")}


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("openai", "openai_model"),
        ("makersuite", "google_model"),
        ("workers_ai", "workers_ai_model"),
        ("custom", "custom_model"),
    ],
)
def test_everything_that_says_where_and_which_the_model_is_goes_and_the_connections_words_come(
    source: str, key: str
) -> None:
    assert connected(PRESET, source, "new", None) == {**KEPT, "chat_completion_source": source, key: "new"}


def test_a_format_is_written_where_the_connection_has_one() -> None:
    made = connected(PRESET, "custom", "new", "openai_responses")

    assert made["custom_api_format"] == "openai_responses"


def test_a_source_may_go_by_another_name() -> None:
    assert connected({}, "Gemini", "new", None) == {"chat_completion_source": "makersuite", "google_model": "new"}


@pytest.mark.parametrize("source", ["aws_bedrock", "novel"])
def test_a_source_whose_presets_keep_no_model_is_refused(source: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        connected({}, source, "new", None)

    assert caught.value.error_code == "agent.model_request_invalid_source"


@pytest.mark.parametrize("source", MODEL_KEYS)
def test_the_model_is_found_under_its_sources_key(source: str) -> None:
    assert model_in(connected({}, source, "new", None)) == "new"


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({}, None),
        ({"openai_model": " "}, None),
        ({"openai_model": "a"}, "a"),
        ({"chat_completion_source": "claude", "openai_model": "a"}, None),
        ({"chat_completion_source": "claude", "openai_model": "a", "model": "b"}, "b"),
        ({"chat_completion_source": "custom", "custom_model": "a", "model": "b"}, "a"),
        ({"chat_completion_source": "novel", "model": "b"}, "b"),
        ({"chat_completion_source": 3, "openai_model": 4}, None),
    ],
)
def test_a_preset_may_name_its_model_either_way(settings: dict[str, Json], model: str | None) -> None:
    assert model_in(settings) == model
