"""What every chat reader does, wherever its chat is kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle.graph.errors import NotFound
from treadle.graph.ports import ChatHit, ChatMessage, ChatReader, ChatRole

MakeReader = Callable[[list[ChatMessage]], ChatReader]

LETTERS = 'abAB红门の猫ネコ👩🙂\u200d\u2028\n "\\ΣσςİıßẞÅ'
ROLES = st.sampled_from(["user", "assistant", "system"])


def said(*texts: str, role: ChatRole = "assistant") -> list[ChatMessage]:
    return [ChatMessage(index, role, text, "Wren", "today") for index, text in enumerate(texts)]


class ChatReaderContract:
    """A subclass gives `reader_of`, which makes a reader of a chat of these messages, and `gone`, of no chat."""

    def test_messages_are_read_by_their_indexes(self, reader_of: MakeReader) -> None:
        chat = said("one", "", "three\u2028\n\r")
        reader = reader_of(chat)

        assert reader.count() == 3
        assert reader.read([2, 0, 2]) == {0: chat[0], 2: chat[2]}
        assert reader.read([]) == {}

    def test_messages_that_do_not_exist_are_left_out(self, reader_of: MakeReader) -> None:
        assert reader_of(said("one")).read([0, 1, 10**9, -1]).keys() == {0}

    def test_a_chat_may_be_empty(self, reader_of: MakeReader) -> None:
        reader = reader_of([])

        assert (reader.count(), reader.read([0])) == (0, {})
        assert list(reader.search({"a": 1}, range(9), limit=5)) == []

    def test_the_heaviest_come_first_and_of_equals_the_newest(self, reader_of: MakeReader) -> None:
        reader = reader_of(said("red door", "red", "door", "red cat", "nothing", "DOOR red"))

        hits = reader.search({"red": 3, "door": 4}, range(6), limit=4)

        assert list(hits) == [ChatHit(5, 7), ChatHit(0, 7), ChatHit(2, 4), ChatHit(3, 3)]

    def test_only_the_range_and_the_role_are_searched(self, reader_of: MakeReader) -> None:
        chat = [ChatMessage(index, ("user", "assistant", "system")[index % 3], "red") for index in range(9)]
        reader = reader_of(chat)

        def found(within: range, role: ChatRole | None = None) -> list[int]:
            return [hit.index for hit in reader.search({"red": 3}, within, role=role, limit=9)]

        assert found(range(2, 5)) == [4, 3, 2]
        assert found(range(7, 99)) == [8, 7]
        assert found(range(5, 2)) == []
        assert found(range(9), "user") == [6, 3, 0]
        assert found(range(1, 9), "system") == [8, 5, 2]

    def test_no_words_find_nothing(self, reader_of: MakeReader) -> None:
        assert list(reader_of(said("a")).search({}, range(1), limit=5)) == []

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors])
    @given(
        chat=st.lists(st.tuples(ROLES, st.text(LETTERS, max_size=12)), max_size=40),
        words=st.dictionaries(st.text(LETTERS, min_size=1, max_size=3).map(str.lower), st.integers(1, 8), max_size=6),
        within=st.tuples(st.integers(0, 45), st.integers(0, 45)).map(lambda ends: range(*ends)),
        role=st.none() | ROLES,
        limit=st.integers(1, 6),
    )
    def test_a_search_finds_what_a_plain_look_at_every_message_finds(
        self,
        reader_of: MakeReader,
        chat: list[tuple[ChatRole, str]],
        words: dict[str, int],
        within: range,
        role: ChatRole | None,
        limit: int,
    ) -> None:
        plain: list[tuple[int, int]] = []
        for index in within:
            if index < len(chat) and role in (None, chat[index][0]):
                weight = sum(weight for word, weight in words.items() if word in chat[index][1].lower())
                plain += [(weight, index)] if weight else []

        hits = reader_of([ChatMessage(index, *each) for index, each in enumerate(chat)]).search(
            words, within, role=role, limit=limit
        )

        assert [(hit.weight, hit.index) for hit in hits] == sorted(plain, reverse=True)[:limit]

    def test_a_chat_that_is_not_there_is_told(self, gone: ChatReader) -> None:
        for call in (gone.count, lambda: gone.read([0]), lambda: gone.search({"a": 1}, range(1), limit=1)):
            with pytest.raises(NotFound) as told:
                call()
            assert told.value.error_code == "chat.not_found"
