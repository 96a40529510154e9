"""A chat file is read by window, searched by what is kept of it, and never trusted to be what it was."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import InvalidData, StorageFailed, TreadleError
from treadle.graph.jsontext import Json, dumps
from treadle.graph.ports import ChatMessage, ChatReader
from treadle.storage.chats.blocks import MESSAGES
from treadle.storage.chats.file import ChatFile, Message
from treadle.storage.chats.reader import FileChatReader

from .reader_contract import ChatReaderContract, MakeReader
from .samples import GREETING, HEADER, QUESTION, chat_bytes

BOM = b"\xef\xbb\xbf"
HEAD = dumps(HEADER) + b"\n"


def line(text: Json, **more: Json) -> bytes:
    return dumps({"name": "Wren", "is_user": False, "mes": text, **more}) + b"\n"


def texts(reader: ChatReader) -> list[str]:
    return [message.text for message in reader.read(range(reader.count())).values()]


def found(reader: ChatReader, *words: str, limit: int = 50) -> list[int]:
    return [hit.index for hit in reader.search(dict.fromkeys(words, 1), range(10**9), limit=limit)]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all examples of a property."""
    return tmp_path_factory.mktemp("scratch") / "tea.jsonl"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tea.jsonl"


@pytest.fixture
def reader(path: Path) -> FileChatReader:
    return FileChatReader(ChatFile(path))


class TestFileChatReader(ChatReaderContract):
    @pytest.fixture
    def reader_of(self, path: Path) -> MakeReader:
        def make(messages: list[ChatMessage]) -> FileChatReader:
            lines = (
                line(
                    message.text,
                    name=message.name,
                    is_user=message.role == "user",
                    is_system=message.role == "system",
                    send_date=message.send_date,
                )
                for message in messages
            )
            path.write_bytes(HEAD + b"".join(lines))
            return FileChatReader(ChatFile(path))

        return make

    @pytest.fixture
    def gone(self, path: Path) -> ChatReader:
        return FileChatReader(ChatFile(path))


@pytest.mark.parametrize(
    "content",
    [
        BOM + HEAD + line("one") + line("two"),
        (HEAD + line("one") + line("two")).replace(b"\n", b"\r\n"),
        b"\n \r\n" + HEAD + b"\n\n" + line("one") + b"  \n\r\n" + line("two") + b"\n\n",
        HEAD + line("one") + line("two").removesuffix(b"\n"),
        dumps({**HEADER, "chat_metadata": {}}) + b"\n" + line("one") + line("two"),
        b'{"user_name":"U","character_name":"C","create_date":"x"}\n' + line("one") + line("two"),
        HEAD + line("one", swipes=None, swipe_id="x") + line("two", swipes=[1, None], swipe_id=9, swipe_info={}),
    ],
    ids=["BOM", "CRLF", "blank lines", "no newline", "no integrity", "old header", "odd swipes"],
)
def test_the_ways_of_a_file_change_nothing(path: Path, reader: FileChatReader, content: bytes) -> None:
    path.write_bytes(content)

    assert texts(reader) == ["one", "two"]
    assert found(reader, "o") == [1, 0]
    assert path.read_bytes() == content


def test_line_separators_inside_a_text_end_no_line(path: Path, reader: FileChatReader) -> None:
    odd = "one\u2028two\u2029three\x85four\x0bfive\x0csix\rseven"
    path.write_bytes(HEAD + line(odd) + line("door"))

    assert texts(reader) == [odd, "door"]
    assert found(reader, "\u2028two\u2029") == [0]


@pytest.mark.parametrize(
    ("given_value", "shown"),
    [
        (None, None),
        ("", ""),
        ("Wren", "Wren"),
        (1683000000000, "1683000000000"),
        (True, None),
        (["x"], None),
        (1.5, None),
    ],
)
def test_names_and_dates_are_told_where_they_are_some(
    path: Path, reader: FileChatReader, given_value: Json, shown: str | None
) -> None:
    path.write_bytes(HEAD + line("x", name=given_value, send_date=given_value))

    assert reader.read([0])[0] == ChatMessage(0, "assistant", "x", shown, shown)


def test_a_message_without_a_name_date_or_role_is_a_characters(path: Path, reader: FileChatReader) -> None:
    path.write_bytes(HEAD + b'{"mes":"x"}\n{"mes":"y","is_user":true,"is_system":true}\n{"mes":"z","is_system":true}')

    assert list(reader.read(range(3)).values()) == [
        ChatMessage(0, "assistant", "x"), ChatMessage(1, "user", "y"), ChatMessage(2, "system", "z"),
    ]  # fmt: skip


def test_half_a_character_is_read_and_found_beside(path: Path, reader: FileChatReader) -> None:
    path.write_bytes(HEAD + b'{"mes":"red \\ud800 door"}\n')

    assert texts(reader) == ["red \ud800 door"]
    assert found(reader, "door") == [0]


class TestByWindow:
    """Every line that is not asked for is no JSON: were it parsed, the call would fail."""

    def test_one_message_near_the_end_of_many(self, path: Path, reader: FileChatReader) -> None:
        path.write_bytes(HEAD + b"damaged\n" * 99_990 + line("here") + b"damaged\n" * 9)

        assert reader.read([99_990])[99_990].text == "here"
        assert (reader.count(), reader.parsed) == (100_000, 1)

    def test_the_last_fifty(self, path: Path, reader: FileChatReader) -> None:
        path.write_bytes(HEAD + b"damaged\n" * 99_950 + b"".join(line(str(number)) for number in range(50)))

        window = reader.read(range(99_950, 100_000))

        assert [message.text for message in window.values()] == [str(number) for number in range(50)]
        assert reader.parsed == 50

    def test_a_search_of_the_newest(self, path: Path, reader: FileChatReader) -> None:
        path.write_bytes(HEAD + b"damaged\n" * 3 * MESSAGES + line("red door") * 100)

        hits = reader.search({"red": 3}, range(3 * MESSAGES, 3 * MESSAGES + 80), limit=50)

        assert [hit.index for hit in hits] == list(range(3 * MESSAGES + 79, 3 * MESSAGES + 29, -1))
        assert reader.parsed == 80

    def test_a_search_ends_when_nothing_older_can_be_better(self, path: Path, reader: FileChatReader) -> None:
        path.write_bytes(HEAD + b"damaged\n" * 3 * MESSAGES + line("red door") * MESSAGES)

        assert len(found(reader, "red", "door")) == 50
        assert reader.parsed == MESSAGES

    def test_lines_past_the_range_may_be_half_written(self, path: Path, reader: FileChatReader) -> None:
        path.write_bytes(HEAD + line("red") + b'{"mes":"re')

        assert [hit.index for hit in reader.search({"red": 1}, range(1), limit=5)] == [0]
        assert reader.count() == 2


class TestKept:
    """What a second search costs; `parsed` counts the lines."""

    @pytest.fixture
    def before(self, path: Path, reader: FileChatReader) -> list[bytes]:
        lines = [line(f"red {number}") for number in range(2 * MESSAGES + 10)]
        path.write_bytes(HEAD + b"".join(lines))
        assert len(found(reader, "red", "none")) == 50
        assert reader.parsed == len(lines)
        return lines

    def parsed_for(self, reader: FileChatReader) -> int:
        was = reader.parsed
        found(reader, "red", "none")
        return reader.parsed - was

    def test_nothing_is_parsed_again(self, before: list[bytes], reader: FileChatReader) -> None:
        assert self.parsed_for(reader) == 0

    def test_messages_added_cost_the_last_block(self, path: Path, before: list[bytes], reader: FileChatReader) -> None:
        with path.open("ab") as file:
            file.write(line("blue"))

        assert found(reader, "blue") == [len(before)]
        assert self.parsed_for(reader) == 0
        assert reader.parsed == len(before) + 10 + 1

    def test_a_changed_last_message_costs_the_last_block(
        self, path: Path, before: list[bytes], reader: FileChatReader
    ) -> None:
        path.write_bytes(HEAD + b"".join(before[:-1]) + line("blue"))

        assert self.parsed_for(reader) == 10
        assert found(reader, "blue") == [len(before) - 1]

    def test_another_header_costs_the_last_block(self, path: Path, before: list[bytes], reader: FileChatReader) -> None:
        path.write_bytes(dumps({**HEADER, "more": "x" * 99}) + b"\r\n" + b"".join(before))

        assert self.parsed_for(reader) == 10
        assert texts(reader) == [f"red {number}" for number in range(len(before))]

    def test_a_message_changed_in_the_middle_costs_what_comes_from_it_on(
        self, path: Path, before: list[bytes], reader: FileChatReader
    ) -> None:
        before[MESSAGES + 5] = line("blue")
        path.write_bytes(HEAD + b"".join(before))

        assert self.parsed_for(reader) == MESSAGES + 10
        assert found(reader, "blue") == [MESSAGES + 5]

    def test_a_message_removed_shifts_the_indexes(
        self, path: Path, before: list[bytes], reader: FileChatReader
    ) -> None:
        path.write_bytes(HEAD + line("blue") + b"".join(before[2:]))

        assert reader.count() == len(before) - 1
        assert found(reader, "blue") == [0]
        assert reader.read([1])[1].text == "red 2"

    def test_an_edit_of_the_same_size_is_seen(self, path: Path, before: list[bytes], reader: FileChatReader) -> None:
        status = path.stat()
        path.write_bytes(path.read_bytes().replace(b'"red 7"', b'"sea 7"'))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

        assert found(reader, "sea") == [7]

    def test_a_chat_put_in_its_place_is_another(self, path: Path, before: list[bytes], reader: FileChatReader) -> None:
        other = path.with_name("other")
        other.write_bytes(HEAD + line("blue"))
        other.replace(path)

        assert (texts(reader), found(reader, "red")) == (["blue"], [])

    def test_a_chat_that_grows_shorter_and_empty_is_followed(
        self, path: Path, before: list[bytes], reader: FileChatReader
    ) -> None:
        path.write_bytes(HEAD)

        assert (reader.count(), found(reader, "red")) == (0, [])

    @pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
    def test_a_full_block_whose_last_line_may_still_grow_is_not_kept(
        self, path: Path, reader: FileChatReader, end: bytes
    ) -> None:
        lines = line("red") * (MESSAGES - 1) + line("red").removesuffix(b"\n")
        path.write_bytes(HEAD + lines + end)
        assert reader.count() == MESSAGES

        path.write_bytes(HEAD + lines + (end or b" ") + line("blue"))

        if end:
            assert found(reader, "blue") == [MESSAGES]
        else:
            with pytest.raises(InvalidData, match=f"line {MESSAGES + 1} is not JSON"):
                found(reader, "blue")


DAMAGED = [
    (b"", "line 1"),
    (b"[]\n", "line 1 is not a JSON object"),
    (line("one"), "Line 1 .* is not a chat header"),
    (HEAD + line("one") + b'{"mes":"tw', "line 3 is not JSON"),
    (HEAD + b"\n\n" + b'"text"\n', "line 4 is not a JSON object"),
    (HEAD + b'{"mes":"\xff"}\n', "line 2 is not JSON"),
    (HEAD + b"[" * 100_000, "line 2 is not JSON"),
    (HEAD + line(None), "line 2 has no text: its mes is not a string"),
    (HEAD + line("one") + line(7), "line 3 has no text"),
    (HEAD + line("one") + b"{}\n", "line 3 has no text"),
]


def search_all(reader: ChatReader) -> list[int]:
    return found(reader, "zz")


@pytest.mark.parametrize("call", [texts, search_all])
@pytest.mark.parametrize(("content", "fault"), DAMAGED)
def test_damage_is_told_by_its_line_and_changes_nothing(
    path: Path, reader: FileChatReader, content: bytes, fault: str, call: Callable[[ChatReader], object]
) -> None:
    path.write_bytes(content)

    for _ in range(2):
        with pytest.raises(InvalidData, match=fault) as told:
            call(reader)
        assert str(path) in told.value.message
    assert path.read_bytes() == content


def test_a_mended_chat_is_read_again(path: Path, reader: FileChatReader) -> None:
    path.write_bytes(HEAD + line("red") + b"red\n")
    with pytest.raises(InvalidData):
        found(reader, "red")

    path.write_bytes(HEAD + line("red") + line("red"))

    assert found(reader, "red") == [1, 0]


def test_a_folder_in_the_files_place_is_told(path: Path, reader: FileChatReader) -> None:
    path.mkdir()

    with pytest.raises(StorageFailed, match=re.escape(str(path))):
        reader.count()


ODD_LINES = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.dictionaries(st.sampled_from(["mes", "name", "is_user", "x"]), st.text(max_size=8) | st.none(), max_size=3).map(dumps),
        st.tuples(st.binary(max_size=3), st.integers(0, 60)).map(lambda cut: line("a red door")[cut[1] :] + cut[0]),
        st.sampled_from([b"", b" ", b"\r", BOM, b"{}", b"\x00", b'{"mes":NaN}', b'{"mes":"\\ud800"}', b'{"mes":["x"]}']),
        st.just(line("red").removesuffix(b"\n")),
    ),
    max_size=8,
)  # fmt: skip


@given(lines=ODD_LINES, whole=st.booleans(), cut=st.integers(0, 5))
def test_any_file_is_read_or_its_line_is_named(scratch: Path, lines: list[bytes], whole: bool, cut: int) -> None:
    content = (HEAD * whole + b"\n".join(lines))[: -cut or None]
    scratch.write_bytes(content)
    reader = FileChatReader(ChatFile(scratch))

    for call in (lambda: texts(reader), lambda: found(reader, "red", "zz")):
        try:
            call()
        except TreadleError as error:
            assert isinstance(error, InvalidData)
            assert re.search(r"[Ll]ine \d+ ", error.message)
    assert scratch.read_bytes() == content


@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 8),
            st.lists(st.sampled_from(["red", "blue door", "红门", "猫"]), max_size=5),
            st.sampled_from([HEAD, HEAD + b"\n", dumps({**HEADER, "n": 1}) + b"\r\n"]),
        ),
        max_size=5,
    )
)
def test_a_reader_that_followed_every_change_tells_what_a_new_one_does(
    scratch: Path, steps: list[tuple[int, list[str], bytes]]
) -> None:
    """Blocks of 1,024 are crossed: each message stands for 300."""
    scratch.write_bytes(HEAD)
    reader = FileChatReader(ChatFile(scratch))
    held: list[str] = []
    for keep, added, head in steps:
        held = held[:keep] + added
        scratch.write_bytes(head + b"".join(line(text) * 300 for text in held))
        fresh = FileChatReader(ChatFile(scratch))

        assert reader.count() == fresh.count() == 300 * len(held)
        for words in (("red",), ("红", "door"), ("blue", "r", "门")):
            assert found(reader, *words) == found(fresh, *words)


def test_the_samples_are_chats(path: Path, reader: FileChatReader) -> None:
    message: Message = {**GREETING, "mes": "é"}
    path.write_bytes(chat_bytes(message, QUESTION))

    assert texts(reader) == ["é", "Who is at the door?"]
