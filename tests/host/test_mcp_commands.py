"""`treadle mcp-servers` shows what the servers file names and what a server offers, and no key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.graph.jsontext import Json, dumps
from treadle.host.cli import exit_code
from treadle.host.tables import mcp_tool_table, to_screen
from treadle.storage.mcp_servers import FILE

from ..engine.mcp.shed import Shed, servers
from ..scenarios.stage import Stage

Said = pytest.CaptureFixture[str]
KEY = "sk-canary"


def test_the_servers_are_listed_without_starting_one_and_without_a_key(tmp_path: Path, capsys: Said) -> None:
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    held: dict[str, Json] = {
        "shed": {"command": "/no/such/shed", "args": [f"--key={KEY}"], "env": {"KEY": KEY}, "enabled": False},
        "barn": {"url": f"https://barn.example/mcp?key={KEY}", "headers": {"X-Key": KEY}, "allowTools": ["milk"]},
    }
    path.write_bytes(dumps(servers(held)))
    ended = exit_code(["mcp-servers", "list", "--data", str(tmp_path)])
    shown = capsys.readouterr().out
    ended += exit_code(["mcp-servers", "list", "--json", "--data", str(tmp_path)])
    told = capsys.readouterr().out

    assert ended == 0
    assert [line.split() for line in shown.splitlines()[2:]] == [
        ["shed", "stdio", "off", "/no/such/shed"], ["barn", "http", "on", "https://barn.example/mcp"],
    ]  # fmt: skip
    assert [row["allowTools"] for row in json.loads(told)] == [None, ["milk"]]
    assert KEY not in shown + told


def test_where_no_server_is_named_the_place_to_name_one_is_told(tmp_path: Path, capsys: Said) -> None:
    assert exit_code(["mcp-servers", "list", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"No MCP servers are named; name them in {tmp_path / FILE}\n"


def test_a_check_starts_the_server_and_shows_its_tools_by_the_names_that_profiles_use(
    tmp_path: Path, capsys: Said
) -> None:
    shed = Shed(Stage(tmp_path))
    shed.put(denyTools=["die"])
    ended = exit_code(["mcp-servers", "check", "shed", "--json", "--data", str(shed.stage.root)])
    out, err = capsys.readouterr()

    rows = {row["tool"]: row for row in json.loads(out)}
    assert (ended, err, shed.living) == (0, "", [])
    assert (rows["add"]["name"], rows["add"]["marks"]) == ("mcp.shed.add", ["read-only"])
    assert (rows["set"]["marks"], rows["die"]["allowed"]) == (["mutating", "idempotent"], False)


def test_an_unknown_server_is_a_line_that_names_those_there_are(tmp_path: Path, capsys: Said) -> None:
    ended = exit_code(["mcp-servers", "check", "shed", "--data", str(tmp_path)])

    assert ended == 2
    assert "names no 'shed'; it names: none (mcp.server_denied)" in capsys.readouterr().err


def test_what_a_server_wrote_can_not_take_over_the_terminal(capsys: Said) -> None:
    row: dict[str, Json] = {
        "name": None,
        "tool": "a\u001b[2J",
        "allowed": True,
        "marks": [],
        "description": "[red]x\u001b]0;y\u0007\nz",
    }
    to_screen(mcp_tool_table([row]))

    shown = capsys.readouterr().out
    assert "\u001b" not in shown
    assert "[red]x" in shown
