"""A format-neutral script in the words of chat completions."""

from __future__ import annotations

import pytest

from treadle.graph.jsontext import loads
from treadle.testkit.replies import call
from treadle.testkit.simulators.chat_writing import refusal_reply, turn_reply
from treadle.testkit.turns import Refusal, Turn, Usage, says


def test_a_turn_is_a_chat_completion() -> None:
    made = call("workspace.finish", summary="x")

    reply = turn_reply(says("", made, reasoning="Now.", usage=Usage(20, 6, 3, 8), service_tier="default").after(2), 7)

    document = loads(reply.body)
    choice = document["choices"][0]
    assert (reply.delay, document["id"], document["service_tier"]) == (2, "chatcmpl-000007", "default")
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert choice["message"]["reasoning_content"] == "Now."
    assert choice["message"]["tool_calls"][0]["id"] == "call_000007_1"
    assert choice["message"]["tool_calls"][0]["function"] == {
        "name": "workspace_finish",
        "arguments": '{"summary":"x"}',
    }
    assert (document["usage"]["prompt_tokens"], document["usage"]["completion_tokens"]) == (20, 9)


def test_refused_and_filtered_answers_have_their_own_signs() -> None:
    refused = loads(turn_reply(says("I can't.", finish="refusal"), 1).body)["choices"][0]
    filtered = loads(turn_reply(says("So", finish="filter"), 1).body)["choices"][0]

    assert (refused["message"]["content"], refused["message"]["refusal"]) == (None, "I can't.")
    assert filtered["finish_reason"] == "content_filter"


@pytest.mark.parametrize("turn", [says("a", finish="pause"), says("a", blocks=(b"{}",))])
def test_what_chat_completions_can_not_say_is_refused(turn: Turn) -> None:
    with pytest.raises(ValueError, match="chat completions hold no blocks"):
        turn_reply(turn, 1)


def test_a_refusal_has_openais_shape() -> None:
    reply = refusal_reply(Refusal(429, "Slow down.", headers={"retry-after": "2"}).broken("drop"))

    assert loads(reply.body)["error"] == {
        "message": "Slow down.", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded",
    }  # fmt: skip
    assert (reply.status, reply.headers, reply.drop) == (429, {"retry-after": "2"}, "before_answer")
