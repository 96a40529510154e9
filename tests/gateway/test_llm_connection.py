"""Stored connections: what a record may say, and what it takes the place of in a chat payload."""

from __future__ import annotations

import traceback

import pytest

from treadle.gateway.connections.connection import Connection, Switches
from treadle.gateway.connections.sources import connection_from_payload
from treadle.gateway.connections.stored import parse_connection, selected
from treadle.graph.errors import InvalidInput, NotFound
from treadle.graph.jsontext import Json

from .records import MemoryConnections, of_source, record
from .words import KEY, MemorySecrets

SECRET = {"secretRef": {"key": "api_key_custom", "id": "work"}}
HERE = "$.endpoint"


WRONG: list[tuple[Json, str, str]] = [
    ([], "invalid", "$"),
    (record(schemaVersion=2), "schema_unsupported", "$.schemaVersion"),
    (record(schemaVersion=True), "schema_unsupported", "$.schemaVersion"),
    (record(kind="x"), "kind_invalid", "$.kind"),
    (record(displayName=...), "display_name_required", "$.displayName"),
    (record(displayName=" "), "display_name_required", "$.displayName"),
    (record(id=1), "id_invalid", "$.id"),
    (record(apiKey="x"), "invalid", "$.apiKey"),
    (record(switches=[]), "invalid", "$.switches"),
    (record(switches={"webSocket": "on"}), "invalid", "$.switches"),
    (record(switches={"telepathy": 1}), "invalid", "$.switches"),
    (record(provider={}), "source_unsupported", "$.provider.chatCompletionSource"),
    (of_source("skynet"), "source_unsupported", "$.provider.chatCompletionSource"),
    (of_source(" "), "source_unsupported", "$.provider.chatCompletionSource"),
    (of_source("bedrock"), "source_unsupported", "$.provider.chatCompletionSource"),
    (
        record(provider={"chatCompletionSource": "custom", "customApiFormat": "x"}),
        "custom_api_format_unsupported",
        "$.provider.customApiFormat",
    ),
    (
        record(provider={"chatCompletionSource": "groq", "customApiFormat": "claude_messages"}),
        "custom_api_format_non_custom",
        "$.provider.customApiFormat",
    ),
    (record(endpoint={}), "custom_base_url_required", f"{HERE}.baseUrl"),
    (record(endpoint={"baseUrl": " "}), "base_url_empty", f"{HERE}.baseUrl"),
    (record(endpoint={"baseUrl": "ftp://h"}), "base_url_invalid", f"{HERE}.baseUrl"),
    (record(endpoint={"baseUrl": "wss://h"}), "base_url_invalid", f"{HERE}.baseUrl"),
    (record(endpoint={"baseUrl": "http://u:p@h"}), "base_url_invalid", f"{HERE}.baseUrl"),
    (record(provider={"chatCompletionSource": "groq"}), "base_url_non_custom", f"{HERE}.baseUrl"),
    (of_source("vertexai") | {"endpoint": {"sourceSpecific": {"moon": {}}}}, "source_specific_unknown",
     f"{HERE}.sourceSpecific.moon"),
    (of_source("openai") | {"endpoint": {"sourceSpecific": {"vertexai": {}}}}, "source_specific_source_mismatch",
     f"{HERE}.sourceSpecific.vertexai"),
    (of_source("vertexai") | {"endpoint": {"sourceSpecific": {"vertexai": "x"}}}, "source_specific_type_invalid",
     f"{HERE}.sourceSpecific.vertexai"),
    (of_source("vertexai") | {"endpoint": {"sourceSpecific": {"vertexai": {"authMode": "magic"}}}},
     "vertexai_auth_mode_unsupported", f"{HERE}.sourceSpecific.vertexai.authMode"),
    (of_source("vertexai") | {"endpoint": {"sourceSpecific": {"vertexai": {"region": "eu/../x"}}}},
     "invalid", f"{HERE}.sourceSpecific.vertexai.region"),
    (of_source("workers_ai"), "workers_ai_account_required", f"{HERE}.sourceSpecific.workers_ai.accountId"),
    (record(auth={"secretRef": {"id": "a"}}), "secret_key_required", "$.auth.secretRef.key"),
    (record(auth={"secretRef": {"key": "", "id": "a"}}), "secret_key_required", "$.auth.secretRef.key"),
    (record(auth={"secretRef": {"key": "api_key_custom"}}), "secret_id_required", "$.auth.secretRef.id"),
    (record(auth={"secretRef": {"key": "api_key_custom", "id": " "}}), "secret_id_required", "$.auth.secretRef.id"),
    (record(auth={"secretRef": {"key": "api_key_openai", "id": "a"}}), "secret_key_mismatch",
     "$.auth.secretRef.key"),
    (of_source("openai", routing={"reverseProxy": {"url": ""}}), "reverse_proxy_empty",
     "$.routing.reverseProxy.url"),
    (of_source("openai", routing={"reverseProxy": {"url": "x"}}), "reverse_proxy_invalid",
     "$.routing.reverseProxy.url"),
    (of_source("groq", routing={"reverseProxy": {"url": "http://p"}}), "reverse_proxy_unsupported",
     "$.routing.reverseProxy"),
    (record(routing={"reverseProxy": {"url": "http://p"}}), "reverse_proxy_unsupported", "$.routing.reverseProxy"),
    (record(routing={"networkProxy": "socks5://p"}), "invalid", "$.routing.networkProxy"),
    (record(routing={"networkProxySecretId": "a"}), "invalid", "$.routing.networkProxySecretId"),
    (record(adapterHints={"customIncludeHeaders": "no colon"}), "invalid", "$.adapterHints.customIncludeHeaders"),
    (record(adapterHints={"customIncludeHeaders": {"A": {"secret": "a"}}}), "invalid",
     "$.adapterHints.customIncludeHeaders"),
    (record(adapterHints={"customIncludeBody": {"tools": []}}), "invalid", "$.adapterHints.customIncludeBody"),
    (record(adapterHints={"customExcludeBody": ["messages"]}), "invalid", "$.adapterHints.customExcludeBody"),
    (record(adapterHints={"promptPostProcessing": "merge"}), "invalid", "$.adapterHints.promptPostProcessing"),
    (record(capabilities={"toolCalling": "no"}), "invalid", "$.capabilities.toolCalling"),
    (record(capabilities={"toolCalling": False}, switches={"supportsTools": True}), "invalid",
     "$.switches.supportsTools"),
]  # fmt: skip
"""A record, the code with which it is refused, and the field."""


def connected(document: dict[str, Json], secrets: dict[str, str] | None = None, **payload: Json) -> Connection:
    chosen = selected({"llm_connection": "work", **payload}, MemoryConnections({"work": document}))
    return connection_from_payload(chosen, MemorySecrets(secrets))


def refusal(document: Json) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        parse_connection(document)
    return refused.value


def test_a_record_becomes_the_connection_that_it_describes() -> None:
    made = connected(
        record(
            auth=SECRET,
            adapterHints={"customIncludeHeaders": {"X-Team": "ink"}, "customIncludeBody": {"seed": 1}},
            switches={"anthropicBeta": ["b"], "promptCacheTtl": "5m"},
        ),
        {"work": KEY},
    )

    assert (made.source, made.format, made.base_url, made.model) == (
        "custom", "claude_messages", "https://llm.test/v1", "writer",
    )  # fmt: skip
    assert made.secret_ref == "work"
    assert made.api_key is not None
    assert made.api_key.reveal() == KEY
    assert [(name, value.reveal()) for name, value in made.headers] == [("X-Team", "ink")]
    assert made.body_include == (("seed", 1),)
    assert made.switches == Switches(prompt_cache_ttl="5m", anthropic_beta=("b",))


def test_a_record_takes_the_place_of_all_that_the_payload_said_of_its_own_connection() -> None:
    payload: dict[str, Json] = {
        "chat_completion_source": "openai", "custom_api_format": "openai_responses", "model": "other",
        "custom_url": "http://other.test", "reverse_proxy": "http://proxy.test", "proxy_password": KEY,
        "secret_id": "other", "custom_include_headers": "A: b", "custom_include_body": "a: 1",
        "custom_exclude_body": "- seed", "custom_prompt_post_processing": "merge", "vertexai_region": "r",
        "temperature": 0.5,
    }  # fmt: skip

    chosen = selected(payload | {"llm_connection": "work"}, MemoryConnections({"work": record()}))

    assert chosen == {
        "chat_completion_source": "custom", "custom_api_format": "claude_messages", "model": "writer",
        "custom_url": "https://llm.test/v1", "temperature": 0.5,
    }  # fmt: skip


def test_a_payload_without_a_record_stays_as_it_is() -> None:
    assert selected({"model": "m", "llm_connection": None}, None) == {"model": "m", "llm_connection": None}


def test_whoever_selects_a_record_may_name_another_model_of_it() -> None:
    assert connected(record(), llm_connection={"id": "work", "model": "faster"}).model == "faster"


def test_a_record_without_a_model_needs_one_to_be_named() -> None:
    bare = record(model=...)

    assert connected(bare, llm_connection={"id": "work", "model": "faster"}).model == "faster"
    with pytest.raises(InvalidInput) as refused:
        connected(bare, model="the payload's own does not count")
    assert refused.value.error_code == "agent.model_id_required"


@pytest.mark.parametrize("chosen", [1, [], {}, {"model": "m"}, {"id": 1}, {"id": "work", "url": "x"}, True])
def test_a_selection_of_another_shape_is_refused(chosen: Json) -> None:
    with pytest.raises(InvalidInput, match=r"llm_connection must be a connection's id, or an object \{id, model\}"):
        connected(record(), llm_connection=chosen)


@pytest.mark.parametrize(
    ("chosen", "code"),
    [
        ("", "id_empty"),
        ("a" * 129, "id_too_long"),
        ("../up", "id_invalid"),
        ("Work", "id_invalid"),
        ("a\n", "id_invalid"),
    ],
)
def test_an_id_that_no_record_can_have_is_refused(chosen: str, code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        connected(record(), llm_connection=chosen)

    assert refused.value.error_code == f"llm_connection.{code}"


def test_a_record_that_is_not_there_is_told_as_that() -> None:
    for store in (MemoryConnections(), None):
        with pytest.raises(NotFound, match="there is no connection home") as missing:
            selected({"llm_connection": "home"}, store)
        assert missing.value.error_code == "llm_connection.not_found"


def test_a_file_that_holds_another_id_is_refused() -> None:
    with pytest.raises(InvalidInput, match="holds the id home"):
        connected(record(id="home"))


def test_a_dialect_beside_a_record_is_not_dropped_in_silence() -> None:
    with pytest.raises(InvalidInput, match="connection_dialect can't stand beside llm_connection"):
        connected(record(), connection_dialect={"webSocket": "off"})


@pytest.mark.parametrize(("document", "code", "path"), WRONG)
def test_a_record_that_is_wrong_is_refused_by_its_field_and_its_code(document: Json, code: str, path: str) -> None:
    wrong = refusal(document)

    assert (wrong.error_code, wrong.details["path"]) == (f"llm_connection.{code}", path)


def test_the_message_names_the_field_and_says_what_to_do() -> None:
    assert refusal(record(apiKey="x")).message == "the connection's $.apiKey is not a known field; remove it"
    assert refusal(record(provider=...)).message == "the connection's $.provider is missing; add it"
    assert "webSocket must be one of auto, off" in refusal(record(switches={"webSocket": "on"})).message


@pytest.mark.parametrize(
    "document",
    [
        record(model=[KEY]),
        record(displayName=1, description=KEY),
        record(apiKey=KEY),
        record(endpoint={"baseUrl": f"https://user:{KEY}@h"}),
        record(endpoint={"baseUrl": f"h?key={KEY}"}),
        record(routing={"networkProxy": f"http://user:{KEY}@h"}),
        record(adapterHints={"customIncludeHeaders": f"Authorization {KEY}"}),
        record(adapterHints={"customIncludeHeaders": {"Authorization": f"{KEY}\n"}}),
        record(adapterHints={"customIncludeHeaders": f'{{"a": "{KEY}"'}),
        record(auth={"secretRef": {"key": KEY, "id": KEY}}),
        record(auth={"secretRef": KEY}),
    ],
)
def test_no_refusal_quotes_a_value_that_may_be_a_key(document: Json) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_connection(document)

    assert KEY not in str(refused.value.report())
    assert KEY not in "".join(traceback.format_exception(refused.value))


def test_a_declared_lack_of_tools_is_obeyed() -> None:
    assert connected(record(capabilities={"toolCalling": False})).switches.supports_tools is False
    assert connected(record(capabilities={"toolCalling": True, "streaming": True})).switches.supports_tools is True


def test_openai_may_speak_responses_also_over_a_socket_of_a_proxy() -> None:
    document = of_source("openai", routing={"reverseProxy": {"url": "wss://p.test/v1"}})
    document["provider"]["customApiFormat"] = "openai_responses"
    document["auth"] = {"secretRef": {"key": "api_key_openai", "id": "gate"}}

    made = connected(document, {"gate": KEY, "api_key_openai": "not for a proxy"})

    assert (made.format, made.base_url, made.secret_ref) == ("openai_responses", "https://p.test/v1", "gate")
    assert made.api_key is not None
    assert made.api_key.reveal() == KEY


def test_a_proxy_without_a_secret_never_gets_the_sources_own_key() -> None:
    document = of_source("openai", routing={"reverseProxy": {"url": "https://p.test/v1"}})

    assert connected(document, {"api_key_openai": KEY}).api_key is None


def test_a_header_may_be_a_secret_and_is_shown_nowhere() -> None:
    document = record(adapterHints={"customIncludeHeaders": {"api-key": {"secretRef": "azure"}}})
    made = connected(document, {"azure": KEY})

    assert [(name, value.reveal()) for name, value in made.headers] == [("api-key", KEY)]
    assert KEY not in repr(made)
    with pytest.raises(InvalidInput, match="no secret is stored"):
        connected(document)


def test_a_network_proxy_carries_its_secret_quoted() -> None:
    document = record(routing={"networkProxy": "http://proxy.test:8080", "networkProxySecretId": "gate"})
    made = connected(document, {"gate": f"me:{KEY}/@"})

    assert made.proxy is not None
    assert made.proxy.reveal() == f"http://me:{KEY}%2F%40@proxy.test:8080"
    assert KEY not in repr(made)
    assert KEY not in made.scrub(f"{made.proxy.reveal()} and {KEY}/@ and {KEY}%2F%40")
    with pytest.raises(InvalidInput, match="user:password"):
        connected(document, {"gate": KEY})


def test_a_document_gives_back_what_it_held() -> None:
    document = record(auth=SECRET, switches={"webSocket": "off"}, adapterHints={"customIncludeBody": {"seed": 1}})

    assert parse_connection(document).to_json() == document


def test_a_record_shows_no_header_and_no_url_in_its_repr() -> None:
    parsed = parse_connection(
        record(
            endpoint={"baseUrl": f"https://h.test?key={KEY}"},
            adapterHints={"customIncludeHeaders": {"Authorization": f"Bearer {KEY}"}},
        )
    )

    assert KEY not in repr(parsed)


def test_vertex_is_told_by_its_own_block() -> None:
    document = of_source("vertexai")
    document["endpoint"] = {"sourceSpecific": {"vertexai": {"region": "europe-west4", "projectId": "ink"}}}

    made = connected(document, {"api_key_vertexai": KEY})

    assert made.vertex is not None
    assert (made.vertex.auth_mode, made.vertex.region, made.vertex.project) == ("express", "europe-west4", "ink")
    assert made.base_url == "https://europe-west4-aiplatform.googleapis.com"
