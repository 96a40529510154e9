"""A package's rules: paths, names that meet, sizes, the sidecar, and the hash that tells packages apart."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from treadle.storage.skills.package import MOST_FILE_BYTES, MOST_FILES, content_hash, file_ref, packaged, skill_path
from treadle.storage.skills.shelf import SkillRefused
from treadle.storage.skills.sidecar import SIDECAR

from .samples import FILES, skill_md

MD = ("SKILL.md", skill_md())


def test_the_files_stand_by_path_and_the_hash_is_of_paths_and_contents() -> None:
    package = packaged(reversed(FILES.items()))

    whole = b"".join(path.encode() + b"\0" + data + b"\0" for path, data in sorted(FILES.items()))
    assert list(package.files) == sorted(FILES)
    assert package.sha256 == hashlib.sha256(whole).hexdigest() == content_hash(FILES)
    assert (package.total_bytes, package.has_scripts, package.has_binary) == (60, True, True)


def test_scripts_and_binary_files_are_warned_of_by_name() -> None:
    scripts, binary = packaged(FILES.items()).warnings

    assert "scripts/run.sh" in scripts
    assert "pic.png" in binary


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (" a.md ", "a.md"),
        ("./a//b.md", "a/b.md"),
        ("a\\b.md", "a/b.md"),
        ("日本/🦊.md", "日本/🦊.md"),
        ("a b.md", "a b.md"),
    ],
)
def test_a_path_has_one_spelling(given: str, path: str) -> None:
    assert skill_path(given) == path


BAD_PATHS = [
    "", " ", "/a", "\\a", "C:\\a", "c:a", "../a", "a/../b", "a\\..\\b", "..", ".", "a\0b", "//srv/x", ".git/config",
    "a/.ssh/id", ".env", "a/.ENV", "con", "a/aux.md", "COM1.txt", "a./b", "a /b", "a:b", "a?b", "a\nb", "\ud800", "x" * 256,
    "a/" * 600 + "b",
]  # fmt: skip


@pytest.mark.parametrize("path", BAD_PATHS, ids=[f"{at}" for at, _ in enumerate(BAD_PATHS)])
def test_a_path_that_some_system_or_rule_forbids_is_refused(path: str) -> None:
    with pytest.raises(SkillRefused, match="the path"):
        packaged([MD, (path, b"x")])


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("a.md", "./a.md"), "a.md stands twice"),
        (("a.md", "A.md"), "A.md and a.md are one name"),
        (("docs/a", "Docs/b"), "Docs and docs are one name"),
        (("caf\u00e9", "cafe\u0301"), "are one name"),
        (("stra\u00dfe", "STRASSE"), "are one name"),
        (("a", "a/b"), "a is a file, and a/b needs a folder"),
        (("A", "a/b"), "are one name"),
        (("skill.md",), "are one name"),
        ((".DS_Store",), "leave it out"),
        (("__MACOSX/x",), "leave it out"),
    ],
)
def test_names_that_meet_are_refused_and_named(paths: tuple[str, ...], words: str) -> None:
    with pytest.raises(SkillRefused, match=words):
        packaged([MD, *((path, b"x") for path in paths)])


def test_a_package_without_skill_md_says_where_it_may_be() -> None:
    with pytest.raises(SkillRefused, match=r"no SKILL\.md; add it"):
        packaged([("a.md", b"x")])
    with pytest.raises(SkillRefused, match=r"there is x/skill\.md"):
        packaged([("x/skill.md", b"x")])


def test_too_many_or_too_large_files_are_refused_with_the_limit() -> None:
    with pytest.raises(SkillRefused, match=str(MOST_FILES)):
        packaged([MD, *((f"{n}.md", b"") for n in range(MOST_FILES))])
    with pytest.raises(SkillRefused, match=rf"big has .* {MOST_FILE_BYTES}"):
        packaged([MD, ("big", bytes(MOST_FILE_BYTES + 1))])

    assert len(packaged([MD, *((f"{n}.md", b"") for n in range(MOST_FILES - 1))]).files) == MOST_FILES


def sidecar(**fields: Any) -> bytes:
    return json.dumps({"version": 1, **fields}).encode()


def test_the_sidecar_adds_its_names_and_tags() -> None:
    data = sidecar(displayName="Fog", sourceKind="url", tags=["fog", " "], recommendedTools=["x"], notes="n",
                   recommendedContext={"defaultBudgetTokens": 5, "preferredMode": "full"}, allowImplicitInvocation=True)  # fmt: skip

    package = packaged([MD, (SIDECAR, data)])

    assert (package.sidecar.display_name, package.sidecar.source_kind, package.tags) == ("Fog", "url", ("fog",))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "is not JSON"),
        (b"[]", "must be an object"),
        (b"{}", "version is missing"),
        (b'{"version": 2}', "version must be"),
        (b'{"version": true}', "version must be"),
        (sidecar(extra=1), "extra is not known"),
        (sidecar(displayName=1), "displayName must be a string"),
        (sidecar(displayName=" "), "displayName must not be blank"),
        (sidecar(sourceKind=[]), "sourceKind must be a string"),
        (sidecar(allowImplicitInvocation="yes"), "allowImplicitInvocation must be true or false"),
        (sidecar(recommendedTools="x"), "recommendedTools must be a list"),
        (sidecar(recommendedTools=[1]), r"recommendedTools\[0\] must be a string"),
        (sidecar(recommendedContext=1), "recommendedContext must be an object"),
        (sidecar(recommendedContext={"x": 1}), r"recommendedContext\.x is not known"),
        (sidecar(recommendedContext={"defaultBudgetTokens": -1}), "defaultBudgetTokens must be an integer"),
        (sidecar(recommendedContext={"preferredMode": 1}), "preferredMode must be a string"),
        (sidecar(tags=[None]), r"tags\[0\] must be a string"),
        (sidecar(notes=1), "notes must be a string"),
    ],
)
def test_a_sidecar_that_is_wrong_is_refused_with_the_field(data: bytes, words: str) -> None:
    with pytest.raises(SkillRefused, match=rf"agents/tauritavern\.json.*{words}"):
        packaged([MD, (SIDECAR, data)])


def test_a_file_is_told_by_kind_type_size_and_hash() -> None:
    assert file_ref("a.md", b"a\n") == {
        "path": "a.md", "kind": "text", "mediaType": "text/markdown", "sizeBytes": 2,
        "sha256": hashlib.sha256(b"a\n").hexdigest(),
    }  # fmt: skip
    assert [file_ref("x", data)["mediaType"] for data in (b"a", b"\xff")] == ["text/plain", "application/octet-stream"]
