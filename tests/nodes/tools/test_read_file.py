from __future__ import annotations

import hashlib

import pytest

from tests.nodes.desk import desk, profile
from treadle.graph.jsontext import Json

READ = "workspace.read_file"
FILE = "output/main.md"


def lines(count: int, text: str = "x") -> str:
    return "\n".join([text] * count)


def test_a_whole_file_is_shown_with_numbers_sizes_and_hash() -> None:
    digest = hashlib.sha256(b"one two\nthree\n").hexdigest()

    result = desk({FILE: "one two\nthree\n"}).call(READ, path=FILE)

    assert result.content == (
        f"{FILE} lines 1-3 of 3, chars 0-14 of 14, words 3 of 3, sha256 {digest}\n1 | one two\n2 | three\n3 | "
    )
    assert result.structured == {
        "path": FILE, "sha256": digest, "totalLines": 3, "startLine": 1, "endLine": 3, "chars": 14, "words": 3,
        "totalChars": 14, "totalWords": 3, "startChar": 0, "endChar": 14, "truncated": False, "fullRead": True,
    }  # fmt: skip
    assert result.resource_refs == (FILE,)


def test_a_range_of_lines_tells_which_characters_it_holds() -> None:
    result = desk({FILE: "ab\ncd\nef"}).call(READ, path=FILE, start_line=2, line_count=1)

    told = result.structured
    assert result.content.endswith("\n2 | cd")
    assert (told["startLine"], told["endLine"], told["startChar"], told["endChar"]) == (2, 2, 3, 5)
    assert told["truncated"] is True
    assert told["fullRead"] is False


def test_numbers_are_aligned_to_the_last_one_shown() -> None:
    result = desk({FILE: lines(12)}).call(READ, path=FILE, start_line=9, line_count=2)

    assert result.content.split("\n")[1:] == [" 9 | x", "10 | x"]


def test_a_range_of_characters_is_raw_text() -> None:
    result = desk({FILE: "日本語 text"}).call(READ, path=FILE, start_char=1, max_chars=3)

    told = result.structured
    assert result.content.split("\n") == [result.content.split("\n")[0], "本語 "]
    assert " (truncated)" in result.content
    assert (told["startChar"], told["endChar"], told["startLine"], told["endLine"]) == (1, 4, 0, 0)
    assert result.resource_refs == (f"{FILE}:chars=1..4",)


def test_all_characters_are_a_full_read() -> None:
    result = desk({FILE: "abc"}).call(READ, path=FILE, max_chars=3)

    assert result.structured["fullRead"] is True
    assert "(truncated)" not in result.content


def test_a_line_count_past_the_end_is_a_full_read() -> None:
    assert desk({FILE: "a\nb"}).call(READ, path=FILE, line_count=1000).structured["fullRead"] is True


def test_an_empty_file_has_no_lines_and_is_read_in_full() -> None:
    result = desk({FILE: ""}).call(READ, path=FILE)

    assert "lines 0-0 of 0" in result.content
    assert (result.structured["startLine"], result.structured["endLine"]) == (0, 0)
    assert result.structured["fullRead"] is True


def test_a_file_of_one_line_break_has_two_empty_lines() -> None:
    assert desk({FILE: "\n"}).call(READ, path=FILE).content.split("\n")[1:] == ["1 | ", "2 | "]


@pytest.mark.parametrize("text", ["\ufeffA\r\nB\r\n", "lone\rreturn", "line\u2028separator", "null\x00byte"])
def test_nothing_in_the_text_is_changed(text: str) -> None:
    result = desk({FILE: text}).call(READ, path=FILE, start_char=0)

    assert result.content.split("\n", 1)[1] == text


def test_a_path_is_read_in_any_of_its_spellings() -> None:
    assert desk({FILE: "a"}).call(READ, path=" ./output//main.md ").structured["path"] == FILE


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({}, "tool.invalid_arguments", "path"),
        ({"path": 3}, "tool.invalid_arguments", "path must be a string"),
        ({"path": "  "}, "tool.invalid_arguments", "path must not be blank"),
        ({"path": FILE, "start_line": 1.0}, "tool.invalid_arguments", "start_line must be a whole number"),
        ({"path": FILE, "line_count": "3"}, "tool.invalid_arguments", "line_count"),
        ({"path": FILE, "start_char": -1}, "tool.invalid_arguments", "start_char"),
        ({"path": FILE, "max_chars": None}, "tool.invalid_arguments", "max_chars"),
        ({"path": FILE, "start_line": True}, "tool.invalid_arguments", "start_line"),
        ({"path": "../x", "start_line": 0}, "workspace.invalid_path", "'..'"),
        ({"path": "input/x", "start_line": 0}, "workspace.path_not_visible", "output/"),
        ({"path": FILE, "start_line": 0}, "workspace.invalid_line_range", "start_line must be 1 or more"),
        ({"path": FILE, "line_count": 0}, "workspace.invalid_line_range", "line_count must be 1 to 1200"),
        ({"path": FILE, "line_count": 1201}, "workspace.read_line_count_too_large", "line_count must be 1 to 1200"),
        ({"path": FILE, "max_chars": 0}, "workspace.invalid_char_range", "max_chars must be 1 to 80000"),
        ({"path": FILE, "max_chars": 80_001}, "workspace.read_char_count_too_large", "max_chars must be 1 to 80000"),
        ({"path": FILE, "start_char": 0, "line_count": 1}, "workspace.mixed_read_range", "not both"),
        ({"path": FILE, "max_chars": 1, "start_line": 2}, "workspace.mixed_read_range", "not both"),
        ({"path": "output/none.md"}, "workspace.file_not_found", "workspace_list_files"),
        ({"path": "output/main.md/below.md"}, "workspace.file_not_found", "workspace_list_files"),
        ({"path": "output"}, "workspace.path_is_directory", "workspace_list_files"),
        ({"path": FILE, "start_char": 5}, "workspace.invalid_char_range", "the file has 5 characters"),
        ({"path": FILE, "start_line": 4}, "workspace.invalid_line_range", "the file has 3 lines"),
        ({"path": "output/empty.md", "start_char": 1}, "workspace.invalid_char_range", "empty"),
        ({"path": "output/empty.md", "start_line": 2}, "workspace.invalid_line_range", "empty"),
        ({"path": "output/utf16.md"}, "workspace.file_not_text", "UTF-8"),
    ],
)
def test_what_the_model_can_mend_is_told(arguments: Json, code: str, says: str) -> None:
    files: dict[str, str | bytes] = {FILE: "a\nb\nc", "output/empty.md": "", "output/utf16.md": b"\xff\xfeh\x00i\x00"}

    result = desk(files).send(READ, arguments)

    assert (result.is_error, result.error_code) == (True, code)
    assert says in result.content


@pytest.mark.parametrize("arguments", [[], None, 3, "not { json"])
def test_arguments_that_are_no_object_are_refused(arguments: Json) -> None:
    result = desk().send(READ, arguments)

    assert result.error_code == "tool.invalid_arguments"
    assert "must be an object" in result.content


def test_a_whole_read_ends_at_1200_lines() -> None:
    assert not desk({FILE: lines(1200)}).call(READ, path=FILE).is_error
    assert desk({FILE: lines(1201)}).call(READ, path=FILE, start_line=1).error_code == "workspace.read_too_large"


def test_a_whole_read_ends_at_262144_bytes() -> None:
    assert not desk({FILE: "é" * 131_072}).call(READ, path=FILE).is_error
    assert desk({FILE: "é" * 131_072 + "!"}).call(READ, path=FILE).error_code == "workspace.read_too_large"


def test_an_open_range_ends_after_1200_lines() -> None:
    desktop = desk({FILE: lines(1203)})

    assert not desktop.call(READ, path=FILE, start_line=4).is_error
    assert desktop.call(READ, path=FILE, start_line=3).error_code == "workspace.read_line_count_too_large"


def test_a_range_holds_at_most_80000_characters_even_where_it_is_the_whole_file() -> None:
    desktop = desk({FILE: "x" * 80_001})

    assert desktop.call(READ, path=FILE, line_count=1).error_code == "workspace.read_too_large"
    assert desktop.call(READ, path=FILE, start_char=0).structured["endChar"] == 80_000


def test_only_the_profiles_folders_can_be_read() -> None:
    result = desk({"plan/a.md": "a"}, profile(visible=("output",), writable=("output",))).call(READ, path="plan/a.md")

    assert result.error_code == "workspace.path_not_visible"


@pytest.mark.parametrize("field", ["start_line", "start_char"])
def test_a_number_of_thousands_of_digits_is_not_told_whole(field: str) -> None:
    result = desk({"output/a.md": "x"}).call(READ, path="output/a.md", **{field: 10**4000})

    assert result.is_error
    assert len(result.content) < 200
