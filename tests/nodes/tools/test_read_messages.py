from __future__ import annotations

import pytest

from tests.nodes.desk import Desk, chat_desk, said_by
from treadle.graph.errors import RunFailed
from treadle.graph.jsontext import Json
from treadle.testkit.chat import MemoryChat

READ = "chat.read_messages"


def code_and_words(desk: Desk, *items: Json) -> tuple[str | None, str]:
    result = desk.call(READ, messages=list(items))
    return result.error_code, result.content


def test_messages_are_shown_whole_in_the_order_asked() -> None:
    desk = chat_desk(said_by(0, "assistant", "It rains.", "Wren", "today"), said_by(1, "user", "我开门 now"))

    result = desk.call(READ, messages=[{"index": 1}, {"index": 0}])

    assert result.content == (
        "2 messages read; the chat has 2 messages.\n\n"
        "message 1 user chars 0-7 of 7, words 4 of 4, ref chat:current#1:chars=0..7\n我开门 now\n\n"
        "message 0 assistant Wren chars 0-9 of 9, words 2 of 2, ref chat:current#0:chars=0..9 send_date today\nIt rains."
    )
    assert result.structured == {
        "totalMessages": 2,
        "messages": [
            {
                "index": 1, "role": "user", "name": None, "sendDate": None, "chars": 7, "words": 4, "totalChars": 7,
                "totalWords": 4, "startChar": 0, "endChar": 7, "truncated": False, "text": "我开门 now",
                "ref": "chat:current#1:chars=0..7",
            },
            {
                "index": 0, "role": "assistant", "name": "Wren", "sendDate": "today", "chars": 9, "words": 2,
                "totalChars": 9, "totalWords": 2, "startChar": 0, "endChar": 9, "truncated": False,
                "text": "It rains.", "ref": "chat:current#0:chars=0..9",
            },
        ],
    }  # fmt: skip
    assert result.resource_refs == ("chat:current#1:chars=0..7", "chat:current#0:chars=0..9")


def test_a_part_is_marked_as_one() -> None:
    result = chat_desk("one two three").call(READ, messages=[{"index": 0, "start_char": 4, "max_chars": 3}])

    (told,) = result.structured["messages"]
    assert result.content.endswith(
        "message 0 assistant chars 4-7 of 13, words 1 of 3, ref chat:current#0:chars=4..7 truncated\ntwo"
    )
    assert (told["text"], told["startChar"], told["endChar"], told["truncated"]) == ("two", 4, 7, True)


def test_a_message_may_be_asked_for_twice() -> None:
    items: list[Json] = [{"index": 0, "max_chars": 2}, {"index": 0, "start_char": 2}]

    result = chat_desk("abcd").call(READ, messages=items)

    assert [told["text"] for told in result.structured["messages"]] == ["ab", "cd"]


def test_an_empty_message_can_be_read() -> None:
    (told,) = chat_desk("").call(READ, messages=[{"index": 0}]).structured["messages"]

    assert (told["text"], told["totalChars"], told["truncated"]) == ("", 0, False)


def test_a_range_that_ends_past_the_text_ends_with_it() -> None:
    (told,) = (
        chat_desk("abc").call(READ, messages=[{"index": 0, "start_char": 1, "max_chars": 8000}]).structured["messages"]
    )

    assert (told["text"], told["endChar"]) == ("bc", 3)


def test_messages_after_the_runs_start_are_not_there() -> None:
    desk = chat_desk("one", "two", "old answer", visible=2)

    assert not desk.call(READ, messages=[{"index": 1}]).is_error
    assert code_and_words(desk, {"index": 1}, {"index": 2}) == (
        "chat.message_not_found", "The chat has no message 2: its messages have the indexes 0 to 1.",
    )  # fmt: skip
    assert "indexes" not in code_and_words(chat_desk(), {"index": 0})[1]


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ({"index": 0, "start_char": 8001}, "Message 0: start_char 8001 is past the end: it has 8001 characters"),
        ({"index": 1, "start_char": 1}, "Message 1: start_char 1 is past the end: it is empty"),
        ({"index": 0}, "Message 0 has 8001 characters"),
        ({"index": 0, "start_char": 8000}, "give start_char and max_chars"),
    ],
)
def test_a_range_that_can_not_be_read_is_told(item: Json, says: str) -> None:
    code, words = code_and_words(chat_desk("x" * 8001, ""), item)

    assert code == "chat.invalid_message_range"
    assert says in words


def test_one_call_reads_20000_characters() -> None:
    desk = chat_desk("x" * 8000, "x" * 4000, "x")

    result = desk.call(READ, messages=[{"index": 0}, {"index": 0}, {"index": 1}])
    assert sum(told["chars"] for told in result.structured["messages"]) == 20_000

    assert code_and_words(desk, {"index": 0}, {"index": 0}, {"index": 1}, {"index": 2})[0] == "chat.read_too_large"


def test_twenty_messages_at_once() -> None:
    desk = chat_desk(*("abc",) * 30)

    result = desk.call(READ, messages=[{"index": index} for index in range(20)])

    assert len(result.structured["messages"]) == 20


def test_a_chat_that_can_not_be_read_is_told_to_the_model() -> None:
    gone = MemoryChat()
    gone.messages = None

    assert code_and_words(Desk(), {"index": 0})[0] == "chat.not_found"
    assert code_and_words(Desk(chat=gone, chat_messages=1), {"index": 0})[0] == "chat.not_found"


def test_messages_that_are_gone_end_the_run() -> None:
    desk = Desk(chat=MemoryChat(said_by(0, "user", "a")), chat_messages=2)

    with pytest.raises(RunFailed) as failed:
        desk.call(READ, messages=[{"index": 0}])

    assert failed.value.error_code == "agent.input_history_conflict"


NUMBERS: list[Json] = [None, "1", 1.0, -1, True, [], {}]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (None, "object"),
        ("[", "object"),
        ([{"index": 0}], "object"),
        ({}, "messages is missing"),
        ({"messages": None}, "messages must be a list, not null"),
        ({"messages": {"index": 0}}, "messages must be a list"),
        ({"messages": "0"}, "messages must be a list"),
        ({"messages": []}, "messages must have at least 1 item, not 0"),
        ({"messages": [{"index": 0}] * 21}, "messages must have 1 to 20 items, not 21"),
        ({"messages": [{"index": 0}, 1]}, "messages[1] must be an object, not 1"),
        ({"messages": [None]}, "messages[0] must be an object, not null"),
        ({"messages": [{"index": 0}, {}]}, "messages[1].index is missing"),
        ({"messages": [{"index": 0, "max_chars": 0}]}, "messages[0].max_chars must be 1 to 8000, not 0"),
        ({"messages": [{"index": 0, "max_chars": 8001}]}, "messages[0].max_chars must be 1 to 8000"),
        *(({"messages": [{"index": 0, key: value}]}, f"messages[0].{key} must be a whole number") for key in ("index", "start_char", "max_chars") for value in NUMBERS),
    ],
)  # fmt: skip
def test_what_the_model_can_mend_is_told(arguments: Json, says: str) -> None:
    result = chat_desk("a").send(READ, arguments)

    assert (result.is_error, result.error_code) == (True, "tool.invalid_arguments")
    assert says in result.content


def test_fields_that_it_does_not_know_are_left_alone() -> None:
    assert not chat_desk("a").call(READ, messages=[{"index": 0, "role": "user"}], more=1).is_error
