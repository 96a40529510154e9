"""`api.skill` as JSON: what each request answers, and every field of each that is wrong."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json, is_object
from treadle.graph.text import sha256_bytes
from treadle.storage.disk import RealDisk
from treadle.storage.skills.ranges import MOST_CHARS
from treadle.storage.skills.requests import SkillRequests

from .samples import FILES, inline, skill_md, store_below

TEXT = "one\ntwo 日本\nthree\n"


@pytest.fixture
def asked(tmp_path: Path) -> SkillRequests:
    requests = SkillRequests(store_below(tmp_path), RealDisk())
    requests.install({"input": inline({**FILES, "text.md": TEXT.encode()})})
    return requests


def test_a_preview_tells_all_and_installs_nothing(tmp_path: Path) -> None:
    requests = SkillRequests(store_below(tmp_path), RealDisk())
    given = inline(FILES, {"kind": "url", "id": "x"})

    found = requests.preview(given)

    assert found == requests.preview({"input": given, "targetScope": {"kind": "global"}})
    assert (found["skill"]["name"], found["conflict"], found["source"]) == ("demo", {"kind": "new"}, given["source"])
    assert [file["path"] for file in found["files"]] == sorted(FILES)
    assert len(found["warnings"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_preview_says_how_it_stands_to_what_is_installed(asked: SkillRequests) -> None:
    hashed = asked.listing()["skills"][0]["installedHash"]

    same = asked.preview(inline({**FILES, "text.md": TEXT.encode()}))["conflict"]
    different = asked.preview(inline(FILES))["conflict"]

    assert (same, different) == (
        {"kind": "same", "installedHash": hashed},
        {"kind": "different", "installedHash": hashed},
    )


def test_an_install_answers_what_was_done(asked: SkillRequests) -> None:
    done = asked.install({"input": inline(FILES), "conflictStrategy": "replace", "targetScope": {"kind": "global"}})
    skipped = asked.install({"input": inline({"SKILL.md": skill_md()}), "conflictStrategy": "skip"})

    assert (done["scope"], done["name"], done["action"]) == ({"kind": "global"}, "demo", "replaced")
    assert done["skill"] == asked.listing({"scope": {"kind": "all"}})["skills"][0]
    assert skipped == {"scope": {"kind": "global"}, "name": "demo", "action": "skipped"}


def test_an_export_is_imported_again_as_the_same(asked: SkillRequests) -> None:
    done = asked.export({"name": "demo"})

    assert done["fileName"] == "demo.zip"
    assert done["sha256"] == sha256_bytes(base64.b64decode(done["contentBase64"]))
    again = {"kind": "archiveBase64", **done}
    assert asked.install({"input": again})["action"] == "already_installed"


@pytest.mark.parametrize(
    ("span", "text", "lines", "chars"),
    [
        ({}, TEXT, (1, 4), (0, 17)),
        ({"startLine": 2, "lineCount": 1}, "two 日本", (2, 2), (4, 10)),
        ({"startLine": 3}, "three\n", (3, 4), (11, 17)),
        ({"lineCount": 99}, TEXT, (1, 4), (0, 17)),
        ({"maxChars": 6}, "one\ntw", (1, 2), (0, 6)),
        ({"startChar": 8}, "日本\nthree\n", (0, 0), (8, 17)),
        ({"startChar": 8, "maxChars": 2}, "日本", (0, 0), (8, 10)),
        ({"startChar": 0}, TEXT, (0, 0), (0, 17)),
    ],
)
def test_a_file_is_read_by_lines_or_by_characters(
    asked: SkillRequests, span: dict[str, Json], text: str, lines: tuple[int, int], chars: tuple[int, int]
) -> None:
    found = asked.read_file({"name": "demo", "path": "text.md", **span})

    assert found["text"] == text
    assert (found["startLine"], found["endLine"], found["totalLines"]) == (*lines, 4)
    assert (found["startChar"], found["endChar"], found["totalChars"]) == (*chars, 17)
    assert (found["chars"], found["truncated"]) == (len(text), text != TEXT)
    assert found["totalWords"] == 5
    assert (found["sha256"], found["resourceRef"]) == (sha256_bytes(TEXT.encode()), "skills/demo/text.md")


def test_without_a_path_skill_md_is_read_and_an_empty_file_is_empty(asked: SkillRequests) -> None:
    asked.write_file({"name": "demo", "path": "text.md", "content": ""})

    assert asked.read_file({"name": "demo"})["path"] == "SKILL.md"
    empty = asked.read_file({"name": "demo", "path": "text.md"})
    assert (empty["text"], empty["totalLines"], empty["startLine"], empty["truncated"]) == ("", 0, 0, False)


def test_files_are_listed_written_and_deleted(asked: SkillRequests) -> None:
    before = {file["path"]: file for file in asked.list_files({"name": "demo"})}
    done = asked.write_file(
        {"name": "demo", "path": "text.md", "content": "new", "expectedSha256": before["text.md"]["sha256"]}
    )

    assert list(before) == sorted([*FILES, "text.md"])
    assert before["pic.png"]["kind"] == "binary"
    assert (done["name"], done["file"]["sizeBytes"]) == ("demo", 3)
    assert done["skill"] == asked.listing()["skills"][0]
    assert asked.delete({"name": "demo"}) == {"name": "demo"}
    assert asked.listing() == {"skills": [], "repairs": []}
    assert asked.repair() == {"skills": [], "repairs": []}


Call = Callable[[SkillRequests, Json], Json]

NAMED: list[tuple[str, Call]] = [
    ("read", SkillRequests.read_file),
    ("list_files", SkillRequests.list_files),
    ("write", lambda requests, given: requests.write_file({"path": "text.md", "content": "x", **_object(given)})),
    ("export", SkillRequests.export),
    ("delete", SkillRequests.delete),
]
BAD_NAMES: list[tuple[Json, str, str]] = [
    ({}, "skill.invalid_request", "name is missing"),
    ({"name": None}, "skill.invalid_request", "name is missing"),
    ({"name": 1}, "skill.invalid_request", "name must be a string"),
    ({"name": " "}, "skill.invalid_request", "name must not be blank"),
    ({"name": "../demo"}, "skill.invalid_request", "name '../demo' must be"),
    ({"name": "a" * 129}, "skill.invalid_request", "must be 1 to 128"),
    ({"name": "nobody"}, "skill.not_found", "no skill nobody"),
    ({"name": "demo", "other": 1}, "skill.invalid_request", "other is not known"),
    ({"name": "demo", "scope": "global"}, "skill.invalid_request", "scope must be an object"),
    ({"name": "demo", "scope": {"kind": "preset"}}, "skill.invalid_request", "scope.kind must be global"),
    ({"name": "demo", "scope": {"kind": "global", "id": 1}}, "skill.invalid_request", "scope.id is not known"),
]


def _object(given: Json) -> dict[str, Json]:
    assert is_object(given)
    return given


@pytest.mark.parametrize("call", [row[1] for row in NAMED], ids=[row[0] for row in NAMED])
@pytest.mark.parametrize(("given", "code", "words"), BAD_NAMES, ids=[f"{at}" for at, _ in enumerate(BAD_NAMES)])
def test_a_name_that_is_wrong_is_told_by_every_request(
    asked: SkillRequests, call: Call, given: Json, code: str, words: str
) -> None:
    with pytest.raises(TreadleError) as refused:
        call(asked, given)

    assert (refused.value.error_code, words in refused.value.message) == (code, True), refused.value.message
    assert len(asked.listing()["skills"]) == 1


def _spans() -> list[tuple[Call, Json, str]]:
    rows: list[tuple[Call, Json, str]] = []
    for key, least, most in (
        ("startLine", 1, None), ("lineCount", 1, None), ("startChar", 0, None), ("maxChars", 1, MOST_CHARS)
    ):  # fmt: skip
        wrong: list[Json] = [least - 1, "1", 1.5, True, [], *([most + 1] if most else [])]
        rows += [(SkillRequests.read_file, {key: value}, f"{key} must be an integer, {least}") for value in wrong]
    return rows


WRONG: list[tuple[Call, Json, str]] = [
    *_spans(),
    (SkillRequests.read_file, {"startChar": 0, "startLine": 1}, "startChar can't stand beside"),
    (SkillRequests.read_file, {"startChar": 0, "lineCount": 1}, "startChar can't stand beside"),
    (SkillRequests.read_file, {"startLine": 5}, "startLine is past the end"),
    (SkillRequests.read_file, {"startChar": 17}, "startChar is past the end"),
    (SkillRequests.read_file, {"path": "pic.png"}, "binary"),
    (SkillRequests.read_file, {"path": "none.md"}, "no file none.md"),
    (SkillRequests.read_file, {"path": "../SKILL.md"}, "leaves the skill"),
    (SkillRequests.read_file, {"path": "references"}, "is a folder"),
    (SkillRequests.read_file, {"path": 1}, "path must be a string"),
    (SkillRequests.read_file, {"path": " "}, "path must not be blank"),
    (SkillRequests.write_file, {"content": "x", "path": None}, "path is missing"),
    (SkillRequests.write_file, {"content": "x", "path": 1}, "path must be a string"),
    (SkillRequests.write_file, {"content": None}, "content is missing"),
    (SkillRequests.write_file, {"content": 1}, "content must be a string"),
    (SkillRequests.write_file, {"content": "\ud800"}, "content holds half"),
    (SkillRequests.write_file, {"content": "x", "expectedSha256": 1}, "expectedSha256 must be a string"),
    (SkillRequests.write_file, {"content": "x", "expectedSha256": "0"}, "changed meanwhile"),
    (SkillRequests.write_file, {"content": "x", "path": "pic.png"}, "binary"),
]


@pytest.mark.parametrize(("call", "given", "words"), WRONG, ids=[f"{at}" for at, _ in enumerate(WRONG)])
def test_a_field_that_is_wrong_is_named_and_nothing_is_changed(
    asked: SkillRequests, call: Call, given: Json, words: str
) -> None:
    before = asked.list_files({"name": "demo"})

    with pytest.raises(TreadleError) as refused:
        call(asked, {"name": "demo", "path": "text.md", **given})

    assert words in refused.value.message
    assert asked.list_files({"name": "demo"}) == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "the request must be an object"),
        ([], "the request must be an object"),
        ({}, "input must be an object"),
        ({"input": inline(FILES), "conflictStrategy": "rename"}, "conflictStrategy must be one of skip, replace"),
        ({"input": inline(FILES), "conflictStrategy": 1}, "conflictStrategy must be one of"),
        ({"input": inline(FILES), "targetScope": {"kind": "preset"}}, "targetScope.kind must be global"),
        ({"input": inline(FILES), "targetScope": 1}, "targetScope must be an object"),
        ({"input": inline(FILES), "extra": 1}, "extra is not known"),
    ],
)
def test_an_import_request_that_is_wrong_is_named(asked: SkillRequests, given: Json, words: str) -> None:
    calls: list[Call] = [SkillRequests.install]
    if "conflictStrategy" not in words:
        calls.append(SkillRequests.preview)
    for call in calls:
        with pytest.raises(TreadleError) as refused:
            call(asked, given)
        assert words in refused.value.message


def test_a_listing_knows_one_scope(asked: SkillRequests) -> None:
    for scope, words in (({"kind": "preset"}, "scope.kind must be global or all"), ("all", "scope must be an object")):
        with pytest.raises(TreadleError) as refused:
            asked.listing({"scope": scope})
        assert words in refused.value.message
