"""Assistant turns on their way back: verbatim, or changed in exactly the place that servers refuse."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.gateway.chat.native import body_without_reasoning, rebuilt, refuses_reasoning, replayed
from treadle.gateway.connections.connection import Dialect

from .traps import trap
from .words import json_texts

PLAIN = Dialect()


def turn(arguments: str, name: str = "workspace_read_file", extra: str = "") -> str:
    function = f'{{"name" : "{name}","arguments":{arguments}}}'
    return f'{{"role":"assistant", "content":null,{extra}"tool_calls":[ {{"id":"c","type":"function","function":{function}}}]}}'


@given(
    extras=st.lists(st.tuples(st.sampled_from(["zz", "reasoning_content", "annotations", "k\\u0065y"]), json_texts())),
    content=st.sampled_from(["null", '""', '" \\ud83d "', '[{"type":"text","text":"a"}]']),
    arguments=st.sampled_from(
        ['"{}"', '"{\\"n\\": 1.10, \\"big\\": 18446744073709551616}"', '" {\\"a\\":\\"\\\\ud83d\\"} "']
    ),
)
def test_a_clean_turn_goes_back_byte_for_byte(extras: list[tuple[str, str]], content: str, arguments: str) -> None:
    more = "".join(f'"{key}" :{value}, ' for key, value in extras)
    message = turn(arguments, extra=more).replace('"content":null', f'"content": {content}')

    assert replayed(message, PLAIN) == message


@settings(max_examples=100)
@given(
    message=st.lists(
        st.tuples(
            st.sampled_from(["role", "content", "tool_calls", "reasoning_content", "function_call"]),
            st.sampled_from(
                [
                    '"assistant"', "null", '""', '"hi"', "[ ]", "{}", '[{"function":{"name":"a","arguments":"{ }"}}]',
                    '[ {"function":{"name":"a.b","arguments":"{"}}, {"function":{"name":"a","arguments":" null "}}]',
                    '[{"id":1,"function":{"name":null,"arguments":{}}}, {}]', "[null]",
                ]
            ),
        ),
        max_size=6,
    ),
    dialect=st.builds(
        Dialect,
        empty_content=st.sampled_from(["as_received", "null", "string"]),
        echo_reasoning=st.sampled_from(["auto", "all", "none"]),
    ),
)  # fmt: skip
def test_the_quick_look_and_the_long_way_agree(message: list[tuple[str, str]], dialect: Dialect) -> None:
    text = "{" + ", ".join(f'"{key}":{value}' for key, value in message) + "}"

    assert attempt(replayed, text, dialect) == attempt(rebuilt, text, dialect)


def attempt(way: Callable[[str, Dialect], str], message: str, dialect: Dialect) -> str:
    try:
        return way(message, dialect)
    except ValueError as error:
        return type(error).__name__


@trap(23, 24)
@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('""', {}),
        ('"  "', {}),
        ("null", {}),
        ('"null"', {}),
        ('"{\\"path\\": \\"a"', {"_invalid_arguments": '{"path": "a'}),
        ('"[1]"', {"_invalid_arguments": "[1]"}),
        ("[1]", {"_invalid_arguments": [1]}),
        ('{"path":"a"}', {"path": "a"}),
    ],
)
def test_arguments_that_hold_no_object_travel_inside_one_and_nothing_else_changes(arguments: str, sent: object) -> None:
    extra = '"zz":1.10,"reasoning_details":[ {"data":"\\ud83d"} ],'
    back = replayed(turn(arguments, extra=extra), PLAIN)

    call = json.loads(back)["tool_calls"][0]
    assert json.loads(call["function"]["arguments"]) == sent
    assert extra in back
    assert list(json.loads(back)) == ["role", "content", "zz", "reasoning_details", "tool_calls"]
    assert list(call) == ["id", "type", "function"]


@trap(61)
def test_an_object_that_came_bare_keeps_its_spelling_as_text() -> None:
    back = replayed(turn('{"n": 1.10, "big": 18446744073709551616}'), PLAIN)

    text = json.loads(back)["tool_calls"][0]["function"]["arguments"]
    assert text == '{"n": 1.10, "big": 18446744073709551616}'


def test_arguments_that_are_missing_are_put_in() -> None:
    message = '{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"a"}}]}'

    assert json.loads(replayed(message, PLAIN))["tool_calls"][0]["function"] == {"name": "a", "arguments": "{}"}


@trap(29)
def test_only_the_faulty_call_of_two_is_changed() -> None:
    clean = '{ "id":"a","type":"function","function":{"name":"x","arguments":"{ }"},"extra_content":{"g":{"s":"sig"}}}'
    faulty = '{"id":"b","type":"function","function":{"name":"x","arguments":"{"}}'
    back = replayed(f'{{"role":"assistant","content":null,"tool_calls":[{clean},{faulty}]}}', PLAIN)

    assert clean in back
    assert faulty not in back


@pytest.mark.parametrize(("name", "sent"), [("workspace.read_file", "workspace_read_file"), ("a b/é", "a_b__")])
def test_a_name_that_servers_refuse_is_made_fit(name: str, sent: str) -> None:
    back = json.loads(replayed(turn('"{}"', name=name), PLAIN))

    assert back["tool_calls"][0]["function"]["name"] == sent


@trap(30)
@pytest.mark.parametrize(
    ("message", "sent"),
    [
        ('{"content":"hi"}', '{"role":"assistant","content":"hi"}'),
        ('{"role":"assistant","x":1}', '{"role":"assistant","content":null,"x":1}'),
        ("{}", '{"role":"assistant","content":null}'),
        ('{"role":"model","content":"hi"}', '{"role":"assistant","content":"hi"}'),
        ('{"role":null,"content":"hi"}', '{"role":"assistant","content":"hi"}'),
    ],
)
def test_role_and_content_are_always_there(message: str, sent: str) -> None:
    assert replayed(message, PLAIN) == sent


@trap(30)
@pytest.mark.parametrize(
    ("dialect", "content", "sent"),
    [
        (Dialect(), "null", "null"),
        (Dialect(), '""', '""'),
        (Dialect(empty_content="string"), "null", '""'),
        (Dialect(empty_content="null"), '""', "null"),
        (Dialect(empty_content="null"), '"hi"', '"hi"'),
    ],
)
def test_empty_content_is_as_it_came_or_as_the_host_wants_it(dialect: Dialect, content: str, sent: str) -> None:
    message = f'{{"role":"assistant","content":{content}}}'

    assert replayed(message, dialect) == f'{{"role":"assistant","content":{sent}}}'


@trap(26)
def test_a_strict_host_gets_no_reasoning_back() -> None:
    message = '{"role":"assistant","content":"a","reasoning":"r","reasoning_content":"c","reasoning_details":[],"zz":1}'

    assert replayed(message, Dialect(echo_reasoning="none")) == '{"role":"assistant","content":"a","zz":1}'


@trap(25)
@pytest.mark.parametrize(
    ("reasoning", "sent"), [("", '""'), (',"reasoning_content":null', '""'), (',"reasoning_content":"r"', '"r"')]
)
def test_a_host_that_wants_reasoning_on_every_turn_gets_it(reasoning: str, sent: str) -> None:
    back = replayed(f'{{"role":"assistant","content":"a"{reasoning}}}', Dialect(echo_reasoning="all"))

    assert back == f'{{"role":"assistant","content":"a","reasoning_content":{sent}}}'


def test_a_body_loses_reasoning_in_its_assistant_messages_only() -> None:
    user = '{"role":"user","content":"x","reasoning":"mine"}'
    body = f'{{"model":"m","reasoning":{{"effort":"low"}},"messages":[{user},{{"role":"assistant","reasoning_content":"r","content":"a"}}]}}'

    assert body_without_reasoning(body) == (
        f'{{"model":"m","reasoning":{{"effort":"low"}},"messages":[{user},{{"role":"assistant","content":"a"}}]}}'
    )


@pytest.mark.parametrize(
    "words",
    [
        "('messages.2' : property 'reasoning_content' is unsupported)",
        "Extra inputs are not permitted: messages.2.reasoning",
        "Unknown parameter: 'messages[2].reasoning_details'.",
        "Please remove the reasoning_content from your message",
    ],
)
def test_a_refusal_of_reasoning_is_recognised(words: str) -> None:
    assert refuses_reasoning(words)


@pytest.mark.parametrize(
    "words", ["Unrecognized request argument supplied: reasoning_effort", "model is unsupported", ""]
)
def test_other_refusals_are_not(words: str) -> None:
    assert not refuses_reasoning(words)
