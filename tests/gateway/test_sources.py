"""Which source, format, address and key a chat payload selects."""

from __future__ import annotations

import pytest

from treadle.gateway.connections.sources import connection_from_payload
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json

from .traps import trap
from .words import MemorySecrets, connect, payload

KEYS = MemorySecrets({f"api_key_{source}": "k-" + source for source in ("openai", "groq", "claude", "vertexai")})


@pytest.mark.parametrize(
    ("source", "canonical", "provider_format"),
    [
        ("", "openai", "openai_compatible"),
        (None, "openai", "openai_compatible"),
        (" OpenAI ", "openai", "openai_compatible"),
        ("claude", "claude", "claude_messages"),
        ("Vertex AI", "vertexai", "gemini"),
        ("groq", "groq", "openai_compatible"),
    ],
)
def test_a_source_selects_its_format(source: Json, canonical: str, provider_format: str) -> None:
    made = connection_from_payload({"chat_completion_source": source, "model": "m"}, KEYS)

    assert (made.source, made.format) == (canonical, provider_format)


@pytest.mark.parametrize(
    ("api_format", "provider_format"),
    [
        (None, "openai_compatible"),
        ("openai_compat", "openai_compatible"),
        ("openai_responses", "openai_responses"),
        ("claude_messages", "claude_messages"),
        ("gemini_interactions", "gemini_interactions"),
    ],
)
def test_a_custom_source_selects_its_format_by_name(api_format: Json, provider_format: str) -> None:
    assert connect(custom_api_format=api_format).format == provider_format


def test_an_unknown_source_is_refused_by_its_code() -> None:
    with pytest.raises(InvalidInput) as refused:
        connect(chat_completion_source="skynet")

    assert refused.value.error_code == "agent.model_request_invalid_source"


def test_an_unknown_custom_format_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidInput, match="telepathy"):
        connect(custom_api_format="telepathy")


@pytest.mark.parametrize("model", [None, "", "  "])
def test_a_payload_without_a_model_is_refused(model: Json) -> None:
    with pytest.raises(InvalidInput) as refused:
        connect(model=model)

    assert refused.value.error_code == "agent.model_id_required"


def test_a_known_source_has_its_own_address_and_key_and_ignores_custom_url() -> None:
    made = connection_from_payload(payload(chat_completion_source="openai"), KEYS)

    assert made.base_url == "https://api.openai.com/v1"
    assert made.api_key is not None
    assert made.api_key.reveal() == "k-openai"


def test_a_known_source_without_a_key_is_refused_and_a_custom_one_is_not() -> None:
    with pytest.raises(InvalidInput, match="api_key_openrouter"):
        connect(chat_completion_source="openrouter")

    assert connect().api_key is None


def test_an_explicit_secret_that_is_missing_has_no_fallback() -> None:
    with pytest.raises(InvalidInput, match="secret_id"):
        connect({"api_key_custom": "other"}, secret_id="work")

    made = connect({"work": " k \n"}, secret_id="work")
    assert made.api_key is not None
    assert made.api_key.reveal() == "k"


def test_a_reverse_proxy_takes_its_own_password() -> None:
    changes = {"chat_completion_source": "openai", "reverse_proxy": "http://proxy/v1/", "proxy_password": "pp"}
    made = connection_from_payload(payload(**changes), KEYS)

    assert made.base_url == "http://proxy/v1"
    assert made.api_key is not None
    assert made.api_key.reveal() == "pp"


def test_a_reverse_proxy_before_a_source_that_takes_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="groq"):
        connection_from_payload(payload(chat_completion_source="groq", reverse_proxy="http://p"), KEYS)


@pytest.mark.parametrize(
    "url", ["ftp://h/v1", "localhost:8000", "http://", "http://u:p@h/v1", "http://h\n/v1", "http://h:x/", "http://["]
)
def test_an_address_that_is_no_plain_web_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="custom_url"):
        connect(custom_url=url)


def test_a_custom_source_needs_an_address() -> None:
    with pytest.raises(InvalidInput, match="custom_url"):
        connect(custom_url=" ")


def test_the_path_comes_before_the_query_of_the_base() -> None:
    assert connect(custom_url="http://h/v1/?v=1").url("/chat/completions") == "http://h/v1/chat/completions?v=1"


def test_null_settings_are_no_settings() -> None:
    made = connect(custom_include_headers=None, custom_include_body=None, reverse_proxy=None, connection_dialect=None)

    assert (made.headers, made.body_include, made.body_exclude) == ((), (), ())


@pytest.mark.parametrize("key", ["sk-line\nbreak", "sk-é"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_quoted(key: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        connect({"api_key_custom": key})

    assert "sk-" not in str(refused.value)


@pytest.mark.parametrize("headers", [{"X-A": "a\r\nX-B: b"}, {"X A": "a"}, "no colon", '{"X-A": '])
def test_headers_that_can_not_be_sent_are_refused(headers: Json) -> None:
    with pytest.raises(InvalidInput, match="custom_include_headers"):
        connect(custom_include_headers=headers)


@trap(68)
@pytest.mark.parametrize("key", ["messages", "tools", "tool_choice", "stream", "Input", "_x", "previous_response_id"])
def test_what_the_run_owns_can_not_be_overridden(key: str) -> None:
    with pytest.raises(InvalidInput, match=key):
        connect(custom_include_body={key: []})
    with pytest.raises(InvalidInput, match=key):
        connect(custom_exclude_body=f"- {key}")


@trap(25, 26)
@pytest.mark.parametrize(
    ("address", "echo"),
    [
        ("https://api.groq.com/openai/v1", "none"),
        ("https://api.cerebras.ai/v1", "none"),
        ("https://api.deepseek.com", "all"),
        ("https://api.moonshot.cn/v1", "all"),
        ("http://localhost:8000/v1", "auto"),
        ("https://api.groq.com.example.test/v1", "auto"),
    ],
)
def test_a_known_host_brings_its_dialect(address: str, echo: str) -> None:
    assert connect(custom_url=address).dialect.echo_reasoning == echo


def test_the_dialect_can_be_set_and_is_checked() -> None:
    made = connect(connection_dialect={"emptyContent": "string", "echoReasoning": "none"})

    assert (made.dialect.empty_content, made.dialect.echo_reasoning) == ("string", "none")
    with pytest.raises(InvalidInput, match="connection_dialect"):
        connect(connection_dialect={"echoReasoning": "sometimes"})


def test_the_origin_tells_sources_addresses_and_models_apart() -> None:
    origins = {
        connect().origin,
        connect(model="other").origin,
        connect(custom_url="http://localhost:10/v1").origin,
        connection_from_payload(payload(chat_completion_source="openai"), KEYS).origin,
    }

    assert len(origins) == 4
    assert connect().origin == connect(custom_include_headers={"a": "b"}).origin
