"""Each rule of a chat-completions server refuses what breaks it, and nothing else."""

from __future__ import annotations

import pytest

from treadle.graph.jsontext import Json
from treadle.testkit.simulators.chat_rules import RequestRefused, Rules, check

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}


def calling(*ids: Json, arguments: Json = "{}", name: str = "a", **more: Json) -> dict[str, Json]:
    made = [{"id": one, "type": "function", "function": {"name": name, "arguments": arguments}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, **more}


def answering(call_id: Json) -> dict[str, Json]:
    return {"role": "tool", "tool_call_id": call_id, "content": "done"}


def request(*messages: Json, **more: Json) -> dict[str, Json]:
    return {"model": "m", "stream": False, "messages": list(messages), **more}


@pytest.mark.parametrize(
    "body",
    [
        request(USER),
        request({"role": "system", "content": [{"type": "text", "text": "a"}]}, USER, tools=[TOOL], tool_choice="auto"),
        request(USER, calling("1", "2"), answering("2"), answering("1"), USER),
        request(USER, calling("1"), answering("1"), calling("1"), answering("1")),
        request(USER, calling("1", reasoning_content="r", zz=1), answering("1")),
        request(USER, {"role": "assistant", "content": "hi"}, USER),
        request({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}),
        request(USER, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "a"}}),
    ],
)
def test_what_servers_take_is_taken(body: Json) -> None:
    check(body, Rules())


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"messages": [USER]},
        {"model": "m"},
        request(),
        request(USER, stream=True),
        request(USER, _internal=1),
        request(USER, custom_include_headers=None),
        request(USER, proxy_password="p"),
        request(USER, tools=[]),
        request(USER, tool_choice="auto"),
        request(USER, tools=[TOOL, TOOL]),
        request(USER, tools=[{"type": "function", "function": {"name": "a.b", "parameters": {"type": "object"}}}]),
        request(USER, tools=[{"type": "function", "function": {"name": "a", "parameters": {}}}]),
        request(USER, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "b"}}),
        request({"role": "function", "content": "x"}),
        request({"role": "user", "content": None}),
        request({"role": "user", "content": []}),
        request({"role": "user", "content": [{"type": "tool_use"}]}),
        request({"role": "system", "content": [{"type": "image_url"}]}),
        request({"role": "user", "content": "hi", "_mark": 1}),
        request(USER, {"role": "assistant", "content": None}),
        request(USER, {"role": "assistant", "content": "x", "tool_calls": []}),
        request(USER, calling("1")),
        request(USER, calling("1"), USER),
        request(USER, calling("1", "2"), answering("1"), USER),
        request(USER, calling("1"), answering("1"), answering("1")),
        request(USER, answering("1")),
        request(USER, calling("1"), answering("2")),
        request(USER, calling("1", "1"), answering("1"), answering("1")),
        request(USER, calling(""), answering("")),
        request(USER, calling(None), answering(None)),
        request(USER, calling("1", name="a.b"), answering("1")),
        request(USER, calling("1", name="x" * 65), answering("1")),
        request(USER, calling("1", arguments=""), answering("1")),
        request(USER, calling("1", arguments="[1]"), answering("1")),
        request(USER, calling("1", arguments='{"a"'), answering("1")),
        request(USER, calling("1", arguments={}), answering("1")),
    ],
)
def test_what_servers_refuse_is_refused(body: Json) -> None:
    with pytest.raises(RequestRefused):
        check(body, Rules())


def test_servers_differ_in_reasoning_and_in_null_content() -> None:
    with_it = request(USER, calling("1", reasoning_content="r"), answering("1"))
    without = request(USER, calling("1"), answering("1"))

    check(with_it, Rules(reasoning="required"))
    check(without, Rules(reasoning="refused"))
    with pytest.raises(RequestRefused, match="reasoning_content"):
        check(with_it, Rules(reasoning="refused"))
    with pytest.raises(RequestRefused, match="reasoning_content"):
        check(without, Rules(reasoning="required"))
    with pytest.raises(RequestRefused, match="nil"):
        check(without, Rules(null_content=False))
