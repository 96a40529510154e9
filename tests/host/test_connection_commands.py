"""`treadle connections` and `treadle secrets`: stored, shown, checked and used, and no key on any screen."""

from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.host.serving import serving
from treadle.host.cli import exit_code
from treadle.host.demo.sample import fresh_sample
from treadle.storage.connections import FOLDER, SETTINGS
from treadle.storage.secrets import FILE
from treadle.testkit.replies import call, calls

KEY = "sk-canary-7f3a9"
GOOD = (
    calls(call("workspace.write_file", path="output/main.md", content="The fog lifts.")),
    calls(call("workspace.commit")),
    calls(call("workspace.finish")),
)

Said = pytest.CaptureFixture[str]


class Typed(io.TextIOWrapper):
    """Standard input that was piped in."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data"


def treadle(root: Path, *arguments: str) -> int:
    return exit_code([*arguments, "--data", str(root)])


def told(root: Path, capsys: Said, *arguments: str) -> Any:
    capsys.readouterr()
    assert treadle(root, *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def refused(root: Path, capsys: Said, *arguments: str) -> str:
    capsys.readouterr()
    assert treadle(root, *arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert KEY not in err
    return err


def secret(root: Path, monkeypatch: pytest.MonkeyPatch, name: str = "work", data: bytes = KEY.encode() + b"\n") -> int:
    monkeypatch.setattr(sys, "stdin", Typed(data))
    return treadle(root, "secrets", "set", name)


def added(root: Path, *more: str, base_url: str = "http://127.0.0.1:9/v1") -> None:
    assert treadle(root, "connections", "add", "local", "--base-url", base_url, "--model", "m", *more) == 0


def test_a_connection_is_stored_listed_shown_and_removed(root: Path, capsys: Said) -> None:
    added(root, "--secret", "work", "--switch", "supportsTools=false", "--switch", "anthropicBeta=a,b")

    document = json.loads((root / FOLDER / "local.json").read_text("utf-8"))
    assert document["switches"] == {"supportsTools": False, "anthropicBeta": ["a", "b"]}
    assert document["auth"] == {"secretRef": {"key": "api_key_custom", "id": "work"}}
    assert told(root, capsys, "connections", "show", "local") == document
    (row,) = told(root, capsys, "connections", "list")
    assert (row["id"], row["source"], row["model"], row["secret"]) == ("local", "custom", "m", "work")
    assert treadle(root, "connections", "list") == 0
    assert "http://127.0.0.1:9/v1" in capsys.readouterr().out
    assert treadle(root, "connections", "remove", "local") == 0
    assert told(root, capsys, "connections", "list") == []
    assert "there is no connection local" in refused(root, capsys, "connections", "remove", "local")


def test_a_whole_record_may_come_from_a_file(root: Path, tmp_path: Path, capsys: Said) -> None:
    added(root)
    document = json.loads((root / FOLDER / "local.json").read_text("utf-8")) | {"id": "other"}
    path = tmp_path / "record.json"
    path.write_text(json.dumps(document))

    assert treadle(root, "connections", "add", "other", "--file", str(path)) == 0
    assert told(root, capsys, "connections", "show", "other") == document
    assert "the record's id is other" in refused(root, capsys, "connections", "add", "x", "--file", str(path))
    both = refused(root, capsys, "connections", "add", "other", "--file", str(path), "--model", "m")
    assert "leave the other options out" in both


def test_a_connection_is_not_overwritten_unasked(root: Path, capsys: Said) -> None:
    added(root)

    again = ("connections", "add", "local", "--base-url", "http://h.test", "--model", "n")
    assert "add --replace" in refused(root, capsys, *again)
    assert treadle(root, *again, "--replace") == 0
    assert told(root, capsys, "connections", "show", "local")["model"] == "n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--source", "skynet"), "$.provider.chatCompletionSource must be one of"),
        (("--source", "groq", "--base-url", "http://h"), "$.endpoint.baseUrl is for source custom"),
        ((), "$.endpoint.baseUrl is missing"),
        (("--base-url", f"http://me:{KEY}@h"), "must not hold a user or password"),
        (("--base-url", "http://h", "--switch", "webSocket"), "KEY=VALUE"),
        (("--base-url", "http://h", "--switch", "webSocket=on"), "webSocket must be one of auto, off"),
        (("--base-url", "http://h", "--format", "telepathy"), "$.provider.customApiFormat must be"),
    ],
)
def test_a_record_that_is_wrong_is_one_line_and_is_not_stored(
    root: Path, capsys: Said, arguments: tuple[str, ...], words: str
) -> None:
    assert words in refused(root, capsys, "connections", "add", "local", *arguments)
    assert not (root / FOLDER).exists()


@pytest.mark.parametrize("name", ["../up", "Local", ""])
def test_an_id_that_no_record_can_have_is_refused(root: Path, capsys: Said, name: str) -> None:
    for command in ("show", "remove", "check"):
        assert "llm_connection.id_" in refused(root, capsys, "connections", command, name)


def test_a_record_that_was_damaged_by_hand_is_listed_as_that(root: Path, capsys: Said) -> None:
    added(root)
    (root / FOLDER / "broken.json").write_text(f'{{"key": "{KEY}')
    (root / FOLDER / "odd.json").write_text(f'{{"schemaVersion": 1, "kind": "{KEY}"}}')

    rows = {row["id"]: row["error"] for row in told(root, capsys, "connections", "list")}
    assert rows["local"] is None
    assert "not JSON" in rows["broken"]
    assert "$.kind" in rows["odd"]
    assert treadle(root, "connections", "list") == 0
    assert KEY not in capsys.readouterr().out


def test_what_may_be_a_key_is_not_shown(root: Path, tmp_path: Path, capsys: Said) -> None:
    added(root, base_url=f"http://h.test/v1?key={KEY}")
    document = json.loads((root / FOLDER / "local.json").read_text("utf-8"))
    document |= {"id": "lined", "adapterHints": {"customIncludeHeaders": f"Authorization: Bearer {KEY}"}}
    headers = {"Authorization": f"Bearer {KEY}", "x-b": {"secretRef": "work"}}
    for name, given in (("lined", f"Authorization: {KEY}"), ("named", headers)):
        path = tmp_path / "record.json"
        path.write_text(json.dumps(document | {"id": name, "adapterHints": {"customIncludeHeaders": given}}))
        assert treadle(root, "connections", "add", name, "--file", str(path)) == 0

    shown = told(root, capsys, "connections", "show", "named")
    assert shown["adapterHints"] == {"customIncludeHeaders": {"Authorization": "***", "x-b": {"secretRef": "work"}}}
    assert shown["endpoint"] == {"baseUrl": "http://h.test/v1"}
    for name in ("local", "lined", "named"):
        assert treadle(root, "connections", "show", name) == 0
    assert treadle(root, "connections", "list") == 0
    assert KEY not in capsys.readouterr().out


def test_a_secret_is_read_from_standard_input_and_only_its_name_is_told(
    root: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert secret(root, monkeypatch) == 0

    assert json.loads((root / FILE).read_text("utf-8"))["secrets"] == {"work": KEY}
    assert told(root, capsys, "secrets", "list") == ["work"]
    assert treadle(root, "secrets", "list") == 0
    assert treadle(root, "secrets", "remove", "work") == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("work\nremoved work\n", "")
    assert "there is no secret work" in refused(root, capsys, "secrets", "remove", "work")


@pytest.mark.parametrize("data", [b"", b" \n", b"\xff\xfe"])
def test_an_input_that_holds_no_key_is_refused(
    root: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    assert secret(root, monkeypatch, data=data) == 2
    assert "standard input holds no text" in capsys.readouterr().err


def test_a_key_can_not_be_given_as_an_argument(root: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(KEY.encode()))

    for argument in (KEY, f"--value={KEY}"):
        assert "never an argument" in refused(root, capsys, "secrets", "set", "work", argument)
    assert not (root / FILE).exists()


def test_a_check_tells_what_a_run_would_use(root: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    added(root, "--secret", "work")
    assert "treadle secrets set" in refused(root, capsys, "connections", "check", "local")
    secret(root, monkeypatch)

    found = told(root, capsys, "connections", "check", "local")
    assert (found["ok"], found["format"], found["key"]) == (True, "openai_compatible", "found as work")
    assert told(root, capsys, "connections", "check", "local", "--model", "n")["model"] == "n"
    assert treadle(root, "connections", "check", "local") == 0
    assert KEY not in capsys.readouterr().out


def test_a_check_holds_the_connection_to_the_policy(root: Path, capsys: Said) -> None:
    added(root)
    rules = {"schemaVersion": 1, "kind": "tauritavern.llmSettings", "policy": {"sources": ["openai"]}}
    (root / SETTINGS).write_text(json.dumps(rules))

    assert treadle(root, "connections", "check", "local") == 1
    assert "model.provider_denied" in capsys.readouterr().err
    (root / SETTINGS).write_text("{")
    assert "llm-settings.json is not JSON" in refused(root, capsys, "connections", "check", "local")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_secrets_that_others_may_read_are_not_used(root: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    added(root, "--secret", "work")
    secret(root, monkeypatch)
    assert stat.S_IMODE((root / FILE).stat().st_mode) == 0o600
    (root / FILE).chmod(0o644)

    for arguments in (("connections", "check", "local"), ("secrets", "list"), ("secrets", "remove", "work")):
        assert "chmod 600" in refused(root, capsys, *arguments)


def test_a_run_goes_to_the_connection_that_is_named_with_its_key(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = fresh_sample(tmp_path)
    root = sample.prompt.parents[2]
    with serving(GOOD, api_key=KEY) as server:
        added(root, "--secret", "work", base_url=server.base_url)
        secret(root, monkeypatch)
        capsys.readouterr()
        files = ("--chat", str(sample.chat), "--prompt", str(sample.prompt))
        code = treadle(root, "run", *files, "--connection", "local", "--wire-log", "full")

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert KEY not in out
    holders = [path.name for path in root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holders == ["secrets.json"]


def test_a_run_on_a_connection_that_is_not_there_is_one_line(tmp_path: Path, capsys: Said) -> None:
    sample = fresh_sample(tmp_path)
    files = ("--chat", str(sample.chat), "--prompt", str(sample.prompt))

    missing = refused(sample.prompt.parents[2], capsys, "run", *files, "--connection", "local")
    assert "there is no connection local" in missing
