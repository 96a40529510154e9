"""What a user may say of one connection: its switches, and how its host differs from others."""

from __future__ import annotations

import pytest

from treadle.gateway.connections.connection import Switches
from treadle.gateway.connections.dialects import check_dialect, switches_of
from treadle.gateway.formats import openai_compatible
from treadle.gateway.wire import read
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json, dumps, loads

from .traps import trap
from .words import TOOLS, connect


def test_a_connection_has_the_switches_that_the_payload_turns() -> None:
    turned = {
        "positionalToolCallIds": True,
        "promptCacheTtl": "1h",
        "webSocket": "off",
        "anthropicBeta": ["context-1m-2025-08-07", "b"],
        "supportsTools": False,
    }

    assert connect(connection_dialect=turned).switches == Switches(
        True, "1h", "off", ("context-1m-2025-08-07", "b"), supports_tools=False
    )


@pytest.mark.parametrize("given", [None, {}])
def test_without_a_word_the_switches_stand_as_they_do_by_default(given: Json) -> None:
    assert switches_of(given) == Switches(False, "off", "auto", (), supports_tools=True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"promptCacheTtl": "2h"}, "switches.promptCacheTtl must be one of off, 5m, 1h"),
        ({"promptCacheTtl": None}, "switches.promptCacheTtl must be one of"),
        ({"webSocket": "on"}, "switches.webSocket must be one of auto, off"),
        ({"supportsTools": 0}, "switches.supportsTools must be one of true, false"),
        ({"positionalToolCallIds": "true"}, "switches.positionalToolCallIds must be one of true, false"),
        ({"anthropicBeta": "b"}, "switches.anthropicBeta must be a list of beta names"),
        ({"anthropicBeta": ["a, b"]}, "switches.anthropicBeta must be a list of beta names"),
        ({"anthropicBeta": ["a\n"]}, "switches.anthropicBeta must be a list of beta names"),
        ({"echoReasoning": []}, "switches.echoReasoning must be one of auto, all, none"),
        ({"telepathy": True}, "switches has no key 'telepathy'; it takes emptyContent, "),
        ("off", "switches must be an object with any of"),
        ([], "switches must be an object with any of"),
    ],
)
def test_a_bad_word_is_refused_with_the_key_and_what_it_takes(given: Json, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_dialect(given, "switches")

    assert told in refused.value.message


def test_an_address_for_sockets_is_for_responses_alone_and_not_while_they_are_off() -> None:
    made = connect(custom_url="wss://h.test/v1", custom_api_format="openai_responses")

    assert made.base_url == "https://h.test/v1"
    with pytest.raises(InvalidInput, match="custom_url must begin with http:// or https://"):
        connect(custom_url="wss://h.test/v1")
    with pytest.raises(InvalidInput, match="webSocket is off"):
        connect(
            custom_url="ws://h.test/v1", custom_api_format="openai_responses", connection_dialect={"webSocket": "off"}
        )


def sent_back(address: str, reasoning: str | None) -> Json:
    """What the next request says of an answer that came from there."""
    here = connect(custom_url=address)
    called = {"id": "c1", "type": "function", "function": {"name": "workspace_list_files", "arguments": "{}"}}
    message: dict[str, Json] = {"role": "assistant", "content": None, "tool_calls": [called]}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    answer = {"choices": [{"finish_reason": "tool_calls", "message": message}]}
    response = openai_compatible.decode(read(dumps(answer)), here, TOOLS, here.origin)
    return loads(openai_compatible.encode_message(response.message, here).items[0])


@trap(25)
@pytest.mark.parametrize("address", ["https://api.deepseek.com/beta", "https://api.moonshot.ai/v1"])
def test_a_host_that_wants_reasoning_on_every_turn_is_known_by_its_name(address: str) -> None:
    assert sent_back(address, "Because.")["reasoning_content"] == "Because."
    assert sent_back(address, None)["reasoning_content"] == ""


@trap(26)
@pytest.mark.parametrize("address", ["https://api.groq.com/openai/v1", "https://api.cerebras.ai./v1"])
def test_a_host_that_refuses_reasoning_is_known_by_its_name(address: str) -> None:
    assert "reasoning_content" not in sent_back(address, "Because.")
    assert sent_back("https://llm.test/v1", "Because.")["reasoning_content"] == "Because."
