"""Scripted answers are plain chat completions, the same every time."""

from __future__ import annotations

import json

from treadle.testkit.replies import Call, call, calls, error, text


def test_calls_are_named_by_alias_and_have_ids_of_their_own() -> None:
    reply = calls(call("workspace.finish"), call("workspace.finish"), text="Bye.", reasoning_content="r")

    message = json.loads(reply.body)["choices"][0]["message"]
    first, second = message["tool_calls"]
    assert first["function"] == {"name": "workspace_finish", "arguments": "{}"}
    assert first["id"] != second["id"]
    assert (message["content"], message["reasoning_content"]) == ("Bye.", "r")


def test_argument_text_and_ids_go_out_as_given() -> None:
    reply = calls(Call("x", '{"cut', "", {"extra_content": {"a": 1}}))

    (made,) = json.loads(reply.body)["choices"][0]["message"]["tool_calls"]
    assert (made["id"], made["function"]["arguments"], made["extra_content"]) == ("", '{"cut', {"a": 1})


def test_the_same_answer_is_the_same_bytes() -> None:
    assert text("a").body == text("a").body
    assert text("a").body != text("b").body


def test_an_error_has_openais_shape() -> None:
    reply = error(429, "slow", code="rate_limit_exceeded", retry_after="2")

    assert json.loads(reply.body)["error"]["code"] == "rate_limit_exceeded"
    assert (reply.status, reply.headers) == (429, {"retry-after": "2"})
