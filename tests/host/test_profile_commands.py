"""`treadle profiles`: from a starter file to a run, and every mistake told with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError, validate

from tests.graph.profiles.documents import document
from tests.host.serving import serving
from treadle.graph.jsonc import read
from treadle.graph.profiles.fields import published_schema
from treadle.graph.profiles.resolved import default_writer
from treadle.host.cli import exit_code
from treadle.host.demo.sample import Sample, fresh_sample
from treadle.host.profile_starter import starter
from treadle.nodes.profile_rules import checked_profile
from treadle.storage.profiles import FOLDER
from treadle.testkit.replies import call, calls

GOOD = (
    calls(call("workspace.write_file", path="output/main.md", content="The fog lifts.")),
    calls(call("workspace.commit")),
    calls(call("workspace.finish")),
)
Said = pytest.CaptureFixture[str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(scope="module")
def starter_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("starter") / "mine.jsonc"
    assert exit_code(["profiles", "new", "mine", "--out", str(path)]) == 0
    return path.read_text("utf-8")


@pytest.fixture
def file(tmp_path: Path, starter_text: str) -> Path:
    """A starter file."""
    path = tmp_path / "mine.jsonc"
    path.write_text(starter_text, "utf-8")
    return path


def profiles(root: Path, *arguments: object) -> int:
    return exit_code(["profiles", *(str(each) for each in arguments), "--data", str(root)])


def said(root: Path, capsys: Said, *arguments: object) -> str:
    capsys.readouterr()
    assert profiles(root, *arguments) == 0
    return capsys.readouterr().out


def told(root: Path, capsys: Said, *arguments: object) -> Any:
    return json.loads(said(root, capsys, *arguments, "--json"))


def refused(capsys: Said, *arguments: object) -> str:
    """The one line that a command with bad input leaves."""
    capsys.readouterr()
    code = exit_code([str(argument) for argument in arguments])

    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), "utf-8")


def test_a_starter_is_the_built_in_profile_with_a_comment_on_every_field(file: Path) -> None:
    text = file.read_text("utf-8")
    made = checked_profile(read(text).value)

    assert made.to_json() | {"id": "default-writer", "displayName": "Default Writer"} == {
        key: value for key, value in default_writer().to_json().items() if key != "description"
    }
    assert (made.id, made.display_name) == ("mine", "Mine")
    fields = [line for line in text.splitlines() if re.match(r'\s*"\w+":', line)]
    commented = re.findall(r'^\s*// \S.*\n\s*"\w+":', text, re.MULTILINE)
    assert len(commented) == len(fields) > 40


def test_every_example_in_a_starter_may_be_taken_as_it_is() -> None:
    text = re.sub(r'^(\s*)// ("\w+": .*,)$', r"\1\2", starter("mine"), flags=re.MULTILINE)
    text = re.sub(r'("(?:preset|model)": \{\n.*\n\s*"mode": )"\w+"', _with_mode, text)

    made = checked_profile(read(text).value)

    assert (made.preset.mode, made.model.mode, made.model.model_id) == ("ref", "connectionRef", "my-model")
    assert made.instructions.agent_system_prompt is not None
    assert made.tools.max_calls_per_tool == {"workspace.commit": 5}


def _with_mode(match: re.Match[str]) -> str:
    return match[1] + ('"ref"' if "preset" in match[1] else '"connectionRef"')


def test_a_starter_is_written_beside_you_or_printed_and_never_over_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.chdir(tmp_path)

    assert exit_code(["profiles", "new", "night-writer"]) == 0
    assert "night-writer.jsonc" in capsys.readouterr().out
    assert "night-writer.jsonc exists already" in refused(capsys, "profiles", "new", "night-writer")
    assert exit_code(["profiles", "new", "other", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "file": "other.jsonc"}
    assert exit_code(["profiles", "new", "night-writer", "--out", "-"]) == 0
    assert capsys.readouterr().out == (tmp_path / "night-writer.jsonc").read_text("utf-8") == starter("night-writer")
    assert "agent.profile_id_invalid" in refused(capsys, "profiles", "new", "Night Writer")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["night-writer.jsonc", "other.jsonc"]


def test_a_profile_is_checked_stored_listed_shown_and_deleted(root: Path, file: Path, capsys: Said) -> None:
    assert exit_code(["profiles", "check", str(file)]) == 0
    assert "profile mine is in order" in capsys.readouterr().out
    assert said(root, capsys, "save", file) == "stored profile mine\n"

    stored = json.loads((root / FOLDER / "mine.json").read_text("utf-8"))
    assert told(root, capsys, "show", "mine") == stored
    assert [one["id"] for one in told(root, capsys, "list")["profiles"]] == ["default-writer", "mine"]
    assert "mine" in said(root, capsys, "list")
    assert re.search(r"^tools\.maxRounds +80$", said(root, capsys, "show", "mine"), re.MULTILINE)
    assert said(root, capsys, "delete", "mine") == "deleted profile mine\n"
    assert "there is no profile mine" in refused(capsys, "profiles", "show", "mine", "--data", root)
    assert "is not stored" in refused(capsys, "profiles", "delete", "mine", "--data", root)


def test_a_profile_is_not_overwritten_unasked(root: Path, file: Path, capsys: Said) -> None:
    assert profiles(root, "save", file) == 0
    edit(file, '"maxRounds": 80', '"maxRounds": 8')

    assert "add --replace" in refused(capsys, "profiles", "save", file, "--data", root)
    assert told(root, capsys, "show", "mine")["tools"]["maxRounds"] == 80
    assert told(root, capsys, "save", file, "--replace") == {"ok": True, "id": "mine"}
    assert told(root, capsys, "show", "mine")["tools"]["maxRounds"] == 8


FAULTS = [
    ('"maxRounds": 80,', '"maxRounds": 0,', "agent.profile_max_rounds_invalid", "$.tools.maxRounds", '"maxRounds"'),
    ('"maxRounds": 80,', "", "agent.profile_max_rounds_invalid", "$.tools.maxRounds", '"tools": {'),
    ('"skill.list",', '"skill.lost",', "agent.profile_unknown_tool", "$.tools.allow[3]", '"skill.lost"'),
    ('"hydrateRounds"', '"hydrateRound"', "agent.invalid_profile", "$.run.hydrateRound", '"hydrateRound"'),
    ('"kind": "markdown"', '"kind": " "', "agent.profile_output_kind_required", "$.output.artifacts[0].kind", '" "'),
    (
        '"deny": [],\n    // Tools whose',
        '"deny": [,],\n    // Tools whose',
        "agent.invalid_profile",
        "$",
        '"deny": [,]',
    ),
    ('"writeGuard": false', '"writeGuard": no', "agent.invalid_profile", "$", '"writeGuard"'),
    ('"plan": {', '"run": {', "agent.invalid_profile", "$", '  "run": {\n    // foreground'),
]


@pytest.mark.parametrize(("before", "after", "code", "path", "where"), FAULTS)
def test_a_fault_is_told_with_its_field_line_and_code(
    file: Path, capsys: Said, before: str, after: str, code: str, path: str, where: str
) -> None:
    edit(file, before, after)
    text = file.read_text("utf-8")
    line = text[: text.index(where)].count("\n") + 1

    words = refused(capsys, "profiles", "check", file)
    assert f"{file}, line {line}: " in words
    assert words.endswith(f"({code})\n")
    assert path == "$" or path in words
    assert exit_code(["profiles", "check", str(file), "--json"]) == 2
    report = json.loads(capsys.readouterr().out)
    assert (report.pop("ok"), report.pop("message") in words) == (False, True)
    assert report == {"code": code, "path": path, "file": str(file), "line": line}


def test_a_file_in_order_is_told_to_programs_too(root: Path, file: Path, capsys: Said) -> None:
    capsys.readouterr()
    assert exit_code(["profiles", "check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "id": "mine", "file": str(file)}


@pytest.mark.parametrize("data", [b"\xff{}", b"", b"[1]", b"null", b"{"])
def test_a_file_that_holds_no_profile_is_refused(tmp_path: Path, capsys: Said, data: bytes) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(data)

    for command in (("check", path), ("save", path, "--data", tmp_path / "data")):
        assert f"{path}" in refused(capsys, "profiles", *command)
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path: Path, capsys: Said) -> None:
    assert "does not exist" in refused(capsys, "profiles", "check", tmp_path / "none.json")
    assert "can't be read" in refused(capsys, "profiles", "check", tmp_path)


def test_a_byte_order_mark_and_the_editors_schema_are_no_part_of_the_profile(
    root: Path, file: Path, capsys: Said
) -> None:
    edit(file, '// "$schema"', '"$schema"')
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())

    assert profiles(root, "save", file) == 0

    assert "$schema" not in (root / FOLDER / "mine.json").read_text("utf-8")
    edit(file, '"$schema": "./profile.schema.json"', '"$schema": 3')
    assert '$["$schema"] is not a field' in refused(capsys, "profiles", "check", file)


def test_bad_files_are_listed_and_repaired(root: Path, file: Path, capsys: Said) -> None:
    profiles(root, "save", file)
    (root / FOLDER / "mine.json").rename(root / FOLDER / "copy.json")
    (root / FOLDER / "bad.json").write_text("{")

    issues = told(root, capsys, "list")["issues"]
    assert [(one["fileName"], one["recommendedAction"]) for one in issues] == [
        ("bad.json", "delete"),
        ("copy.json", "normalizeIdentity"),
    ]
    assert re.search(r"^bad\.json +invalidJson +delete", said(root, capsys, "list"), re.MULTILINE)
    assert said(root, capsys, "repair", "copy.json") == "copy.json is now profile copy\n"
    assert told(root, capsys, "repair", "bad.json") == {"ok": True, "fileName": "bad.json", "action": "delete"}
    assert told(root, capsys, "list")["issues"] == []
    assert "there is no profile file" in refused(capsys, "profiles", "repair", "bad.json", "--data", root)


def test_what_is_in_the_way_of_a_profile_is_shown(root: Path, file: Path, capsys: Said) -> None:
    edit(
        file, '"mode": "currentPromptSnapshot",\n    // The id of', '"mode": "requiresConfiguration",\n    // The id of'
    )
    profiles(root, "save", file)

    found = told(root, capsys, "diagnose", "mine")

    assert (found["directRunAvailable"], len(found["diagnostics"])) == (False, 1)
    shown = said(root, capsys, "diagnose", "mine")
    assert re.search(r"^directRunAvailable +false$", shown, re.MULTILINE)
    assert re.search(r"^\$\.model\.mode +agent\.profile_model_requires_configuration", shown, re.MULTILINE)
    assert "agent.profile_not_found" in refused(capsys, "profiles", "diagnose", "nobody", "--data", root)


def test_the_prompt_is_that_of_a_stored_profile_a_file_or_the_built_in_one(
    root: Path, file: Path, capsys: Said
) -> None:
    edit(file, '// "agentSystemPrompt"', '"agentSystemPrompt"')

    assert "workspace_finish" in said(root, capsys, "prompt")
    assert "You are the narrator." in said(root, capsys, "prompt", file)
    profiles(root, "save", file)
    assert told(root, capsys, "prompt", "mine")["agentSystemPrompt"].startswith("You are the narrator.")
    assert "agent.profile_not_found" in refused(capsys, "profiles", "prompt", "nobody", "--data", root)


def test_the_schema_is_the_published_one(root: Path, tmp_path: Path, capsys: Said) -> None:
    capsys.readouterr()
    assert exit_code(["profiles", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == published_schema()
    assert exit_code(["profiles", "schema", "--out", str(tmp_path / "profile.schema.json")]) == 0
    assert json.loads((tmp_path / "profile.schema.json").read_text("utf-8")) == published_schema()


def test_the_schema_accepts_the_starter_and_refuses_what_has_another_shape(file: Path) -> None:
    value = read(file.read_text("utf-8")).value
    check: Callable[[Any], None] = partial(validate, schema=published_schema())

    check({**value, "$schema": "./profile.schema.json"})
    with pytest.raises(ValidationError) as refused:
        check(document({"tools.maxRounds": "8"}))
    assert refused.value.json_path == "$.tools.maxRounds"


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return fresh_sample(tmp_path)


def run(sample: Sample, root: Path, base_url: str, *more: str) -> int:
    chat, prompt = str(sample.chat), str(sample.prompt)
    return exit_code(
        ["run", "--chat", chat, "--prompt", prompt, "--base-url", base_url, "--model", "m", "--data", str(root), *more]
    )


def frozen(root: Path) -> Any:
    (path,) = root.rglob("resolved_profile.json")
    return json.loads(path.read_text("utf-8"))


def test_a_run_takes_a_stored_profile_by_its_id(sample: Sample, root: Path, file: Path) -> None:
    profiles(root, "save", file)

    with serving(GOOD) as server:
        assert run(sample, root, server.base_url, "--profile", "mine") == 0

    assert (frozen(root)["displayName"], frozen(root)["sourceTrace"]) == ("Mine", {"profileSource": "file:mine"})


def test_a_run_takes_a_profile_from_a_file_with_comments(sample: Sample, root: Path, file: Path) -> None:
    edit(file, '// "$schema"', '"$schema"')

    with serving(GOOD) as server:
        assert run(sample, root, server.base_url, "--profile", str(file)) == 0

    assert frozen(root)["displayName"] == "Mine"


def test_without_a_profile_a_stored_default_writer_is_followed(sample: Sample, root: Path, file: Path) -> None:
    edit(file, '"id": "mine"', '"id": "default-writer"')
    profiles(root, "save", file)

    with serving(GOOD) as server:
        assert run(sample, root, server.base_url) == 0

    assert (frozen(root)["displayName"], frozen(root)["sourceTrace"]) == (
        "Mine",
        {"profileSource": "file:default-writer"},
    )


def test_a_run_with_a_profile_that_can_not_be_used_is_refused(
    sample: Sample, root: Path, file: Path, capsys: Said
) -> None:
    edit(file, '"maxRounds": 80', '"maxRounds": 0')
    nobody = "http://127.0.0.1:9/v1"

    for given, words in (
        ("nobody", "agent.profile_not_found"),
        ("./none.json", "there is no profile file ./none.json"),
        (str(file), "line 88: the profile's $.tools.maxRounds"),
    ):
        capsys.readouterr()
        assert run(sample, root, nobody, "--profile", given) == 2
        assert words in capsys.readouterr().err
