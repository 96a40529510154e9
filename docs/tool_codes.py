"""Which codes a tool can refuse a call with, read from the functions that it calls, however far away they are."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import cast

from treadle.graph.errors import ToolRefused, TreadleError
from treadle.nodes import call, commit
from treadle.nodes.arguments import check as argument_check
from treadle.nodes.deps import Run
from treadle.nodes.registry import KNOWN_TOOLS
from treadle.nodes.tool import Bench, Tool

_CODE = re.compile(r"(agent|chat|model|skill|tool|workspace|worldinfo)\.[a-z_]+")
_OPAQUE = (Bench, Tool, Run, call.Seat)
"""What tools are given, not what they do."""
_LATER: dict[str, FunctionType] = {"workspace.commit": vars(commit)["_plan"]}
"""What is still checked after the tool itself, by another step."""

Followed = type | FunctionType


def before_any_tool() -> set[str]:
    """The codes with which a call is refused before its tool is asked."""
    return _codes_from(vars(call)["_gate"])


def codes_of(tool: Tool) -> set[str]:
    """The codes of one tool: of its arguments, of its own rules, and of what is checked after it."""
    roots = [cast(FunctionType, each) for each in (argument_check.check_arguments, tool.run)]
    roots += [step for name, step in _LATER.items() if name == tool.spec.name]
    return {code for root in roots for code in _codes_from(root)}


def _codes_from(root: Followed) -> set[str]:
    waiting: list[Followed] = [root]
    seen, found = {id(root)}, set[str]()
    while waiting:
        for each in _named(waiting.pop()):
            if isinstance(each, str):
                found.add(each)
            elif id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)
    return found


@cache
def _named(thing: Followed) -> list[Followed | str]:
    """The codes that stand in the source of a function or class, and the functions and classes that it names."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    silent = [each for each in ast.walk(tree) if _is_fatal(each, thing)]
    silent += [statement for each in ast.walk(tree) if _is_retold(each) for statement in cast(ast.Try, each).body]
    passed_over = {id(inner) for each in silent for inner in ast.walk(each)}
    return [found for node in ast.walk(tree) if id(node) not in passed_over for found in _in(node, thing)]


def _in(node: ast.AST, thing: Followed) -> Iterator[Followed | str]:
    match node:
        case ast.Constant(value=str(text)) if _is_code(text):
            yield text
        case ast.Attribute(value=ast.Name(id=name), attr="code"):
            error = _global(name, thing)
            if isinstance(error, type) and issubclass(error, TreadleError):
                yield error.code
        case ast.Name(id=name):
            yield from _worth_following(_global(name, thing))
        case _:
            pass


def _worth_following(value: object) -> Iterator[Followed | str]:
    if isinstance(value, str):
        if _is_code(value):
            yield value
    elif isinstance(value, type | FunctionType) and value.__module__.startswith("treadle."):
        error = isinstance(value, type) and issubclass(value, TreadleError | ToolRefused)
        if not error and value not in _OPAQUE:
            yield value


def _is_fatal(node: ast.AST, thing: Followed) -> bool:
    """Whether an error is made here that ends the run: its code is told to nobody's model."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    error = _global(node.func.id, thing)
    return isinstance(error, type) and issubclass(error, TreadleError)


def _is_retold(node: ast.AST) -> bool:
    """Whether refusals are caught here, and go on neither as they are nor by their code."""
    if not isinstance(node, ast.Try):
        return False
    handlers = [each for each in node.handlers if isinstance(each.type, ast.Name) and each.type.id == "ToolRefused"]
    passed_on = [inner for each in handlers for inner in ast.walk(each) if _passes_on(inner)]
    return bool(handlers) and not passed_on


def _passes_on(node: ast.AST) -> bool:
    return (isinstance(node, ast.Raise) and node.exc is None) or (
        isinstance(node, ast.Attribute) and node.attr == "code"
    )


def _global(name: str, thing: Followed) -> object:
    return vars(sys.modules[thing.__module__]).get(name)


def _is_code(text: str) -> bool:
    return _CODE.fullmatch(text) is not None and text not in KNOWN_TOOLS
