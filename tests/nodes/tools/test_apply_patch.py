from __future__ import annotations

import hashlib

import pytest

from tests.nodes.desk import Desk, desk, profile
from treadle.graph.events import EventType
from treadle.graph.jsontext import Json
from treadle.graph.messages import ToolResult
from treadle.nodes.tool import FileChange

PATCH = "workspace.apply_patch"
READ = "workspace.read_file"
FILE = "output/main.md"


def read_desk(content: str | bytes) -> Desk:
    desktop = desk({FILE: content})
    assert not desktop.call(READ, path=FILE).is_error
    return desktop


def patched(content: str, old: str, new: str = "NEW", **more: Json) -> tuple[ToolResult, str]:
    desktop = read_desk(content)
    result = desktop.call(PATCH, path=FILE, old_string=old, new_string=new, **more)
    return result, desktop.text(FILE)


def test_a_patch_is_planned_and_changes_nothing_itself() -> None:
    desktop = read_desk("one two\n")
    after = hashlib.sha256(b"one 2\n").hexdigest()

    change = desktop.outcome(PATCH, {"path": FILE, "old_string": "two", "new_string": "2"})

    assert isinstance(change, FileChange)
    assert change.event is EventType.WORKSPACE_PATCH_APPLIED
    assert (change.data, change.post_sha256) == (b"one 2\n", after)
    assert change.payload == {
        "path": FILE, "chars": 6, "words": 2, "oldSha256": change.pre_sha256, "sha256": after, "replacements": 1,
    }  # fmt: skip
    assert change.answer.structured == change.payload
    assert change.answer.resource_refs == (FILE,)
    assert desktop.text(FILE) == "one two\n"


def test_every_place_is_replaced_when_asked() -> None:
    result, text = patched("a-a-a", "a", "b", replace_all=True)

    assert text == "b-b-b"
    assert result.structured["replacements"] == 3
    assert "3 places" in result.content


def test_a_text_may_be_taken_out() -> None:
    assert patched("one two", " two", "")[1] == "one"


def test_mark_and_line_ends_of_the_file_stay() -> None:
    assert patched("\ufeffA\r\nB\r\n", "B", "C")[1] == "\ufeffA\r\nC\r\n"
    assert patched("a\r\nb\r\n", "a\r\nb", "x\r\ny")[1] == "x\r\ny\r\n"


@pytest.mark.parametrize(
    ("content", "old", "says"),
    [
        ("a\r\nb\r\n", "a\nb", "CRLF"),
        ("a\nb\n", "a\r\nb", "CRLF"),
        ("a\r\nb\nc\n", "a\nb\nc", "other line endings"),
        ("alpha\n   beta\n", "    beta", "line 2 comes closest"),
        ("alpha\tbeta\n", "alpha beta", "line 1 comes closest"),
        ("He said \u201cno\u201d.\n", 'He said "no".', "line 1 comes closest"),
        ("caf\u00e9\n", "cafe\u0301", "line 1 comes closest"),
        ("first\nsecond\n", "1 | first\n2 | second", "line numbers"),
        ("alpha\n", "omega", "read it again"),
        ("alpha\n", "\n\n\n", "read it again"),
        ("", "x", "read it again"),
    ],
)
def test_only_the_exact_text_matches_and_the_refusal_says_what_comes_close(content: str, old: str, says: str) -> None:
    result, text = patched(content, old)

    assert result.error_code == "workspace.patch_old_string_not_found"
    assert says in result.content
    assert text == content


def test_several_places_are_counted_and_named() -> None:
    result, text = patched("foo\nbar\nfoo foo\n", "foo")

    assert result.error_code == "workspace.patch_old_string_not_unique"
    assert "3 places" in result.content
    assert "at lines 1, 3 and 3" in result.content
    assert text == "foo\nbar\nfoo foo\n"


def test_of_very_many_places_the_first_are_named() -> None:
    assert "9, 10 and 15 more" in patched("foo\n" * 25, "foo")[0].content


def test_places_that_overlap_count_once() -> None:
    assert patched("aaa", "aa", "b")[1] == "ba"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"path": FILE, "new_string": "x"}, "tool.invalid_arguments", "old_string is missing"),
        ({"path": FILE, "old_string": "x"}, "tool.invalid_arguments", "new_string is missing"),
        ({"path": FILE, "old_string": 1, "new_string": "x"}, "tool.invalid_arguments", "old_string"),
        ({"path": FILE, "old_string": "a", "new_string": "\udc00"}, "tool.invalid_arguments", "lone surrogate"),
        ({"path": FILE, "old_string": "a", "new_string": "b", "replace_all": "yes"}, "tool.invalid_arguments", "true"),
        ({"path": FILE, "old_string": "a", "new_string": "b", "replace_all": None}, "tool.invalid_arguments", "null"),
        ({"path": "..", "old_string": "", "new_string": ""}, "workspace.patch_empty_old_string", "must not be empty"),
        ({"path": "..", "old_string": "a", "new_string": "a"}, "workspace.patch_no_change", "must differ"),
        ({"path": "..", "old_string": "a", "new_string": "b"}, "workspace.invalid_path", "'..'"),
        ({"path": "input/x", "old_string": "a", "new_string": "b"}, "workspace.path_not_writable", "output/"),
        ({"path": "output/b", "old_string": "a", "new_string": "b"}, "workspace.patch_requires_read", "Read output/b"),
    ],
)
def test_what_the_model_can_mend_is_told(arguments: Json, code: str, says: str) -> None:
    result = read_desk("a").send(PATCH, arguments)

    assert (result.is_error, result.error_code) == (True, code)
    assert says in result.content


def test_a_partly_read_file_is_not_patched() -> None:
    desktop = desk({FILE: "a\nb"})
    desktop.call(READ, path=FILE, line_count=1)

    result = desktop.call(PATCH, path=FILE, old_string="a", new_string="x")

    assert result.error_code == "workspace.patch_requires_full_read"
    assert "read the whole file" in result.content


def test_a_second_look_at_a_part_does_not_unlearn_the_whole() -> None:
    desktop = read_desk("a\nb")
    desktop.call(READ, path=FILE, line_count=1)

    assert not desktop.call(PATCH, path=FILE, old_string="b", new_string="x").is_error


def test_a_file_that_the_run_wrote_or_patched_is_known() -> None:
    desktop = desk()
    desktop.call("workspace.write_file", path=FILE, content="one")

    assert not desktop.call(PATCH, path=FILE, old_string="one", new_string="two").is_error
    assert not desktop.call(PATCH, path=FILE, old_string="two", new_string="three").is_error


def test_a_file_that_another_changed_is_not_patched_until_it_is_read_again() -> None:
    desktop = read_desk("one")
    desktop.put(FILE, "changed one")

    assert desktop.call(PATCH, path=FILE, old_string="one", new_string="1").error_code == "workspace.patch_stale_file"
    assert desktop.text(FILE) == "changed one"
    desktop.call(READ, path=FILE)
    assert not desktop.call(PATCH, path=FILE, old_string="one", new_string="1").is_error


@pytest.mark.parametrize("gone", [None, b"\xff\xfe"])
def test_a_file_that_is_gone_or_no_text_any_more_is_told(gone: bytes | None) -> None:
    desktop = read_desk("one")
    if gone is None:
        desktop.workspace = desk().workspace
    else:
        desktop.put(FILE, gone)

    result = desktop.call(PATCH, path=FILE, old_string="one", new_string="1")

    assert result.error_code == ("workspace.file_not_text" if gone else "workspace.file_not_found")


def test_a_file_that_became_a_folder_is_told() -> None:
    desktop = read_desk("one")
    desktop.workspace = desk({f"{FILE}/below.md": "x"}).workspace

    result = desktop.call(PATCH, path=FILE, old_string="one", new_string="1")

    assert result.error_code == "workspace.path_is_directory"


class TestAfterPartialRead:
    """Where the profile lets the model patch what it has read of a file."""

    def partly_read(self) -> Desk:
        desktop = desk({FILE: "a\nb\nc\nb2\n"}, profile(patch_after_partial_read=True))
        desktop.call(READ, path=FILE, line_count=2)
        return desktop

    def patch(self, desktop: Desk, old: str, new: str, **more: Json) -> str | None:
        return desktop.call(PATCH, path=FILE, old_string=old, new_string=new, **more).error_code

    def test_what_was_read_is_patched_and_known_as_patched(self) -> None:
        desktop = self.partly_read()

        assert self.patch(desktop, "a\nb\n", "x\ny\n") is None
        assert self.patch(desktop, "x\ny\n", "z\n") is None
        assert desktop.text(FILE) == "z\nc\nb2\n"

    def test_what_was_not_read_asks_for_a_full_read(self) -> None:
        desktop = self.partly_read()

        assert self.patch(desktop, "c", "x") == "workspace.patch_requires_full_read"
        assert self.patch(desktop, "a", "x") == "workspace.patch_requires_full_read"  # one failure spoils the rest
        desktop.call(READ, path=FILE, start_line=3, line_count=1)
        assert self.patch(desktop, "c", "x") == "workspace.patch_requires_full_read"
        desktop.call(READ, path=FILE)
        assert self.patch(desktop, "c", "x") is None

    def test_replace_all_asks_for_a_full_read(self) -> None:
        assert self.patch(self.partly_read(), "a", "x", replace_all=True) == "workspace.patch_requires_full_read"

    def test_a_text_that_stands_elsewhere_too_spoils_what_was_read(self) -> None:
        desktop = self.partly_read()

        assert self.patch(desktop, "b", "x") == "workspace.patch_old_string_not_unique"
        assert self.patch(desktop, "a", "x") == "workspace.patch_requires_full_read"

    def test_a_change_by_another_spoils_what_was_read(self) -> None:
        desktop = self.partly_read()
        desktop.put(FILE, "a\nb\nother\n")

        assert self.patch(desktop, "a", "x") == "workspace.patch_stale_file"
        desktop.call(READ, path=FILE, line_count=1)
        assert self.patch(desktop, "a", "x") == "workspace.patch_requires_full_read"
