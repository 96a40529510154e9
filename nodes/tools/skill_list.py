"""`skill.list`: which skills there are, and what each is for."""

from __future__ import annotations

from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ..arguments.given import schema
from ..skills import visible
from ..tool import Answer, Bench

SPEC = ToolSpec(
    name="skill.list",
    title="List skills",
    description="List the skills that you may use: guidance that the user installed, each with what it is for.",
    input_schema=schema({}),
    annotations=Annotations(read_only=True, source_kind="skill"),
)


def run(arguments: Json, bench: Bench) -> Answer:
    """Whatever is sent as arguments, there is nothing to be asked."""
    skills = visible(bench)
    # a description may have line breaks; here a skill is one line, and the structured result has it as it is
    lines = [f"- {skill.name}: {' '.join(skill.description.split())}" for skill in skills]
    if lines and "skill.read" in bench.profile.visible_tools:
        lines += ["", "Read the SKILL.md of one with skill_read before you work by it."]
    return Answer(
        content="\n".join(lines) or "There are no skills here.",
        structured={"skills": [{"name": skill.name, "description": skill.description} for skill in skills]},
    )
