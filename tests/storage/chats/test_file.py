"""Chat files keep every byte that no save was about."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import HostFailed, InvalidData, NotFound
from treadle.graph.jsontext import dumps, loads
from treadle.storage.chats.file import ChatFile, Message
from treadle.storage.disk import RealDisk
from treadle.testkit.faults import FaultyDisk

from .samples import GREETING, HEADER, QUESTION, chat_bytes

BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all examples of a property."""
    return tmp_path_factory.mktemp("scratch") / "tea.jsonl"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tea.jsonl"


def texts(path: Path) -> list[str]:
    with ChatFile(path).opened() as chat:
        chat.header()
        return [chat.message(line)["mes"] for line in chat.lines()]


def append(path: Path, message: Message) -> None:
    with ChatFile(path).opened(to_save=True) as chat:
        chat.append(chat.cursor(), message)


def rewrite_last(path: Path, message: Message) -> None:
    with ChatFile(path).opened(to_save=True) as chat:
        *_, last = chat.lines()
        chat.rewrite(chat.cursor(last), message)


def test_messages_are_counted_without_header_and_blank_lines(path: Path) -> None:
    path.write_bytes(chat_bytes(GREETING).replace(b"\n", b"\n\n  \n") + dumps(QUESTION))

    with ChatFile(path).opened() as chat:
        found = [(line.index, chat.message(line)["mes"]) for line in chat.lines()]

    assert found == [(0, "The kettle sings."), (1, "Who is at the door?")]


def test_a_window_is_read_by_its_indexes(path: Path) -> None:
    path.write_bytes(chat_bytes(*({**GREETING, "mes": str(number)} for number in range(9))))

    with ChatFile(path).opened() as chat:
        found = [line.index for line in chat.lines(3, 6)]

    assert found == [3, 4, 5]


def test_line_separators_inside_a_text_end_no_line(path: Path) -> None:
    odd = "one\u2028two\u2029three\x85four\x0bfive\x0csix\rseven"
    path.write_bytes(chat_bytes({**GREETING, "mes": odd}))

    assert texts(path) == [odd]


def test_a_byte_order_mark_hides_nothing_and_stays(path: Path) -> None:
    before = BOM + chat_bytes(GREETING)
    path.write_bytes(before)

    append(path, QUESTION)

    assert path.read_bytes() == before + dumps(QUESTION) + b"\n"
    assert texts(path) == ["The kettle sings.", "Who is at the door?"]


def test_new_lines_end_as_the_files_own_do(path: Path) -> None:
    before = chat_bytes(GREETING).replace(b"\n", b"\r\n")
    path.write_bytes(before)

    append(path, QUESTION)
    rewrite_last(path, {**QUESTION, "mes": "Again?"})

    assert path.read_bytes() == before + dumps({**QUESTION, "mes": "Again?"}) + b"\r\n"


def test_a_file_without_a_newline_at_its_end_stays_so(path: Path) -> None:
    before = chat_bytes(GREETING).removesuffix(b"\n")
    path.write_bytes(before)

    append(path, QUESTION)
    rewrite_last(path, {**QUESTION, "mes": "Again?"})

    assert path.read_bytes() == before + b"\n" + dumps({**QUESTION, "mes": "Again?"})


def test_a_line_in_the_middle_can_be_rewritten(path: Path) -> None:
    path.write_bytes(chat_bytes(GREETING, QUESTION, GREETING))

    with ChatFile(path).opened(to_save=True) as chat:
        chat.rewrite(chat.cursor(next(chat.lines(1))), {"mes": "x"})

    assert path.read_bytes() == chat_bytes(GREETING, {"mes": "x"}, GREETING)


def test_big_numbers_and_unknown_keys_of_a_changed_message_stay(path: Path) -> None:
    line = b'{"zeta":123456789012345678901234567890,"mes":"a","alpha":[1.5,null,"\\ud800"]}'
    path.write_bytes(chat_bytes() + line)

    with ChatFile(path).opened(to_save=True) as chat:
        last = next(chat.lines())
        chat.rewrite(chat.cursor(last), {**chat.message(last), "mes": "b"})

    assert path.read_bytes() == chat_bytes() + line.replace(b'"a"', b'"b"')


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty"),
        (b'{"user_name":"U","c\n{}\n', "line 1 is not JSON"),
        (b"[]\n", "line 1 is not a JSON object"),
        (dumps(GREETING) + b"\n", "Line 1 .* is not a chat header"),
        (b'{"chat_metadata":"x"}\n', "Line 1 .* is not a chat header"),
        (b"\xff\xfe{}\n", "line 1 is not JSON"),
        (chat_bytes(GREETING, QUESTION) + b'{"name":"W","is_user":fal', "line 4 is not JSON"),
        (chat_bytes(GREETING) + b'\n\n"text"\n' + dumps(QUESTION), "line 5 is not a JSON object"),
        (chat_bytes(GREETING) + b'{"mes":"\xff"}\n', "line 3 is not JSON"),
        (chat_bytes() + b"[" * 100_000 + b"\n", "line 2 is not JSON"),
    ],
)
def test_damage_is_told_by_its_line_and_changes_nothing(path: Path, content: bytes, fault: str) -> None:
    path.write_bytes(content)

    with pytest.raises(InvalidData, match=fault) as told:
        texts(path)

    assert str(path) in told.value.message
    assert path.read_bytes() == content


def test_a_missing_chat_is_told(path: Path) -> None:
    with pytest.raises(NotFound, match=re.escape(str(path))):
        texts(path)


def test_an_old_header_without_metadata_is_one(path: Path) -> None:
    path.write_bytes(b'{"user_name":"U","character_name":"C","create_date":"x"}\n')

    assert texts(path) == []


@pytest.mark.parametrize("save", [append, rewrite_last])
def test_a_chat_that_another_program_changed_meanwhile_is_not_saved(
    path: Path, save: Callable[[Path, Message], None]
) -> None:
    path.write_bytes(chat_bytes(GREETING))
    other = chat_bytes(GREETING, QUESTION)
    with ChatFile(path).opened(to_save=True) as chat:
        line = next(chat.lines())
        path.write_bytes(other)

        with pytest.raises(HostFailed) as refused:
            if save is append:
                chat.append(chat.cursor(), GREETING)
            else:
                chat.rewrite(chat.cursor(line), GREETING)

    assert refused.value.error_code == "commit.cursor_integrity"
    assert path.read_bytes() == other


def test_a_cursor_from_before_is_refused_though_the_size_is_the_same(path: Path) -> None:
    path.write_bytes(chat_bytes(GREETING))
    with ChatFile(path).opened() as chat:
        old = chat.cursor()
    os.utime(path, ns=(0, old.modified_ns + 1))

    with ChatFile(path).opened(to_save=True) as chat, pytest.raises(HostFailed) as refused:
        chat.append(old, QUESTION)

    assert refused.value.error_code == "commit.cursor_integrity"


@pytest.mark.parametrize("save", [append, rewrite_last])
def test_a_full_disk_leaves_the_chat_as_it_was(path: Path, save: Callable[[Path, Message], None]) -> None:
    before = chat_bytes(GREETING)
    path.write_bytes(before)
    disk = FaultyDisk(RealDisk())
    disk.fail("replace", error=errno.ENOSPC)

    with ChatFile(path, disk).opened(to_save=True) as chat, pytest.raises(HostFailed) as refused:
        if save is append:
            chat.append(chat.cursor(), QUESTION)
        else:
            chat.rewrite(chat.cursor(next(chat.lines())), QUESTION)

    assert refused.value.error_code == "commit.save_failed"
    assert "as it was" in refused.value.message
    assert path.read_bytes() == before


def test_an_append_puts_a_whole_file_in_place_so_that_no_crash_leaves_half_a_line(path: Path) -> None:
    path.write_bytes(chat_bytes(GREETING))
    disk = FaultyDisk(RealDisk())

    with ChatFile(path, disk).opened(to_save=True) as chat:
        chat.append(chat.cursor(), QUESTION)

    assert [(touch.operation, touch.size) for touch in disk.log] == [("replace", len(chat_bytes(GREETING, QUESTION)))]


def test_a_rewrite_keeps_permissions_and_a_link_and_clears_what_a_crash_left(tmp_path: Path) -> None:
    real = tmp_path / "real.jsonl"
    real.write_bytes(chat_bytes(GREETING))
    real.chmod(0o640)
    link = tmp_path / "link.jsonl"
    link.symlink_to(real)
    (tmp_path / "real.jsonl.0123456789abcdef.tmp").write_bytes(b"half a ch")

    rewrite_last(link, QUESTION)

    assert link.is_symlink()
    assert real.read_bytes() == chat_bytes(QUESTION)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link.jsonl", "real.jsonl"]


def test_messages_are_read_backwards_over_many_blocks(path: Path) -> None:
    sizes = [1, 70_000, 3, 65_536, 200_000, 5]
    messages = [{**GREETING, "mes": f"{number}" + "é" * size} for number, size in enumerate(sizes)]
    path.write_bytes(chat_bytes(*messages).replace(b"\n", b"\r\n\r\n"))

    with ChatFile(path).opened() as chat:
        found = list(chat.newest_first())

    assert found == messages[::-1]


ODD_LINES = st.lists(
    st.one_of(
        st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"")),
        st.dictionaries(st.text(max_size=4), st.text(max_size=8), max_size=3).map(dumps),
        st.sampled_from([b"", b" ", b"\r", b"\xe2\x80\xa8", b"\x85", b"\x0c", BOM, b"{}\r", b"\x00"]),
    ),
    max_size=8,
)


@given(before=ODD_LINES, after=ODD_LINES, newline=st.booleans(), bom=st.booleans(), text=st.text())
def test_untouched_lines_stay_byte_for_byte(
    scratch: Path, before: list[bytes], after: list[bytes], newline: bool, bom: bool, text: str
) -> None:
    head = b"".join(line + b"\n" for line in (BOM * bom + dumps(HEADER), *before))
    tail = b"\n" + b"\n".join(after) + b"\n" * newline
    scratch.write_bytes(head + dumps(GREETING) + tail)
    message = {**QUESTION, "mes": text}

    with ChatFile(scratch).opened(to_save=True) as chat:
        target = next(line for line in chat.lines() if line.offset == len(head))
        chat.rewrite(chat.cursor(target), message)
    rewritten = scratch.read_bytes()
    append(scratch, message)
    appended = scratch.read_bytes()

    assert rewritten == head + dumps(message) + tail
    assert appended.startswith(rewritten)
    assert loads(appended[len(rewritten) :]) == message
    with ChatFile(scratch).opened() as chat:
        *_, last = chat.lines()
        assert chat.message(last) == message


@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 65_400, 65_436, 65_437, 131_000, 140_000]), max_size=5),
    blank=st.sampled_from([b"", b"\n", b" \r\n", b" " * 65_536 + b"\n"]),
    newline=st.sampled_from([b"\n", b"\r\n"]),
    last_newline=st.booleans(),
)
def test_backwards_is_forwards_reversed(
    scratch: Path, sizes: list[int], blank: bytes, newline: bytes, last_newline: bool
) -> None:
    lines = [dumps(HEADER), *(dumps({"mes": f"{number}" + "x" * size}) for number, size in enumerate(sizes))]
    scratch.write_bytes((newline + blank).join(lines) + (newline + blank) * last_newline)

    with ChatFile(scratch).opened() as chat:
        forwards = [chat.message(line) for line in chat.lines()]
        found = list(chat.newest_first())

    assert len(forwards) == len(sizes)
    assert found == forwards[::-1]
