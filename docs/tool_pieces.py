"""The page of tools: what each takes, answers and refuses, from the registry, real calls and the source."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

import tool_samples
from pieces import argument_rows, fenced, table
from tool_codes import before_any_tool, codes_of

from treadle.graph.jsontext import Json
from treadle.nodes import registry
from treadle.nodes.tool import Tool

NOTES: dict[str, Json] = tomllib.loads(Path(__file__).with_name("tool_notes.toml").read_text("utf-8"))


def tools() -> list[str]:
    """One section a tool, in the registry's order; raises SystemExit where notes and code differ."""
    codes = {name: _codes(name, tool) for name, tool in registry.TOOLS.items()}
    _check_notes({*before_any_tool(), *(code for each in codes.values() for code in each)})
    lines: list[str] = []
    for name, tool in registry.TOOLS.items():
        lines += ["", *_section(tool, codes[name])]
    return lines[1:]


def common_codes() -> list[str]:
    return _code_table(before_any_tool())


def _section(tool: Tool, codes: Iterable[str]) -> list[str]:
    spec = tool.spec
    note, marks = NOTES["tools"][spec.name], ", ".join(spec.annotations.to_json())
    arguments = table(("argument", "type", "required", "meaning"), argument_rows(spec.input_schema))
    return [
        f"## `{spec.name}`", "",
        f"{note['why']} To the model: `{spec.model_name}`. Marks: {marks or 'none'}.", "",
        f"> {spec.description}", "",
        *(arguments if spec.input_schema["properties"] else ["It takes no arguments."]), *_leniency(tool), "",
        f"**Answers:** {note['text']} References: {note['refs']}.", "",
        *_sample(spec.name, spec.model_name), "",
        "**Refuses with:**", "",
        *_code_table(codes),
    ]  # fmt: skip


def _leniency(tool: Tool) -> list[str]:
    if tool.ignores_arguments:
        return ["", "Arguments of another form are ignored, unless they were cut off."]
    return ["", "Keys that are not listed are refused."] if tool.closed else []


def _sample(name: str, model_name: str) -> list[str]:
    if name not in tool_samples.CALLS:
        raise SystemExit(f"docs/tool_samples.py has no call of {name}")
    answer = tool_samples.answer(name)
    arguments = json.dumps(tool_samples.CALLS[name], ensure_ascii=False)
    told = {"structured": answer.structured, "resourceRefs": list(answer.resource_refs)}
    return [
        *fenced("text", f"{model_name} {arguments}\n\n{answer.content}"), "",
        *fenced("json", json.dumps(told, indent=2, ensure_ascii=False)),
    ]  # fmt: skip


def _codes(name: str, tool: Tool) -> set[str]:
    if name not in NOTES["tools"]:
        raise SystemExit(f"docs/tool_notes.toml says nothing of {name}")
    never = set(NOTES["tools"][name].get("never", ()))
    found = codes_of(tool)
    if never - found:
        raise SystemExit(f"docs/tool_notes.toml: {name} names {', '.join(sorted(never - found))}, which it never meets")
    return found - never


def _check_notes(codes: set[str]) -> None:
    noted = set(NOTES["codes"])
    if codes - noted:
        raise SystemExit(f"docs/tool_notes.toml has no note of: {', '.join(sorted(codes - noted))}")
    if noted - codes and len(registry.TOOLS) == len(registry.KNOWN_TOOLS):
        raise SystemExit(f"docs/tool_notes.toml: no tool answers with {', '.join(sorted(noted - codes))}")


def _code_table(codes: Iterable[str]) -> list[str]:
    return table(
        ("code", "when", "what helps"), ((f"`{code}`", *NOTES["codes"][code]) for code in sorted(codes, key=_order))
    )


def _order(code: str) -> int:
    """Codes stand in the order of their notes."""
    return list(NOTES["codes"]).index(code)
