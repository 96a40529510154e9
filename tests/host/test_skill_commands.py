"""`treadle skills`: looked at, installed, read, exported, deleted and mended, with one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treadle.host.cli import exit_code
from treadle.storage.skills.store import FOLDER

from ..storage.skills.samples import FILES, skill_md

Said = pytest.CaptureFixture[str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A skill as somebody has it."""
    for path, data in FILES.items():
        (tmp_path / "mine" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / path).write_bytes(data)
    return tmp_path / "mine"


def treadle(root: Path, *arguments: str) -> int:
    return exit_code(["skills", *arguments, "--data", str(root)])


def told(root: Path, capsys: Said, *arguments: str) -> Any:
    capsys.readouterr()
    assert treadle(root, *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def refused(root: Path, capsys: Said, *arguments: str) -> str:
    capsys.readouterr()
    assert treadle(root, *arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def test_a_skill_is_looked_at_installed_listed_shown_and_deleted(root: Path, folder: Path, capsys: Said) -> None:
    found = told(root, capsys, "preview", str(folder))
    assert (found["conflict"], len(found["files"]), len(found["warnings"])) == ({"kind": "new"}, 4, 2)
    assert treadle(root, "preview", str(folder)) == 0
    out = capsys.readouterr().out
    assert "references/a.md" in out
    assert "new: no skill of this name is installed\nwarning: holds scripts" in out
    assert not root.exists()

    assert treadle(root, "install", str(folder)) == 0
    out, err = capsys.readouterr()
    assert out == "installed demo\n"
    assert err.count("treadle: note: holds") == 2
    (entry,) = told(root, capsys, "list")
    assert (entry["name"], entry["fileCount"]) == ("demo", 4)
    assert told(root, capsys, "show", "demo") == {**entry, "files": found["files"]}
    for command in (("list",), ("show", "demo")):
        assert treadle(root, *command) == 0
        assert "Demo." in capsys.readouterr().out

    assert treadle(root, "delete", "demo") == 0
    assert capsys.readouterr().out == "deleted demo\n"
    assert told(root, capsys, "list") == []
    assert "there is no skill demo" in refused(root, capsys, "delete", "demo")


def test_another_version_waits_for_a_word(root: Path, folder: Path, capsys: Said) -> None:
    treadle(root, "install", str(folder))
    assert told(root, capsys, "install", str(folder))["action"] == "already_installed"
    (folder / "SKILL.md").write_bytes(skill_md(description="New."))

    assert "choose replace or skip (skill.conflict)" in refused(root, capsys, "install", str(folder))
    assert "exclude each other" in refused(root, capsys, "install", str(folder), "--replace", "--skip")
    assert told(root, capsys, "install", str(folder), "--skip")["action"] == "skipped"
    assert told(root, capsys, "list")[0]["description"] == "Demo."
    assert treadle(root, "preview", str(folder)) == 0
    assert "different: another version is installed" in capsys.readouterr().out
    assert told(root, capsys, "install", str(folder), "--replace")["action"] == "replaced"
    assert told(root, capsys, "list")[0]["description"] == "New."


def test_an_export_installs_elsewhere_as_the_same(root: Path, folder: Path, tmp_path: Path, capsys: Said) -> None:
    treadle(root, "install", str(folder))
    target, other = tmp_path / "out.zip", tmp_path / "other"

    assert treadle(root, "export", "demo", "-o", str(target)) == 0
    assert "exists" in refused(root, capsys, "export", "demo", "-o", str(target))
    assert treadle(root, "export", "demo", "-o", str(target), "--replace") == 0
    done = told(other, capsys, "install", str(target))
    assert done["skill"]["installedHash"] == told(root, capsys, "list")[0]["installedHash"]


def test_an_export_without_a_name_is_named_for_the_skill(
    root: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    treadle(root, "install", str(folder))
    monkeypatch.chdir(tmp_path)

    assert treadle(root, "export", "demo") == 0
    assert (tmp_path / "demo.zip").is_file()


def test_a_file_is_read_whole_or_in_part(root: Path, folder: Path, capsys: Said) -> None:
    treadle(root, "install", str(folder))
    capsys.readouterr()

    assert treadle(root, "read", "demo") == 0
    assert capsys.readouterr().out == skill_md().decode()
    assert treadle(root, "read", "demo", "SKILL.md", "--start-line", "2", "--line-count", "1") == 0
    assert capsys.readouterr().out == "name: demo"
    assert told(root, capsys, "read", "demo", "--start-char", "4", "--max-chars", "4")["text"] == "name"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("preview", "none"), "none does not exist"),
        (("install", "none"), "none does not exist"),
        (("install", "mine/SKILL.md"), "given as its folder"),
        (("install", "bad"), "SKILL.md line 3: description is not valid YAML"),
        (("show", "nobody"), "there is no skill nobody (skill.not_found)"),
        (("read", "nobody"), "there is no skill nobody"),
        (("read", "demo", "none.md"), "no file none.md"),
        (("read", "demo", "pic.png"), "binary"),
        (("read", "demo", "../x"), "leaves the skill"),
        (("read", "demo", "--start-line", "0"), "startLine must be an integer, 1 or more"),
        (("read", "demo", "--max-chars", "80001"), "maxChars must be an integer, 1 to 80000"),
        (("export", "no one"), "name 'no one' must be"),
    ],
)
def test_what_is_wrong_is_one_line(
    root: Path, folder: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    treadle(root, "install", str(folder))
    monkeypatch.chdir(folder.parent)
    Path("bad").mkdir()
    Path("bad/SKILL.md").write_text("---\nname: a\ndescription: b: c\n---\n")

    assert words in refused(root, capsys, *arguments)


def test_what_was_mended_is_told_beside_the_answer(root: Path, folder: Path, capsys: Said) -> None:
    treadle(root, "install", str(folder))
    index = root / FOLDER / "index/skills.json"
    index.unlink()
    capsys.readouterr()

    assert treadle(root, "list", "--json") == 0
    out, err = capsys.readouterr()
    assert [entry["name"] for entry in json.loads(out)] == ["demo"]
    assert err == "treadle: note: demo: taken in from its folder, as the index did not know it\n"

    index.write_text("{")
    assert "treadle skills repair (skill.index_damaged)" in refused(root, capsys, "list")
    assert treadle(root, "repair") == 0
    assert capsys.readouterr().out.endswith("the index holds 1 skill\n")
    assert told(root, capsys, "repair")["repairs"] == []


def test_the_group_alone_tells_its_commands(capsys: Said) -> None:
    assert exit_code(["skills"]) == 0

    out = capsys.readouterr().out
    assert [
        name for name in ("list", "show", "preview", "install", "export", "read", "delete", "repair") if name not in out
    ] == []
