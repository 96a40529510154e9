"""The traps of the gateway: faults that real systems have, each with a test that carries its number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TRAPS = {
    1: "Gemini: the results of parallel calls stand in one content",
    2: "Gemini 3: a replayed call without a signature gets none",
    3: "Gemini 3: of calls made elsewhere only the first gets the stand-in for a signature",
    4: "Gemini: an empty part that carries a signature goes back",
    5: "Gemini: a result repeats the id that the model gave its call",
    6: "Vertex: ids of another provider appear nowhere",
    7: "Gemini: a call without an id is refused, none is made up",
    8: "Gemini: a bungled call is an upstream fault, not an empty answer",
    9: "Gemini: a blocked prompt is told as such, and not asked again",
    10: "Claude: the blocks of an answer go back verbatim, in order, unmerged",
    11: "Claude: an empty but signed thought goes back",
    12: "Claude: results and the words after them are one user message, results first",
    13: "Claude: no tool is forced while the model thinks",
    14: "Claude: an answer from elsewhere keeps its text beside its calls",
    15: "Claude: a failed result says so",
    16: "Claude: a paused answer is gone on with, and is one answer",
    17: "Claude: an id that its servers refuse has one alias, on call and result",
    18: "Claude: cache marks stand on blocks of ours only, at most four",
    19: "Claude: a property named cache_control is no cache mark",
    20: "Claude: an overload is worth another try, as a status and as an event",
    21: "chat: calls count, whatever the finish is called",
    22: "all: what was cut off is never run, nor are arguments that do not parse",
    23: "chat: blank arguments are an empty object",
    24: "chat: broken arguments travel once, inside an object",
    25: "DeepSeek, Kimi: every turn has reasoning_content, blank where none came",
    26: "Groq, Cerebras: no reasoning goes back",
    27: "vLLM: reasoning under its newer name is read",
    28: "OpenRouter: reasoning_details go back as they came, and ciphers are read nowhere",
    29: "Gemini by chat: a signature goes back on its call and on no other",
    30: "chat: a turn of calls alone has the key content",
    31: "all: tools have their alias on the wire and their name in our words",
    32: "Responses: a call is known by its call_id",
    33: "Responses: a call without call_id is refused",
    34: "Responses: reasoning and its call go back side by side as they came",
    35: "Responses: the phase of a message goes back",
    36: "Responses: encrypted reasoning is always asked for, once",
    37: "Responses: a cursor that is missing or too large stops the request",
    38: "Responses: what the provider remembers is not sent again",
    39: "Responses: all results and notes after an answer go in one input",
    40: "Responses: a socket lost between turns costs one whole transcript",
    41: "Responses: a socket past its hour is opened anew",
    42: "Responses: events of a cancelled turn are not taken for the next",
    43: "Responses: a socket that closes before the end of an answer has failed",
    44: "Responses: an error's code is found in both of its places",
    45: "Responses: a frame of several MiB arrives",
    46: "Responses: the calls of an incomplete answer are cut off",
    47: "Responses: no other server is told of a remembered answer",
    48: "native formats: calls without their native block are lost, and nothing is run",
    49: "all: state, session and keys go into no body, header, log or error",
    50: "Gemini: the key stands in one header, never in a URL that is told",
    51: "all: an error inside a 200 is judged by its own code",
    52: "Gemini: an error in a list is read like any other",
    53: "OpenAI: a spent quota is final",
    54: "Gemini: the wait is rounded up, and a spent day is final",
    55: "all: Retry-After is read in each spelling that has a meaning",
    56: "all: a 200 without JSON is worth another try, and its preview is short",
    57: "Gemini schemas: a property may be named like a keyword",
    58: "Gemini schemas: empty objects are strings, and required names what is there",
    59: "Interactions: answers in steps and in outputs keep their shape",
    60: "Interactions: a call without an id is refused, not dropped",
    61: "all: large integers and lone surrogates survive",
    62: "all: a missing answer id stays missing, and Responses can't do without",
    63: "all: another attempt sends the same bytes",
    64: "streams: fragments are joined before they are read, comments left out",
    65: "chat streams: usage after the end counts, and only a finish ends an answer",
    66: "chat: no setting merges the turns of a tool transcript",
    67: "Claude: leading system text is the system's, later notes follow the results",
    68: "all: no setting replaces the transcript or the tools",
}
"""What the test of each trap guards, by number."""

_TESTS = Path(__file__).parents[1]


def trap(*numbers: int) -> pytest.MarkDecorator:
    return pytest.mark.trap(*numbers)


@cache
def marked() -> dict[int, list[str]]:
    """The tests of each trap as pytest names them; raises ValueError for a mark that stands on no test."""
    found: dict[int, list[str]] = {}
    for file in sorted(_TESTS.rglob("test_*.py")):
        text = file.read_text("utf-8")
        if "trap(" not in text:
            continue
        module = ast.parse(text)
        name = file.relative_to(_TESTS.parent).as_posix()
        marks = [
            (test, mark) for test, function in _tests(module, name) for mark in map(_mark, function.decorator_list)
        ]
        if sum(mark is not None for _, mark in marks) != sum(_mark(node) is not None for node in ast.walk(module)):
            raise ValueError(f"{name} holds a trap's mark that decorates no test")
        for test, mark in marks:
            for number in mark or ():
                found.setdefault(number, []).append(test)
    return found


def _tests(body: ast.Module | ast.ClassDef, name: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in body.body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node, f"{name}::{node.name}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield f"{name}::{node.name}", node


def _mark(node: ast.AST) -> tuple[int, ...] | None:
    """The numbers of a mark, written out; None for anything else."""
    if not isinstance(node, ast.Call):
        return None
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return tuple(ast.literal_eval(number) for number in node.args) if name == "trap" else None
