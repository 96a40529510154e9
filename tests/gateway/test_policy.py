"""What a data root's settings file allows, and that nothing else is asked: no secret before, no substitute after."""

from __future__ import annotations

import traceback

import pytest

from treadle.gateway.connections.deployment import Deployment, deployment, parse_deployment
from treadle.gateway.connections.retention import Retention
from treadle.gateway.connections.sources import connection_from_payload
from treadle.gateway.connections.stored import selected
from treadle.gateway.gateway import ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import InvalidInput, ModelFailed
from treadle.graph.jsontext import Json
from treadle.testkit.ports import ManualClock

from .records import MemoryConnections, of_source, record, settings
from .words import KEY, TOOLS, MemorySecrets, payload

FULL: dict[str, Json] = {"chat_completion_source": "vertexai", "model": "m", "vertexai_auth_mode": "full"}


class NoSecrets:
    """A `SecretStore` that must not be asked."""

    def get(self, reference: str) -> str | None:
        raise AssertionError(f"{reference} was looked up before the policy was checked")


def denied(policy: dict[str, Json], given: dict[str, Json]) -> ModelFailed:
    with pytest.raises(ModelFailed) as refused:
        connection_from_payload(given, NoSecrets(), parse_deployment(settings(policy=policy)))
    assert refused.value.error_code == "model.provider_denied"
    assert not refused.value.retryable
    return refused.value


def allowed(policy: dict[str, Json], given: dict[str, Json]) -> None:
    connection_from_payload(given, MemorySecrets({"api_key_openai": KEY}), parse_deployment(settings(policy=policy)))


OPENAI: dict[str, Json] = {"chat_completion_source": "openai", "model": "m"}


def test_without_a_settings_file_all_is_allowed() -> None:
    assert deployment(MemoryConnections()) == deployment(None) == Deployment()
    connection_from_payload(payload(enable_web_search=True), MemorySecrets())


def test_only_the_sources_that_are_named_are_asked_by_whatever_name_they_go() -> None:
    assert denied({"sources": ["claude"]}, OPENAI).details == {"field": "chat_completion_source"}
    assert "source makersuite" in denied({"sources": ["openai"]}, OPENAI | {"chat_completion_source": "Google"}).message
    allowed({"sources": ["openai"]}, {"model": "m"})


def test_an_empty_list_allows_nothing() -> None:
    denied({"sources": []}, OPENAI)
    denied({"hosts": []}, OPENAI)


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        ("https://llm.test/v1", True),
        ("https://LLM.test:8443/v1", True),
        ("https://llm.test./v1", True),
        ("https://a.b.example.org", True),
        ("https://example.org", False),
        ("https://badexample.org", False),
        ("https://llm.test.evil.example", False),
        ("https://evil.example/llm.test", False),
        ("https://127.0.0.1", False),
    ],
)
def test_only_the_hosts_that_are_named_are_asked(address: str, *, is_allowed: bool) -> None:
    hosts: dict[str, Json] = {"hosts": ["llm.test", "*.example.org"]}

    if is_allowed:
        allowed(hosts, payload(custom_url=address))
    else:
        assert denied(hosts, payload(custom_url=address)).details == {"field": "host"}


@pytest.mark.parametrize(
    "given",
    [
        payload(),
        OPENAI | {"reverse_proxy": "https://p.test"},
        OPENAI | {"proxy_password": "x"},
        OPENAI | {"custom_include_headers": "A: b"},
        OPENAI | {"custom_include_body": {"seed": 1}},
        OPENAI | {"custom_exclude_body": ["seed"]},
        OPENAI | {"network_proxy": "http://p.test"},
    ],
)
def test_a_users_own_endpoints_and_overrides_can_be_forbidden(given: dict[str, Json]) -> None:
    denied({"overrides": False}, given)


def test_what_asks_for_nothing_is_no_override() -> None:
    allowed(
        {"overrides": False}, OPENAI | {"custom_include_headers": " ", "reverse_proxy": "", "custom_exclude_body": []}
    )


def test_features_can_be_forbidden_one_by_one() -> None:
    searching = OPENAI | {"enable_web_search": True}

    assert denied({"features": ["request_images"]}, searching).details == {"field": "enable_web_search"}
    allowed({"features": ["enable_web_search"]}, searching)
    allowed({"features": []}, OPENAI | {"enable_web_search": False})


def test_the_source_is_checked_first_then_overrides_then_features_then_the_host() -> None:
    given = payload(enable_web_search=True)
    rules: dict[str, Json] = {"sources": ["openai"], "overrides": False, "features": [], "hosts": []}
    fields: list[object] = []
    for rule in ("sources", "overrides", "features", "hosts"):
        fields.append(denied(rules, given).details["field"])
        del rules[rule]

    assert fields == ["chat_completion_source", "chat_completion_source", "enable_web_search", "host"]


def test_a_stored_connection_is_held_to_the_policy_too() -> None:
    chosen = selected({"llm_connection": "work"}, MemoryConnections({"work": record()}))

    denied({"hosts": ["elsewhere.test"]}, chosen)
    denied({"hosts": ["llm.test"]}, chosen | {"network_proxy": "http://p.test"})


def test_a_service_account_may_not_lead_its_key_to_another_host() -> None:
    account = (
        '{"client_email": "w@p.test", "private_key": "-----BEGIN PRIVATE KEY-----", "project_id": "p",'
        ' "token_uri": "https://evil.test/token"}'
    )
    rules = parse_deployment(settings(policy={"hosts": ["*.googleapis.com"]}))

    with pytest.raises(ModelFailed, match=r"token_uri at host evil\.test"):
        connection_from_payload(FULL, MemorySecrets({"vertexai_service_account_json": account}), rules)


def gateway(document: Json, held: Json = None) -> ModelGateway:
    store = MemoryConnections({"work": held or record()}, document)
    return ModelGateway(HttpTransport(), MemorySecrets(), ManualClock(), connections=store)


def test_the_gateway_obeys_the_settings_file_for_what_it_connects() -> None:
    with pytest.raises(ModelFailed, match="source custom"):
        gateway(settings(policy={"sources": ["openai"]})).connect({"llm_connection": "work"})


def test_a_settings_file_that_can_not_be_understood_allows_nothing() -> None:
    with pytest.raises(InvalidInput) as refused:
        gateway(settings(polizy={})).connect({"llm_connection": "work"})

    assert refused.value.error_code == "llm_settings.invalid"
    assert refused.value.message == "the settings file's $.polizy is not a known field; remove it"


def test_tools_are_not_sent_where_the_connection_says_that_its_model_takes_none() -> None:
    made = gateway(None, record(switches={"supportsTools": False}))
    connection = made.connect({"llm_connection": "work"})

    with pytest.raises(ModelFailed, match="supportsTools is false") as refused:
        made.outgoing(connection, {}, [], TOOLS, {"sessionId": "s"})
    assert refused.value.error_code == "model.provider_denied"
    made.outgoing(connection, {}, [], (), {"sessionId": "s"})


def test_the_proxy_of_the_settings_file_is_used_and_a_connections_own_wins() -> None:
    rules = settings(proxy="http://proxy.test:3128", proxySecretRef="gate")
    secrets = MemorySecrets({"gate": f"me:{KEY}"})
    ours = connection_from_payload(payload(), secrets, parse_deployment(rules))
    theirs = connection_from_payload(payload(network_proxy="http://own.test/"), secrets, parse_deployment(rules))

    assert ours.proxy is not None
    assert ours.proxy.reveal() == f"http://me:{KEY}@proxy.test:3128"
    assert theirs.proxy is not None
    assert theirs.proxy.reveal() == "http://own.test"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (settings() | {"schemaVersion": 2}, "$.schemaVersion must be 1"),
        (settings() | {"kind": "x"}, '$.kind must be "tauritavern.llmSettings"'),
        (settings(policy={"sources": ["google"]}), "policy.sources: 'google' is not one of"),
        (settings(policy={"features": ["magic"]}), "policy.features: 'magic' is not one of"),
        (settings(policy={"hosts": ["https://h.test"]}), "policy.hosts: 'https://h.test' is no host name"),
        (settings(policy={"hosts": ["H.test"]}), "policy.hosts: 'H.test' is no host name"),
        (settings(policy={"hosts": "h.test"}), "$.policy.hosts must be a list"),
        (settings(policy={"overrides": "no"}), "$.policy.overrides must be a valid boolean"),
        (settings(wireLog="loud"), "$.wireLog must be 'off', 'metadata' or 'full'"),
        (settings(proxy="p.test:80"), "proxy must begin with http:// or https://"),
        (settings(retention={"keepAll": 1}), "$.retention.keepAll is not a known field"),
        (settings(retention={"keepFullRecentRuns": "1"}), "$.retention.keepFullRecentRuns must be a valid integer"),
        (settings(retention={"keepFullRecentRuns": 101}), "retention.keepFullRecentRuns (101) must not be more than"),
        (settings(retention={"keepRecentTerminalRuns": 10_001}), "retention.keepRecentTerminalRuns must be an integer"),
        (settings(proxySecretRef="a"), "$.proxySecretRef is without a proxy"),
        (settings(proxy=f"http://me:{KEY}@p.test"), "proxy must not hold a user or password"),
    ],
)
def test_a_bad_settings_file_is_told_by_its_field(document: Json, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_deployment(document)

    assert told in refused.value.message
    assert KEY not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("level", ["off", "metadata", "full"])
def test_the_settings_file_says_how_much_the_wire_log_keeps(level: str) -> None:
    assert parse_deployment(settings(wireLog=level)).wire_log == level
    assert parse_deployment(settings()).wire_log == "metadata"


def test_the_settings_file_says_how_many_ended_runs_are_kept() -> None:
    some = {"autoPruneEnabled": True, "keepRecentTerminalRuns": 7, "keepFullRecentRuns": 0}

    assert parse_deployment(settings()).retention == Retention(False, 100, 20)
    assert parse_deployment(settings(retention=some)).retention == Retention(True, 7, 0)


def test_a_known_source_may_be_allowed_where_own_endpoints_are_not() -> None:
    chosen = selected({"llm_connection": "work"}, MemoryConnections({"work": of_source("openai")}))

    allowed({"overrides": False, "hosts": ["api.openai.com"]}, chosen)
