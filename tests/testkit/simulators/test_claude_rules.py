"""What breaks a rule of Messages by itself is refused in Anthropic's words; what breaks none is not."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.testkit.simulators.claude_rules import check
from treadle.testkit.simulators.provider import RequestRefused

from .asking import PARAMETERS, Body, without

TOOL = {"name": "read_file", "description": "Read", "input_schema": PARAMETERS}
USER = {"role": "user", "content": "hi"}
ASK: Body = {"model": "m", "max_tokens": 4000, "messages": [USER]}
MARK = {"type": "ephemeral", "ttl": "1h"}
THINKS = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
ADAPTS = {"thinking": {"type": "adaptive", "display": "omitted"}}


def user(*blocks: Any) -> Body:
    return {"messages": [{"role": "user", "content": list(blocks)}]}


def model(*blocks: Any) -> Body:
    return {"messages": [USER, {"role": "assistant", "content": list(blocks)}, USER]}


def tool(**changes: Any) -> Body:
    return {"tools": [{**TOOL, **changes}]}


def text(**keys: Any) -> Body:
    return {"type": "text", "text": "a", **keys}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {**THINKS, "temperature": 1, "top_p": 0.95, "tools": [TOOL], "tool_choice": {"type": "auto"}},
        {**ADAPTS, "output_config": {"effort": "low"}},
        {"system": [text(cache_control=MARK)], "cache_control": MARK, "tools": [{**TOOL, "cache_control": MARK}]},
        {"tools": [TOOL, {"type": "web_search_20250305", "name": "web_search"}], "tool_choice": {"type": "any"}},
        {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "read_file", "disable_parallel_tool_use": True}},
        tool(input_schema={"type": "object", "properties": {"a": {"anyOf": [{"type": ["string", "null"]}]}}}),
        {"temperature": 0.3, "top_k": 5, "stop_sequences": ["END"], "metadata": {"user_id": "u"}},
        user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}, text()),
        model(text(), {"type": "server_tool_use", "id": "s", "name": "x", "input": {}, "own": 1}),
        user({"type": "tool_result", "tool_use_id": "t", "content": [text()]}),
    ],
)
def test_what_breaks_no_rule_is_taken(changes: Body) -> None:
    check({**ASK, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"custom_url": "x"}, "custom_url: Extra inputs are not permitted"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
        ({"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
        ({"model": ""}, "model: String should have at least 1 character"),
        ({"stream": True}, "stream: "),
        ({"temperature": 1.5}, "temperature: range: 0..1"),
        ({"top_p": "1"}, "top_p: Input should be a valid number"),
        ({"top_k": -1}, "top_k: "),
        ({"stop_sequences": "END"}, "stop_sequences: Input should be a valid list"),
        ({"stop_sequences": ["\n"]}, "stop_sequences: each stop sequence must contain non-whitespace"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": {}}, "messages: Input should be a valid list"),
    ],
)
def test_fields(changes: Body, said: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        check({**ASK, **changes})

    assert refused.value.refusal.message.startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"thinking": {"type": "on"}}, "thinking: Input tag 'on'"),
        ({"thinking": {"type": "enabled"}}, "thinking.enabled.budget_tokens: Field required"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1000}}, "thinking.enabled.budget_tokens: Input should be"),
        ({"thinking": {"type": "enabled", "budget_tokens": 4000}}, "`max_tokens` must be greater than"),
        ({"thinking": {"type": "adaptive", "budget_tokens": 2000}}, "thinking.adaptive.budget_tokens: Extra inputs"),
        ({**THINKS, "tools": [TOOL], "tool_choice": {"type": "any"}}, "Thinking may not be enabled when tool_choice"),
        ({**ADAPTS, "tools": [TOOL], "tool_choice": {"type": "tool", "name": "read_file"}}, "Thinking may not be"),
        ({**THINKS, "temperature": 0.5}, "`temperature` may only be set to 1"),
        ({**THINKS, "top_k": 3}, "`top_k` must be unset"),
        ({**ADAPTS, "top_p": 0.5}, "`top_p` must be greater than or equal to 0.95"),
    ],
)
def test_thinking(changes: Body, said: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        check({**ASK, **changes})

    assert refused.value.refusal.message.startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (tool(name="workspace.read"), "tools.0.custom.name: String should match pattern"),
        (tool(parameters={}), "tools.0.custom.parameters: Extra inputs"),
        ({"tools": [without(TOOL, "input_schema")]}, "tools.0.custom.input_schema: Field required"),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        (tool(input_schema=True), "tools.0.custom.input_schema: Input should be a valid dictionary"),
        (tool(input_schema={}), "tools.0.custom.input_schema.type: Field required"),
        (tool(input_schema={"type": "string"}), "tools.0.custom.input_schema.type: Input should be 'object'"),
        (
            tool(input_schema={"type": "object", "anyOf": []}),
            "tools.0.custom.input_schema: input_schema does not support",
        ),
        (
            tool(input_schema={"type": "object", "required": "a"}),
            "tools.0.custom.input_schema: JSON schema is invalid.",
        ),
        (tool(input_schema={"type": "object", "properties": {"a b": {}}}), "tools.0.custom.input_schema.properties: "),
        ({"tool_choice": {"type": "auto"}}, "tool_choice: tool_choice may only be specified"),
        ({"tools": [TOOL], "tool_choice": "auto"}, "tool_choice: Input should be an object"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "tool_choice: Tool 'x' not found"),
        ({"tools": [TOOL], "tool_choice": {"type": "any", "mode": 1}}, "tool_choice.any.mode: Extra inputs"),
    ],
)
def test_tools(changes: Body, said: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        check({**ASK, **changes})

    assert refused.value.refusal.message.startswith(said)


BAD_MESSAGES: list[tuple[Body, str]] = [
    ({"system": [{"type": "image"}]}, "system.0.type: Input should be 'text'"),
    ({"system": [{"type": "text", "text": ""}]}, "system: text content blocks must be non-empty"),
    ({"messages": [{"role": "system", "content": "x"}]}, 'messages: Unexpected role "system".'),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role: Input should be"),
    ({"messages": [{**USER, "name": "x"}]}, "messages.0.name: Extra inputs"),
    ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
    ({"messages": [{"role": "user", "content": []}]}, "messages.0: all messages must have non-empty content"),
    (user({"text": "a"}), "messages.0.content.0.type: Field required"),
    (user(text(text="")), "messages: text content blocks must be non-empty"),
    (user(text(text=" \n")), "messages: text content blocks must contain non-whitespace text"),
    (user({"type": "thinking", "thinking": "x", "signature": "y"}), "messages.0.content.0: `thinking` blocks are not"),
    (model({"type": "tool_result", "tool_use_id": "t"}), "messages.1.content.0: `tool_result` blocks are not"),
    (user({"type": "input_text"}), "messages.0.content.0: Input tag 'input_text'"),
    (user({"type": "tool_result", "content": "x"}), "messages.0.content.0.tool_result.tool_use_id: Field required"),
    (user({"type": "tool_result", "tool_use_id": "t", "name": "x"}), "messages.0.content.0.tool_result.name: Extra"),
    (user({"type": "tool_result", "tool_use_id": "t", "content": {}}), "messages.0.content.0.tool_result.content: "),
    (model({"type": "tool_use", "id": "t", "name": "x", "input": "{}"}), "messages.1.content.0.tool_use.input: Input"),
    (model({"type": "tool_use", "id": "t:1", "name": "x", "input": {}}), "messages.1.content.0.tool_use.id: String"),
]


@pytest.mark.parametrize(("changes", "said"), BAD_MESSAGES)
def test_messages(changes: Body, said: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        check({**ASK, **changes})

    assert refused.value.refusal.message.startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (user(*[text(cache_control=MARK)] * 5), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        ({**user(*[text(cache_control=MARK)] * 4), "cache_control": MARK}, "A maximum of 4 blocks"),
        (
            model({"type": "thinking", "thinking": "x", "signature": "y", "cache_control": MARK}),
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
        (user(text(cache_control={"type": "lasting"})), "messages.0.content.0.cache_control: "),
        (user(text(cache_control={**MARK, "ttl": "2h"})), "messages.0.content.0.cache_control.ephemeral.ttl: "),
        (
            user(text(cache_control={"type": "ephemeral"}), text(cache_control=MARK)),
            "a ttl='1h' cache_control block must",
        ),
    ],
)
def test_cache_marks(changes: Body, said: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        check({**ASK, **changes})

    assert refused.value.refusal.message.startswith(said)
