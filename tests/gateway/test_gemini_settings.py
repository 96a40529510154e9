"""Where Gemini answers, and what of a chat payload reaches its body."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treadle.gateway.connections.secret import Secret
from treadle.gateway.connections.vertex import ServiceAccount, Vertex
from treadle.gateway.gemini.settings import auth_headers, body_settings, url_of
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json

from .gemini_words import HERE, studio, vertex
from .traps import trap
from .words import KEY


def generation(payload: dict[str, Json], model: str = "gemini-2.0-flash") -> dict[str, Json]:
    held: dict[str, Json] = body_settings(studio(model), payload)["generationConfig"]
    return held


def thinking(model: str, **payload: Json) -> Json:
    return generation(payload, model).get("thinkingConfig")


@trap(50)
@pytest.mark.parametrize(
    ("model", "base", "url"),
    [
        ("m", "https://h.test", "https://h.test/v1beta/models/m:generateContent"),
        ("models/m", "https://h.test/v1beta/", "https://h.test/v1beta/models/m:generateContent"),
        ("m", "https://h.test/p/v1", "https://h.test/p/v1/models/m:generateContent"),
        ("m?x#y", "https://h.test", "https://h.test/v1beta/models/m%3Fx%23y:generateContent"),
    ],
)
def test_ai_studio_has_the_model_in_the_url_and_the_key_in_a_header(model: str, base: str, url: str) -> None:
    at = studio(model, base)

    assert (url_of(at), auth_headers(at)) == (url, {"x-goog-api-key": KEY})
    assert auth_headers(replace(at, api_key=None)) == {}


_ACCOUNT = ServiceAccount("writer@my-project.test", Secret("a key"), "https://token.test", "my-project")
_FULL = Vertex("full", "europe-west4", "my-project", _ACCOUNT)


@trap(50)
def test_vertex_takes_a_key_or_a_token_and_a_project_where_one_is_named() -> None:
    full, express = replace(vertex(), vertex=_FULL), replace(vertex(), vertex=Vertex())

    model = "publishers/google/models/gemini-2.5-flash:generateContent"
    assert url_of(full).endswith(f".com/v1/projects/my-project/locations/europe-west4/{model}")
    assert auth_headers(full) == {"Authorization": f"Bearer {KEY}"}
    assert url_of(express) == url_of(vertex()) == f"https://aiplatform.googleapis.com/v1/{model}"
    assert auth_headers(express) == {"x-goog-api-key": KEY}


def test_the_known_settings_are_sent_in_geminis_words_and_no_others() -> None:
    payload: dict[str, Json] = {
        "temperature": 0.5, "top_p": 1, "top_k": 40, "seed": -1, "stop": ["a", ""], "max_tokens": 9,
        "presence_penalty": 1, "n": 3, "_internal": 1, "logit_bias": {},
    }  # fmt: skip

    assert generation(payload) == {
        "candidateCount": 1, "maxOutputTokens": 9, "temperature": 0.5, "topP": 1, "topK": 40, "seed": -1,
        "stopSequences": ["a"],
    }  # fmt: skip
    assert generation({"top_k": 0, "stop": "x", "max_completion_tokens": 5, "max_tokens": 9}) == {
        "candidateCount": 1, "maxOutputTokens": 5, "stopSequences": ["x"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [("temperature", "1"), ("top_k", True), ("max_tokens", 0), ("max_tokens", 1.5), ("max_completion_tokens", "9"),
     ("stop", [1]), ("stop", 7), ("json_schema", "x"), ("reasoning_effort", 7), ("reasoning_effort", "huge")],
)  # fmt: skip
def test_a_wrong_setting_is_named(key: str, value: Json) -> None:
    with pytest.raises(InvalidInput, match=key):
        generation({key: value}, "gemini-2.5-pro")


def test_no_filter_of_googles_is_on() -> None:
    here, there = (body_settings(at, {})["safetySettings"] for at in (HERE, vertex()))

    assert (len(here), len(there)) == (5, 10)
    assert {setting["threshold"] for setting in there} == {"OFF"}
    assert all(setting["category"].startswith("HARM_CATEGORY_") for setting in there)


def test_an_answers_schema_asks_for_json() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    held = generation({"json_schema": {"name": "n", "value": schema}})

    assert (held["responseMimeType"], held["responseSchema"]) == ("application/json", schema)


@pytest.mark.parametrize(
    ("model", "effort", "limit", "budget"),
    [
        ("gemini-2.5-pro", "min", None, 128),
        ("gemini-2.5-pro", "high", 4000, 2000),
        ("gemini-2.5-pro", "max", 100_000, 32768),
        ("models/gemini-2.5-flash", "none", None, 0),
        ("gemini-2.5-flash", "medium", None, 6144),
        ("gemini-2.5-flash-lite-preview", "low", 1000, 512),
        ("gemini-2.5-flash", "AUTO", 1000, -1),
    ],
)
def test_an_effort_is_a_budget_for_gemini_2_5(model: str, effort: str, limit: int | None, budget: int) -> None:
    assert thinking(model, reasoning_effort=effort, max_tokens=limit) == {"thinkingBudget": budget}


@pytest.mark.parametrize(
    ("model", "effort", "level"),
    [("gemini-3-flash", "min", "minimal"), ("gemini-3-flash", "max", "high"), ("gemini-3-pro-preview", "min", "low"),
     ("gemini-3-pro-preview", "medium", "high"), ("gemini-3.1-pro", "medium", "medium")],
)  # fmt: skip
def test_an_effort_is_a_level_for_gemini_3(model: str, effort: str, level: str) -> None:
    assert thinking(model, reasoning_effort=effort) == {"thinkingLevel": level}


def test_thoughts_are_asked_for_where_there_are_any() -> None:
    assert thinking("gemini-3-flash", include_reasoning=True, reasoning_effort="auto") == {"includeThoughts": True}
    assert thinking("gemini-2.5-flash", include_reasoning=True, reasoning_effort="min") == {"thinkingBudget": 0}
    assert thinking("gemini-2.0-flash", include_reasoning=True, reasoning_effort="high") is None
    assert thinking("gemini-3-flash") is None
