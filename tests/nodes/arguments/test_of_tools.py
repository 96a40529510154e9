"""Each tool's arguments are refused for what the plain rules refuse, and for nothing else: checked, then judged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from tests.nodes.arguments.test_given import ANY_JSON
from tests.nodes.desk import Desk, desk, profile
from treadle.graph.errors import ToolRefused
from treadle.graph.jsontext import Json
from treadle.graph.paths import parse
from treadle.nodes.arguments.check import check_arguments
from treadle.nodes.arguments.given import INVALID
from treadle.nodes.registry import TOOLS
from treadle.nodes.tool import Bench

Rule = Callable[[Json], bool]
ABSENT: Json = object()


def is_text(value: Json) -> bool:
    return isinstance(value, str) and not any(0xD800 <= ord(char) <= 0xDFFF for char in value)


def required_text(value: Json) -> bool:
    return is_text(value) and bool(value.strip())


def whole(value: Json) -> bool:
    return value is ABSENT or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def truth(value: Json) -> bool:
    return value is ABSENT or isinstance(value, bool)


def nullable_text(value: Json) -> bool:
    return value is ABSENT or value is None or is_text(value)


def start(value: Json) -> bool:
    if not nullable_text(value):
        return False
    if value is ABSENT or value is None or value.strip() in ("", ".", "./"):
        return True
    try:
        parse(value.strip())
    except ToolRefused:
        return value.strip("./\\ ") == "" and ".." not in value and value.strip()[:1] not in ("/", "\\")
    return True


def anything(_value: Json) -> bool:
    return True


RULES: dict[str, dict[str, Rule]] = {
    "workspace.list_files": {"path": start, "depth": whole},
    "workspace.search_files": {"query": required_text, "path": start, "limit": whole, "context_lines": whole},
    "workspace.read_file": {
        "path": required_text, "start_line": whole, "line_count": whole, "start_char": whole, "max_chars": whole,
    },
    "workspace.write_file": {"path": required_text, "content": is_text, "mode": anything},
    "workspace.apply_patch": {
        "path": required_text, "old_string": is_text, "new_string": is_text, "replace_all": truth,
    },
    "workspace.commit": {"path": nullable_text, "mode": nullable_text, "reason": nullable_text},
}  # fmt: skip
"""By tool and field, what is taken; what is not is `tool.invalid_arguments`."""

TEXTS = st.sampled_from(["", " ", "output/a.md", "/x", "..", "append", "text", "a\ud800", "x" * 300])
ODD: list[Json] = [3.0, True, None, 10**30, "3", [], {}]
VALUES: st.SearchStrategy[Json] = ANY_JSON | TEXTS | st.integers(-2, 100) | st.sampled_from(ODD)


def arguments_for(name: str) -> st.SearchStrategy[Json]:
    fields = st.fixed_dictionaries({}, optional=dict.fromkeys(RULES[name], VALUES))
    unknown = st.dictionaries(st.sampled_from(["note", "Path", "\ud800"]), VALUES, max_size=1)
    return st.tuples(fields, unknown).map(lambda both: both[0] | both[1])


CALLS = st.sampled_from(sorted(RULES)).flatmap(lambda name: st.tuples(st.just(name), arguments_for(name)))


@given_any(CALLS)
def test_a_call_is_refused_if_and_only_if_a_plain_rule_refuses_it(call: tuple[str, Json]) -> None:
    name, arguments = call
    wrong = [field for field, rule in RULES[name].items() if not rule(arguments.get(field, ABSENT))]

    result = desk({"output/a.md": "text"}).send(name, arguments)

    assert (result.error_code == INVALID) is bool(wrong), result.content
    if wrong:
        assert any(field in result.content for field in wrong) or "The path" in result.content


@given_any(CALLS)
def test_what_the_check_refuses_the_tool_alone_refuses_too(call: tuple[str, Json]) -> None:
    name, arguments = call
    try:
        check_arguments(TOOLS[name], arguments)
    except ToolRefused as refusal:
        assert refusal.code == INVALID
        with pytest.raises(ToolRefused):  # by another rule, perhaps, that the tool judges first
            TOOLS[name].run(arguments, _bench(desk({"output/a.md": "text"})))


@pytest.mark.parametrize("name", TOOLS)
@given_any(arguments=VALUES)
def test_only_an_object_is_taken_unless_arguments_are_ignored(name: str, arguments: Json) -> None:
    seated = desk({"output/main.md": "text"}, using=profile(presentation="background"))

    result = seated.send(name, arguments)

    if TOOLS[name].ignores_arguments:
        assert not result.is_error
    elif not isinstance(arguments, dict):
        assert result.error_code == INVALID


@pytest.mark.parametrize("mode", [None, 1, True, [], "over", "", "Replace"])
def test_a_write_mode_that_there_is_not_has_its_own_code(mode: Json) -> None:
    result = desk().call("workspace.write_file", path="output/a.md", content="", mode=mode)

    assert result.error_code == "workspace.write_mode_invalid"


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("workspace.write_file", {"content": "x", "mode": "over"}, INVALID),
        ("workspace.write_file", {"path": "/x", "content": "x", "mode": "over"}, "workspace.write_mode_invalid"),
        ("workspace.write_file", {"path": "/x", "content": "x"}, "workspace.invalid_path"),
        ("workspace.commit", {"mode": "over"}, "workspace.commit_mode_invalid"),
        ("workspace.commit", {"path": "/x", "mode": "over"}, "workspace.invalid_path"),
        ("workspace.commit", {"path": "/x", "mode": 5}, INVALID),
        ("workspace.read_file", {"path": "/x", "start_line": "1"}, INVALID),
        ("workspace.read_file", {"path": "/x", "start_line": 0}, "workspace.invalid_path"),
        ("workspace.apply_patch", {"path": "/x", "old_string": "", "new_string": 1}, INVALID),
        ("workspace.apply_patch", {"path": "/x", "old_string": "", "new_string": ""}, "workspace.patch_empty_old_string"),
        ("workspace.search_files", {"query": "", "limit": None}, INVALID),
    ],
)  # fmt: skip
def test_the_form_is_judged_before_the_tools_own_rules(name: str, arguments: Json, code: str) -> None:
    assert desk().send(name, arguments).error_code == code


def _bench(seated: Desk) -> Bench:
    return Bench(seated.workspace, seated.profile, seated.reads)
