"""The four ways to give a skill, the root that is chosen, and every field of an input that is wrong."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json
from treadle.graph.text import sha256_bytes
from treadle.storage.disk import RealDisk
from treadle.storage.skills.archive import packed
from treadle.storage.skills.imports import SourceRef, imported
from treadle.storage.skills.package import MOST_FILES, content_hash
from treadle.storage.skills.shelf import SkillRefused

from .samples import FILES, inline, skill_md, zipped

MD = skill_md().decode()
ZIP = base64.b64encode(packed(FILES)).decode()


def laid_out(folder: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


@pytest.mark.parametrize("wrapped", ["", "wrapper/"])
def test_the_same_skill_in_any_form_is_the_same_package(tmp_path: Path, wrapped: str) -> None:
    files = {f"{wrapped}{path}": data for path, data in FILES.items()}
    folder, archive, old = laid_out(tmp_path / "d", files), tmp_path / "a.ZIP", tmp_path / "a.ttskill"
    laid_out(tmp_path / "d", {".DS_Store": b"x", "__MACOSX/y": b"x"})
    for path in (archive, old):
        path.write_bytes(zipped(files.items()))
    inputs: list[Json] = [
        {"kind": "directory", "path": str(folder)},
        {"kind": "archiveFile", "path": str(archive)},
        {"kind": "archiveFile", "path": str(old)},
        {
            "kind": "archiveBase64",
            "fileName": "x.zip",
            "contentBase64": base64.b64encode(archive.read_bytes()).decode(),
        },
        inline(FILES),
    ]

    assert {imported(each, RealDisk()).package.sha256 for each in inputs} == {content_hash(FILES)}


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("readme.md",), "there is no SKILL.md"),
        (("a/b/SKILL.md",), "there is a/b/SKILL.md"),
        (("a/SKILL.md", "b/SKILL.md"), "SKILL.md in a/, b/"),
        (("SKILL.md", "a/SKILL.md"), "SKILL.md in the top, a/"),
    ],
)
def test_a_root_that_is_not_plain_is_refused_and_named(tmp_path: Path, paths: tuple[str, ...], words: str) -> None:
    files = dict.fromkeys(paths, skill_md())
    archive = tmp_path / "a.zip"
    archive.write_bytes(zipped(files.items()))

    for given in (
        {"kind": "directory", "path": str(laid_out(tmp_path / "d", files))},
        {"kind": "archiveFile", "path": str(archive)},
    ):
        with pytest.raises(SkillRefused, match=words):
            imported(given, RealDisk())


def test_what_stands_beside_the_chosen_folder_is_left_out_and_told() -> None:
    data = zipped([("w/SKILL.md", skill_md()), ("README.md", b"x"), ("docs/a.md", b"x")])
    text = base64.b64encode(data).decode()

    found = imported({"kind": "archiveBase64", "fileName": "a.zip", "contentBase64": text}, RealDisk())

    assert list(found.package.files) == ["SKILL.md"]
    assert found.warnings == ("2 outside w/ left out: README.md, docs/a.md",)


Spoil = Callable[[Path], object]

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such names or files, and links need rights there")
POSIX_FOLDERS: list[tuple[Spoil, str]] = [
    (lambda folder: (folder / "l").symlink_to("/etc/passwd"), "l in .* is a link"),
    (lambda folder: (folder / "l").symlink_to(folder, target_is_directory=True), "l in .* is a link"),
    (lambda folder: (_touch(folder / "d/x").parent / "l").symlink_to("/"), "d/l in .* is a link"),
    (lambda folder: os.mkfifo(folder / "p"), "p in .* is no plain file"),
    (lambda folder: _touch(folder / "a\\b"), "blanks or backslashes"),
    (lambda folder: _touch(folder / "a:b"), "the path"),
    (lambda folder: _touch(folder / os.fsdecode(b"\xff")), "the path"),
]
FOLDERS: list[tuple[Spoil, str]] = [
    (lambda folder: _touch(folder / ".git" / "config"), r"\.git"),
    (lambda folder: [_touch(folder / f"{n}") for n in range(MOST_FILES)], f"more than {MOST_FILES} files"),
    (lambda folder: [_touch(folder / f"{n}" / "._x") for n in range(MOST_FILES * 5)], "files and folders"),
]


def _touch(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")
    return path


@pytest.mark.parametrize(("spoil", "words"), [*(pytest.param(*row, marks=POSIX) for row in POSIX_FOLDERS), *FOLDERS])
def test_a_folder_with_what_no_skill_may_hold_is_refused(tmp_path: Path, spoil: Spoil, words: str) -> None:
    folder = laid_out(tmp_path / "d", {"SKILL.md": skill_md()})
    spoil(folder)

    with pytest.raises(SkillRefused, match=words):
        imported({"kind": "directory", "path": str(folder)}, RealDisk())


def test_a_folder_that_is_a_link_a_file_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "l").symlink_to(laid_out(tmp_path / "d", FILES))
    (tmp_path / "f").write_bytes(b"")

    for name, words in (("l", "is a link"), ("f", "is a file"), ("none", "is not there")):
        with pytest.raises(SkillRefused, match=rf"input\.path .*{words}"):
            imported({"kind": "directory", "path": str(tmp_path / name)}, RealDisk())


def one(**fields: Json) -> Json:
    """An inline input of one SKILL.md with these fields changed."""
    return {"kind": "inlineFiles", "files": [{"path": "SKILL.md", "content": MD, **fields}]}


def archive(**fields: Json) -> Json:
    return {"kind": "archiveBase64", "fileName": "a.zip", "contentBase64": ZIP, **fields}


WRONG: list[tuple[Json, str]] = [
    (None, "input must be an object"),
    ([], "input must be an object"),
    ({}, "input.kind must be one of"),
    ({"kind": 1}, "input.kind"),
    ({"kind": "url"}, "input.kind must be one of inlineFiles"),
    ({"kind": "inlineFiles"}, "input.files must hold 1 to 1000"),
    ({"kind": "inlineFiles", "files": {}}, "input.files must be a list"),
    ({"kind": "inlineFiles", "files": []}, "input.files must hold 1 to 1000"),
    ({"kind": "inlineFiles", "files": [1]}, "input.files[0] must be an object"),
    ({"kind": "inlineFiles", "files": [{}] * 1001}, "input.files must hold 1 to 1000 files, not 1001"),
    ({**one(), "extra": 1}, "input.extra is not known"),
    (one(extra=1), "input.files[0].extra is not known"),
    (one(path=None), "input.files[0].path is missing"),
    (one(path=1), "input.files[0].path must be a string"),
    (one(path=" "), "input.files[0].path must not be blank"),
    (one(path="../x"), "leaves the skill"),
    (one(content=None), "input.files[0].content is missing"),
    (one(content=1), "input.files[0].content must be a string"),
    (one(content="\ud800"), "input.files[0].content holds half of a character"),
    (one(encoding="latin1"), "input.files[0].encoding must be one of utf8, utf-8, base64"),
    (one(encoding="base64", content="*"), "input.files[0].content is not base64"),
    (one(encoding="base64", content="é"), "input.files[0].content is not base64"),
    (one(mediaType=1), "input.files[0].mediaType must be a string"),
    (one(sizeBytes=1), "input.files[0].sizeBytes is 1, but the content has"),
    (one(sizeBytes="1"), "input.files[0].sizeBytes must be an integer"),
    (one(sizeBytes=True), "input.files[0].sizeBytes must be an integer"),
    (one(sha256="0" * 64), "input.files[0].sha256 is not the hash"),
    (one(sha256=1), "input.files[0].sha256 must be a string"),
    (one(path="a.md"), "there is no SKILL.md"),
    ({"kind": "inlineFiles", "files": [{"path": "SKILL.md", "content": MD}] * 2}, "SKILL.md stands twice"),
    ({"kind": "directory"}, "input.path is missing"),
    ({"kind": "directory", "path": 1}, "input.path must be a string"),
    ({"kind": "directory", "path": "x\0y"}, "input.path"),
    ({"kind": "directory", "path": "x", "files": []}, "input.files is not known"),
    ({"kind": "archiveFile"}, "input.path is missing"),
    ({"kind": "archiveFile", "path": "none.zip"}, "input.path none.zip can't be read"),
    ({"kind": "archiveFile", "path": "SKILL.md"}, "input.path must name an archive"),
    ({"kind": "archiveFile", "path": "x\0.zip"}, "input.path"),
    (archive(fileName=None), "input.fileName is missing"),
    (archive(fileName="a/b.zip"), "input.fileName must be a name without /"),
    (archive(fileName="a.tar"), "input.fileName must name an archive"),
    (archive(contentBase64=None), "input.contentBase64 is missing"),
    (archive(contentBase64="="), "input.contentBase64 is not base64"),
    (archive(contentBase64="AAAA"), "can't be read as a zip"),
    (archive(sha256="0"), "input.sha256 is not the hash"),
    (archive(source={"kind": "preset"}), "input.source.id is missing"),
    (archive(source={"kind": "character", "id": " "}), "input.source.id is missing"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[f"{at}" for at, _ in enumerate(WRONG)])
def test_a_field_that_is_wrong_is_named_with_what_must_be(given: Json, words: str) -> None:
    with pytest.raises(TreadleError) as refused:
        imported(given, RealDisk())

    assert words in refused.value.message
    assert isinstance(refused.value, SkillRefused)


def test_declared_sizes_and_hashes_that_are_right_are_accepted() -> None:
    data = MD.encode()

    assert imported(one(sizeBytes=len(data), sha256=sha256_bytes(data).upper(), mediaType="text/markdown"), RealDisk())
    assert imported(archive(sha256=sha256_bytes(base64.b64decode(ZIP))), RealDisk())


@pytest.mark.parametrize(
    ("source", "kind_id_label"),
    [
        (None, None),
        ("free text", None),
        ({"url": "x"}, None),
        ({"kind": "url"}, None),
        ({"kind": "url", "id": "https://x"}, ("url", "https://x", "https://x")),
        ({"kind": "preset", "id": "p", "label": "P", "more": [1]}, ("preset", "p", "P")),
        ({"kind": 1, "id": "x"}, None),
    ],
)
def test_a_source_with_kind_and_id_is_kept_as_a_reference(
    source: Json, kind_id_label: tuple[str, str, str] | None
) -> None:
    found = imported(inline(FILES, source), RealDisk())

    assert found.source == source
    assert found.ref == (SourceRef(*kind_id_label, found.package.sha256) if kind_id_label else None)
