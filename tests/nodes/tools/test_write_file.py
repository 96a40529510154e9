from __future__ import annotations

import hashlib

import pytest

from tests.nodes.desk import desk, profile
from treadle.graph.events import EventType
from treadle.graph.jsontext import Json
from treadle.graph.paths import WorkspacePath
from treadle.nodes.tool import FileChange

WRITE = "workspace.write_file"
FILE = "output/main.md"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_write_is_planned_and_changes_nothing_itself() -> None:
    desktop = desk({FILE: "old"})

    change = desktop.outcome(WRITE, {"path": FILE, "content": "new text"})

    assert isinstance(change, FileChange)
    assert (change.path, change.data, change.pre_sha256, change.post_sha256) == (
        FILE, b"new text", sha("old"), sha("new text"),
    )  # fmt: skip
    assert change.event is EventType.WORKSPACE_FILE_WRITTEN
    assert change.payload == {"path": FILE, "mode": "replace", "chars": 8, "words": 2, "sha256": sha("new text")}
    assert change.answer.structured == change.payload
    assert change.answer.resource_refs == (FILE,)
    assert desktop.text(FILE) == "old"


def test_a_new_file_has_no_hash_before() -> None:
    change = desk().outcome(WRITE, {"path": "plan/deep/er.md", "content": ""})

    assert isinstance(change, FileChange)
    assert change.pre_sha256 is None
    assert change.data == b""


def test_append_adds_exact_bytes_and_tells_the_size_of_the_whole() -> None:
    desktop = desk({FILE: "one\r\n"})

    result = desktop.call(WRITE, path=FILE, content="two", mode="append")

    assert desktop.text(FILE) == "one\r\ntwo"
    assert result.structured == {"path": FILE, "mode": "append", "chars": 8, "words": 2, "sha256": sha("one\r\ntwo")}
    assert "8 chars, 2 words" in result.content
    assert "Appended" in result.content


def test_append_makes_a_missing_file() -> None:
    desktop = desk()

    desktop.call(WRITE, path=FILE, content="one", mode="append")

    assert desktop.text(FILE) == "one"


@pytest.mark.parametrize("content", ["\ufeffa\r\nb", "日本 🙂 e\u0301", "a\x00b", " \n\n "])
def test_content_is_written_as_it_is(content: str) -> None:
    desktop = desk()

    desktop.call(WRITE, path=FILE, content=content)

    assert desktop.workspace.read_bytes(WorkspacePath(FILE)) == content.encode()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"content": "x"}, "tool.invalid_arguments", "path is missing"),
        ({"path": FILE}, "tool.invalid_arguments", "content is missing"),
        ({"path": FILE, "content": None}, "tool.invalid_arguments", "content must be a string"),
        ({"path": FILE, "content": {"a": 1}}, "tool.invalid_arguments", '{"a":1}'),
        ({"path": FILE, "content": "half \ud83d"}, "tool.invalid_arguments", "lone surrogate"),
        ({"path": "../x", "content": "x", "mode": "over"}, "workspace.write_mode_invalid", '"replace" or "append"'),
        ({"path": FILE, "content": "x", "mode": None}, "workspace.write_mode_invalid", "null"),
        ({"path": FILE, "content": "x", "mode": "half \ud83d"}, "workspace.write_mode_invalid", "append"),
        ({"path": "/etc/x", "content": "x"}, "workspace.invalid_path", "absolute"),
        ({"path": "a" * 200 + ("/" + "b" * 200) * 9, "content": "x"}, "workspace.invalid_path", "longer"),
        ({"path": "output/x.0123456789abcdef.tmp", "content": "x"}, "workspace.invalid_path", "kept"),
        ({"path": "output/half\ud83d.md", "content": "x"}, "tool.invalid_arguments", "lone surrogate"),
        ({"path": "output", "content": "x"}, "workspace.path_not_writable", "is a folder"),
        ({"path": "events.jsonl", "content": "x"}, "workspace.path_not_writable", "output/"),
        ({"path": "output-evil/x", "content": "x"}, "workspace.path_not_writable", "output/"),
        ({"path": "OUTPUT/x", "content": "x"}, "workspace.path_not_writable", "output/"),
        ({"path": "scratch/a", "content": "x"}, "workspace.path_is_directory", "is a folder"),
        ({"path": "scratch/a/b.md/c/d.md", "content": "x"}, "workspace.invalid_path", "scratch/a/b.md is a file"),
        ({"path": "scratch/raw", "content": "x", "mode": "append"}, "workspace.file_not_text", "replaced whole"),
    ],
)
def test_what_the_model_can_mend_is_told(arguments: Json, code: str, says: str) -> None:
    result = desk({"scratch/a/b.md": "b", "scratch/raw": b"\xff"}).send(WRITE, arguments)

    assert (result.is_error, result.error_code) == (True, code)
    assert says in result.content


def test_a_file_that_is_not_text_can_be_replaced() -> None:
    desktop = desk({FILE: b"\xff"})

    assert not desktop.call(WRITE, path=FILE, content="text").is_error


def test_only_the_profiles_folders_can_be_written() -> None:
    narrow = desk(using=profile(visible=("output", "plan"), writable=("output",)))

    assert not narrow.call(WRITE, path=FILE, content="x").is_error
    assert narrow.call(WRITE, path="plan/a.md", content="x").error_code == "workspace.path_not_writable"
    assert "no folder" in desk(using=profile(writable=())).call(WRITE, path=FILE, content="x").content


def test_unknown_fields_are_ignored() -> None:
    assert not desk().call(WRITE, path=FILE, content="x", encoding="utf-8").is_error


class TestGuard:
    """Where the profile guards whole-file writes."""

    def test_an_unread_file_is_not_replaced(self) -> None:
        desktop = desk({FILE: "old"}, profile(write_guard=True))

        result = desktop.call(WRITE, path=FILE, content="new")

        assert result.error_code == "workspace.write_requires_read"
        assert desktop.text(FILE) == "old"

    def test_a_partly_read_file_may_be_replaced(self) -> None:
        desktop = desk({FILE: "a\nb"}, profile(write_guard=True))
        desktop.call("workspace.read_file", path=FILE, line_count=1)

        assert not desktop.call(WRITE, path=FILE, content="new").is_error

    def test_a_file_that_changed_since_is_not_replaced(self) -> None:
        desktop = desk({FILE: "old"}, profile(write_guard=True))
        desktop.call("workspace.read_file", path=FILE)
        desktop.put(FILE, "other")

        assert desktop.call(WRITE, path=FILE, content="new").error_code == "workspace.write_stale_file"

    def test_new_files_and_appends_need_no_read(self) -> None:
        desktop = desk({FILE: "old"}, profile(write_guard=True))

        assert not desktop.call(WRITE, path="output/new.md", content="x").is_error
        assert not desktop.call(WRITE, path=FILE, content="x", mode="append").is_error

    def test_without_it_any_file_is_replaced(self) -> None:
        assert not desk({FILE: "old"}).call(WRITE, path=FILE, content="new").is_error
