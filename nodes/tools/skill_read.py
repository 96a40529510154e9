"""`skill.read`: a file of a skill, by lines or by characters."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...storage.skills.ranges import Part, PastEnd, Range, cut, measures
from ..arguments.given import given, integer, schema, shown, string
from ..skills import asked_path, check_visible, exhausted, invalid, parsed, read, ref, remaining
from ..tool import Answer, Bench

PATH = "SKILL.md"

SPEC = ToolSpec(
    name="skill.read",
    title="Read a skill",
    description=(
        f"Read a text file of a skill, without line numbers. Start with its {PATH}, which names the others. Give "
        "start_line and line_count, or start_char, to read a part; what is longer than max_chars is cut."
    ),
    input_schema=schema(
        {
            "name": string("The skill, as skill_list names it."),
            "path": string(f"File of the skill, such as references/tone.md; default {PATH}."),
            "start_line": integer("First line to read: 1 or more, default 1."),
            "line_count": integer("How many lines to read: 1 or more, default to the end of the file."),
            "start_char": integer("First character to read, counted from 0. Not together with lines."),
            "max_chars": integer("How many characters to return: 1 or more, default as many as may be read."),
        },
        required=("name",),
    ),
    annotations=Annotations(read_only=True, source_kind="skill"),
)

JUDGES = frozenset({"path"})
"""What is no text is as good as nothing, and a path is refused by what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Arguments:
    name: str
    path: str = PATH
    start_line: int | None = None
    line_count: int | None = None
    start_char: int | None = None
    max_chars: int | None = None


def run(arguments: Json, bench: Bench) -> Answer:
    asked = _asked(arguments)
    check_visible(asked.name, bench)
    most = _most_chars(asked, bench)
    path = parsed(asked.path)
    _check_ranges(asked)
    data = read(asked.name, path, bench)
    text = _text(path, data)
    part = _part(asked, text, most)
    told = measures(asked.name, path, data, text, part)
    if asked.start_char is None:
        place = f"lines {part.first}-{part.last} of {told['totalLines']}"
    else:
        place = f"chars {part.start_char}-{part.end_char} of {told['totalChars']}"
    size = f"{told['chars']} chars / {told['words']} words"
    cut_off = " (truncated)" if told["truncated"] else ""
    source = ref(asked.name, path)
    return Answer(
        content=f"{size} from {source}, sha256 {told['sha256']}{cut_off}, {place}\n{part.text}",
        structured=told,
        resource_refs=(source,),
    )


def _asked(arguments: Json) -> Arguments:
    fields = given(arguments)
    return Arguments(
        name=fields.text("name"),
        path=asked_path(fields) or PATH,
        start_line=fields.optional_number("start_line"),
        line_count=fields.optional_number("line_count"),
        start_char=fields.optional_number("start_char"),
        max_chars=fields.optional_number("max_chars"),
    )


def _most_chars(asked: Arguments, bench: Bench) -> int:
    """How much the call may return, by its own word and both budgets."""
    left = remaining(bench)
    per_call = bench.profile.definition.skills.max_read_chars_per_call
    if asked.max_chars is None:
        return min(per_call, left)
    if asked.max_chars > per_call:
        raise ToolRefused("skill.read_budget_exceeded", f"max_chars must be 1 to {per_call}.")
    if asked.max_chars > left:
        message = f"max_chars is {asked.max_chars}, and only {left} characters of skills are left to read in this run."
        raise exhausted(message)
    return asked.max_chars


def _check_ranges(asked: Arguments) -> None:
    """What is wrong with the ranges by themselves, before any file is read."""
    if asked.start_char is not None and (asked.start_line is not None or asked.line_count is not None):
        raise invalid("Give start_line and line_count, or start_char, not both.")
    for key, value in (
        ("start_line", asked.start_line), ("line_count", asked.line_count), ("max_chars", asked.max_chars),
    ):  # fmt: skip
        if value == 0:
            raise invalid(f"{key} must be 1 or more.")


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise invalid(f"{path} is no text, so it can't be read; leave it aside.") from error


def _part(asked: Arguments, text: str, most: int) -> Part:
    try:
        return cut(text, Range(asked.start_line, asked.line_count, asked.start_char, most))
    except PastEnd as fault:
        raise invalid(f"{fault.field} {shown(getattr(asked, fault.field))} is past the end: {fault.what}.") from fault
