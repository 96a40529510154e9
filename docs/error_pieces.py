"""The error tree and the list of codes, read from the classes and from the source."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from pieces import NOTES

import treadle
from treadle.graph.errors import RunCancelled, ToolRefused, TreadleError
from treadle.nodes.registry import KNOWN_TOOLS

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("graph", "gateway", "storage", "nodes", "treadle")

_FAMILIES = (
    "agent",
    "chat",
    "commit",
    "journal",
    "llm_connection",
    "llm_settings",
    "mcp",
    "model",
    "prompt_assembly",
    "secret",
    "skill",
    "tool",
    "workspace",
    "worldinfo",
)
_CODE = re.compile(rf"({'|'.join(_FAMILIES)})\.[a-z][a-z0-9_]*")
_TOOLS = frozenset({*KNOWN_TOOLS, "agent.list", "agent.delegate", "agent.await", "agent.handoff"})


def error_tree() -> list[str]:
    for module in pkgutil.walk_packages(treadle.__path__, "treadle."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    lines = ["```text", *_branch(TreadleError, "", ""), *_leaf(RunCancelled, ""), *_leaf(ToolRefused, ""), "```"]
    return [line.rstrip() for line in lines]


def codes() -> list[str]:
    lines = ["| where | codes |", "| --- | --- |"]
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT)
            found = [] if (ROOT / room / name.parts[1]).is_symlink() else sorted(set(_codes(path)))
            if found:
                lines.append(f"| `{name.as_posix()}` | {', '.join(f'`{code}`' for code in found)} |")
    return lines


def _branch(kind: type[Exception], before: str, below: str) -> Iterator[str]:
    yield from _leaf(kind, before)
    children = sorted(filter(_is_ours, kind.__subclasses__()), key=_common_first)
    for child in children:
        last = child is children[-1]
        yield from _branch(child, f"{below}{'└── ' if last else '├── '}", f"{below}{'    ' if last else '│   '}")


def _is_ours(kind: type[Exception]) -> bool:
    return kind.__module__.startswith("treadle.")


def _common_first(kind: type[Exception]) -> tuple[bool, str]:
    return kind.__module__ != TreadleError.__module__, kind.__name__


def _leaf(kind: type[Exception], before: str) -> Iterator[str]:
    message = (kind.__doc__ or "").strip().splitlines()[0]
    code = getattr(kind, "code", "") if issubclass(kind, TreadleError) else ""
    yield f"{before + kind.__name__:<38}{code:<38}{message}"


def _codes(path: Path) -> Iterator[str]:
    families: dict[str, list[str]] = NOTES["code_families"]
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if not _CODE.fullmatch(node.value) or node.value in _TOOLS:
            continue
        for end in families.get(node.value, [""]):
            if f'{end}"' not in text:
                raise SystemExit(f"docs/notes.toml: {path.name} makes no code that ends in {end}")
            yield node.value + end
