from __future__ import annotations

import pytest

from tests.nodes.desk import Desk, chat_desk, said_by
from treadle.graph.errors import InvalidData, NotFound, RunFailed
from treadle.graph.jsontext import Json
from treadle.graph.ports import ChatMessage, ChatReader
from treadle.testkit.chat import MemoryChat

SEARCH = "chat.search"


def found(desk: Desk, query: str, **more: Json) -> list[int]:
    return [hit["index"] for hit in desk.call(SEARCH, query=query, **more).structured["hits"]]


def test_a_hit_shows_its_message_score_and_reference() -> None:
    desk = chat_desk("It rains.", said_by(1, "user", "I open the Red door.", "Ada"))

    result = desk.call(SEARCH, query=" red GATE door ")

    snippet = "I open the Red door."
    assert result.structured == {
        "query": "red GATE door",
        "hits": [
            {
                "index": 1, "role": "user", "score": 7 / 11, "snippet": snippet, "chars": 20, "words": 5,
                "ref": "chat:current#1",
            }
        ],
    }  # fmt: skip
    assert result.content.startswith('1 message found for "red GATE door". ')
    assert "chat_read_messages" in result.content
    assert result.content.endswith(f"\n\nmessage 1 user score 0.636 ref chat:current#1\n{snippet}")
    assert result.resource_refs == ("chat:current#1",)


def test_better_messages_come_first_then_newer_ones() -> None:
    desk = chat_desk("red", "red door", "door", "red", "DOOR red")

    assert found(desk, "red door") == [4, 1, 2, 3, 0]
    assert found(desk, "red door", limit=2) == [4, 1]
    assert desk.call(SEARCH, query="red door").content.count("\n\nmessage ") == 5


def test_one_word_is_found_by_parts_of_it_too() -> None:
    desk = chat_desk("他的门是红色的", "红色的门", "nothing")

    hits = desk.call(SEARCH, query="红色的门").structured["hits"]

    assert [(hit["index"], hit["score"]) for hit in hits] == [(1, 1.0), (0, 0.6)]


@pytest.mark.parametrize(("query", "index"), [("ネコ", 0), ("門", 1), ("СОФИЯ", 2), ("ẞ", 3), ("한국", 4), ("ΟΔΌΣ", 5)])
def test_texts_of_all_scripts_are_found_in_any_letter_case(query: str, index: int) -> None:
    assert found(chat_desk("黒いネコがいる", "赤い門", "София вошла", "Straße", "한국어", "η οδός"), query) == [index]


@pytest.mark.parametrize("query", ["absent", "?!", "👩‍👩‍👧"])
def test_nothing_found_is_a_success(query: str) -> None:
    result = chat_desk("text 👩‍👩‍👧 ?!").call(SEARCH, query=query)

    assert not result.is_error
    assert (result.structured, result.resource_refs) == ({"query": query, "hits": []}, ())
    assert "\n" not in result.content


@pytest.mark.parametrize(
    ("more", "indexes"),
    [
        ({}, [8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ({"start_message": 6}, [8, 7, 6]),
        ({"start_message": 0, "end_message": 0}, [0]),
        ({"start_message": 3, "end_message": 5}, [5, 4, 3]),
        ({"end_message": 10**12}, [8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ({"start_message": 9}, []),
        ({"start_message": 10**12}, []),
        ({"scan_limit": 2}, [8, 7]),
        ({"scan_limit": 100_000}, [8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ({"scan_limit": 4, "end_message": 6}, [6, 5]),
        ({"scan_limit": 4, "role": "user"}, [6]),
        ({"role": " USER "}, [6, 3, 0]),
        ({"role": "assistant", "limit": 1}, [7]),
        ({"role": "System", "start_message": 3}, [8, 5]),
    ],
)
def test_only_what_was_asked_for_is_searched(more: dict[str, Json], indexes: list[int]) -> None:
    messages = [said_by(index, ("user", "assistant", "system")[index % 3], "red") for index in range(9)]

    assert found(chat_desk(*messages), "red", **more) == indexes


def test_messages_after_the_runs_start_are_not_there() -> None:
    desk = chat_desk("red one", "red two", "red answer", "red more", visible=2)

    assert found(desk, "red") == [1, 0]
    assert found(desk, "red", scan_limit=1) == [1]
    assert found(desk, "red", start_message=2) == []
    assert found(desk, "answer") == []


@pytest.mark.parametrize(
    ("text", "snippet"),
    [
        ("x" * 196 + "door", "x" * 196 + "door"),
        ("x" * 197 + "door", "..." + ("x" * 40) + "door"),
        ("door" + "x" * 197, "door" + "x" * 196 + "..."),
        ("x" * 100 + "door" + "y" * 400, "..." + "x" * 40 + "door" + "y" * 156 + "..."),
        ("or " + "x" * 300 + "DOOR" + "y" * 400, "..." + "x" * 40 + "DOOR" + "y" * 156 + "..."),
        ("İ" * 100 + "door" + "y" * 400, "..." + "İ" * 40 + "door" + "y" * 156 + "..."),
        ("门" * 300 + "door", "..." + "门" * 40 + "door"),
    ],
)
def test_of_a_long_message_200_characters_around_the_match_are_shown(text: str, snippet: str) -> None:
    assert chat_desk(text).call(SEARCH, query="door").structured["hits"][0]["snippet"] == snippet


class TestWithoutAChat:
    def test_no_host_that_can_read_it_is_told_to_the_model(self) -> None:
        result = Desk().call(SEARCH, query="a")

        assert (result.is_error, result.error_code) == (True, "chat.not_found")
        assert "hosts this run" in result.content

    def test_a_chat_that_is_gone_is_told_to_the_model(self) -> None:
        gone = MemoryChat()
        gone.messages = None

        assert Desk(chat=gone, chat_messages=3).call(SEARCH, query="a").error_code == "chat.not_found"

    def test_messages_that_are_gone_end_the_run(self) -> None:
        desk = Desk(chat=MemoryChat(said_by(0, "user", "a")), chat_messages=2)

        with pytest.raises(RunFailed, match=r"had 2 messages .* has 1 now") as failed:
            desk.call(SEARCH, query="a")

        assert failed.value.error_code == "agent.input_history_conflict"

    @pytest.mark.parametrize("fault", [InvalidData("line 4 is not JSON"), NotFound("gone")])
    def test_what_the_arguments_lack_is_told_first(self, fault: Exception) -> None:
        class Broken(MemoryChat):
            def count(self) -> int:
                raise fault

        assert Desk(chat=Broken()).send(SEARCH, {}).error_code == "tool.invalid_arguments"


def test_a_damaged_chat_ends_the_run() -> None:
    class Damaged(MemoryChat):
        def count(self) -> int:
            raise InvalidData("line 4 is not JSON")

    chat: ChatReader = Damaged(ChatMessage(0, "user", "a"))
    with pytest.raises(InvalidData, match="line 4"):
        Desk(chat=chat, chat_messages=1).call(SEARCH, query="a")


NUMBERS: list[Json] = [None, "1", 1.0, -1, True, [], {}]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (None, "object"),
        ("{", "object"),
        ([], "object"),
        ({}, "query is missing"),
        ({"query": None}, "query must be a string, not null"),
        ({"query": 3}, "query must be a string"),
        ({"query": ["a"]}, "query must be a string"),
        ({"query": ""}, "query must not be blank"),
        ({"query": " \n\u3000"}, "query must not be blank"),
        ({"query": "a\ud800"}, "lone surrogate"),
        *(({"query": "a", key: value}, f"{key} must be a whole number") for key in ("limit", "start_message", "end_message", "scan_limit") for value in NUMBERS),
        ({"query": "a", "limit": 0}, "limit must be 1 to 50, not 0"),
        ({"query": "a", "limit": 51}, "limit must be 1 to 50, not 51"),
        ({"query": "a", "scan_limit": 0}, "scan_limit must be 1 to 100000, not 0"),
        ({"query": "a", "scan_limit": 100_001}, "scan_limit must be 1 to 100000"),
        ({"query": "a", "start_message": 2, "end_message": 1}, "start_message 2 comes after end_message 1"),
        ({"query": "a", "role": None}, "role must be a string, not null"),
        ({"query": "a", "role": 1}, "role must be a string"),
        ({"query": "a", "role": ""}, "role must be one of user, assistant, system"),
        ({"query": "a", "role": "char"}, 'role must be one of user, assistant, system, not "char"'),
    ],
)  # fmt: skip
def test_what_the_model_can_mend_is_told(arguments: Json, says: str) -> None:
    result = chat_desk("a", "a", "a").send(SEARCH, arguments)

    assert (result.is_error, result.error_code) == (True, "tool.invalid_arguments")
    assert says in result.content


def test_fields_that_it_does_not_know_are_left_alone() -> None:
    assert found(chat_desk("a"), "a", case_sensitive=True, limit=50, scan_limit=100_000) == [0]
