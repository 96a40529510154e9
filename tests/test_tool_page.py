"""The page of tools has a section for each tool, and in it every code that the tool can answer with."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from treadle.graph.errors import InvalidData, ToolRefused
from treadle.graph.jsontext import Json
from treadle.graph.messages import ToolSpec
from treadle.nodes.files import visible
from treadle.nodes.registry import TOOLS
from treadle.nodes.tool import Answer, Bench, Tool

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def tool_codes(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    return importlib.import_module("tool_codes")


def sections() -> dict[str, str]:
    parts = re.split(r"^## `([a-z_.]+)`$", (DOCS / "tools.md").read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_there_is_a_section_for_each_tool_in_their_order() -> None:
    assert list(sections()) == list(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_a_section_has_every_argument_and_an_answer(name: str) -> None:
    section = sections()[name]

    for field in TOOLS[name].spec.input_schema["properties"]:
        assert f"| `{field}` |" in section
    assert f"```text\n{TOOLS[name].spec.model_name} {{" in section
    assert "**Refuses with:**" in section


def test_a_code_is_found_in_the_tool_and_in_what_it_calls(tool_codes: Any) -> None:
    assert tool_codes.codes_of(_tool(_reading)) >= {
        "tool.invalid_arguments", "workspace.brand_new", "workspace.invalid_path", "workspace.path_not_visible",
    }  # fmt: skip


def test_codes_of_errors_that_end_the_run_and_of_refusals_that_are_caught_are_not_the_models(tool_codes: Any) -> None:
    assert tool_codes.codes_of(_tool(_breaking)) == {"tool.invalid_arguments"}


def _tool(run: Any) -> Tool:
    return Tool(ToolSpec("chat.test", "Test", "A test.", {"type": "object", "properties": {}}), run)


def _reading(_arguments: Json, bench: Bench) -> Answer:
    path = visible("output/a.md", bench)
    raise ToolRefused("workspace.brand_new", f"{path} is never right.")


def _breaking(_arguments: Json, bench: Bench) -> Answer:
    try:
        visible("output/a.md", bench)
    except ToolRefused:
        raise InvalidData("broken", code="agent.broken_test") from None
    return Answer("", None)
