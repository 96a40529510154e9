"""The MCP servers file: what it may hold, one clear error for what it may not, and keys that are never shown."""

from __future__ import annotations

import pytest

from treadle.engine.mcp.settings import Address, Command, ServerSettings, parse_servers, way_to
from treadle.gateway.connections.secret import Secret
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json

from .shed import servers

KEY = "sk-canary"


class Keys:
    def get(self, reference: str) -> str | None:
        return {"tea": KEY, "env:TEA": f"{KEY}-env", "keyring:tea": f"{KEY}-ring"}.get(reference)


def one(**settings: Json) -> ServerSettings:
    return parse_servers(servers({"shed": settings}))["shed"]


def test_a_command_and_an_address_are_read_with_their_defaults() -> None:
    program = one(command="shed", args=["--fast"], cwd="/srv", idempotentTools=["set"])
    page = one(url="https://shed.example/mcp", timeoutMs=500, enabled=False)

    assert way_to("shed", program, Keys()).timeout_s == 60
    assert (program.enabled, program.allows("anything"), program.idempotent_tools) == (True, True, ("set",))
    assert (page.enabled, way_to("shed", page, Keys()).timeout_s) == (False, 0.5)


def test_what_is_denied_is_not_allowed_and_a_list_of_the_allowed_allows_nothing_else() -> None:
    held = one(command="shed", allowTools=["a", "b"], denyTools=["b"])

    assert [held.allows(tool) for tool in "abc"] == [True, False, False]


def test_keys_are_put_in_place_and_shown_nowhere() -> None:
    program = one(command="shed", env={"A": "secret:tea", "B": "env:TEA", "C": "plain", "D": "keyring:tea"})
    page = one(url="http://127.0.0.1:9/mcp", headers={"Authorization": "Bearer secret:tea"})
    ways = way_to("shed", program, Keys()), way_to("shed", page, Keys())

    assert isinstance(ways[0].to, Command)
    assert isinstance(ways[1].to, Address)
    assert ways[0].to.env == {"A": KEY, "B": f"{KEY}-env", "C": "plain", "D": f"{KEY}-ring"}
    assert ways[1].to.headers == {"Authorization": f"Bearer {KEY}"}
    assert Secret(KEY) in ways[0].secrets
    assert Secret("plain") in ways[0].secrets
    assert KEY not in repr(ways)
    assert "plain" not in repr((ways, program))


def test_a_key_that_is_not_there_is_named_with_its_place() -> None:
    with pytest.raises(InvalidInput, match=r"\$\.servers\.shed\.env\.A names secret:coffee") as refused:
        way_to("shed", one(command="shed", env={"A": "secret:coffee"}), Keys())
    assert refused.value.error_code == "mcp.secret_missing"


@pytest.mark.parametrize(
    ("settings", "path", "says"),
    [
        ({}, "servers.shed", "a command or a url"),
        ({"command": "x", "url": "http://h"}, "servers.shed", "not both"),
        ({"command": " "}, "servers.shed.command", "must name a program"),
        ({"command": 5}, "servers.shed.command", "must be a string"),
        ({"command": "a\0b"}, "servers.shed.command", "null character"),
        ({"command": "x", "args": "--fast"}, "servers.shed.args", "must be a list"),
        ({"command": "x", "args": [1]}, "servers.shed.args[0]", "must be a string"),
        ({"command": "x", "headers": {"A": "b"}}, "servers.shed.headers", "remove it"),
        ({"command": "x", "cwd": "here"}, "servers.shed.cwd", "absolute"),
        ({"command": "x", "env": {"A=B": "c"}}, "servers.shed.env", "can't be a variable"),
        ({"command": "x", "env": {"A": 1}}, "servers.shed.env.A", "must be a string"),
        ({"command": "x", "shell": True}, "servers.shed.shell", "remove it"),
        ({"command": "x", "timeoutMs": 0}, "servers.shed.timeoutMs", "1 to 600000"),
        ({"command": "x", "timeoutMs": "5"}, "servers.shed.timeoutMs", "must be a valid integer"),
        ({"command": "x", "enabled": "yes"}, "servers.shed.enabled", "must be a valid boolean"),
        ({"command": "x", "allowTools": "a"}, "servers.shed.allowTools", "must be a list"),
        ({"url": "ftp://h"}, "servers.shed.url", "must begin with"),
        ({"url": "http://u:sk-canary@h"}, "servers.shed.url", "must not hold a user"),
        ({"url": "http://h", "args": ["x"]}, "servers.shed.args", "remove it"),
        ({"url": "http://h", "env": {"A": "b"}}, "servers.shed.env", "remove it"),
        ({"url": "http://h", "headers": {"A b": "c"}}, "servers.shed.headers", "can't be a header"),
        ({"url": "http://h", "headers": {"A": "sk-canary\n"}}, "servers.shed.headers", "can't be a header"),
    ],
)
def test_what_is_wrong_is_one_error_with_the_fields_path(settings: Json, path: str, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        one(**settings)

    assert (refused.value.error_code, refused.value.details["path"]) == ("mcp.settings_invalid", f"$.{path}")
    assert says in refused.value.message
    assert KEY not in refused.value.message


@pytest.mark.parametrize("name", ["", "Shed", "my_shed", "a.b", "-a", "s" * 33])
def test_a_servers_name_must_fit_into_the_names_of_its_tools(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"\$\.servers names a server"):
        parse_servers(servers({name: {"command": "x"}}))


@pytest.mark.parametrize(
    "document",
    [None, [], "x", {}, {**servers({}), "kind": "other"}, {**servers({}), "schemaVersion": 2}, servers([])],  # type: ignore[arg-type]  # bad on purpose
)
def test_what_is_no_such_document_is_refused(document: Json) -> None:
    with pytest.raises(InvalidInput):
        parse_servers(document)
