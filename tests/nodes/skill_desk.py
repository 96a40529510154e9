"""A desk with skills on its shelf, under the rules of a profile."""

from __future__ import annotations

from tests.graph.profiles.documents import resolved
from tests.nodes.desk import Desk
from treadle.testkit.skills import MemorySkills

STYLE_MD = "---\nname: style\ndescription: How to sound.\n---\nShort lines.\nNo ornament."
TONE = "Calm.\nThe red door\nstays shut.\n"

FILES: dict[str, str | bytes] = {
    "SKILL.md": STYLE_MD,
    "references/tone.md": TONE,
    "references/empty.md": "",
    "art/cover.png": b"\x89PNG\xff",
}


def skill_desk(files: dict[str, str | bytes] | None = None, /, **skills: object) -> Desk:
    """With a skill `style` of these files, and a skill `lore`; `skills` are fields of the profile's `skills` block."""
    held = {path: _bytes(content) for path, content in (FILES if files is None else files).items()}
    lore = {"SKILL.md": b"---\nname: lore\ndescription: The world.\n---\n"}
    profile = resolved({f"skills.{key}": value for key, value in skills.items()})
    return Desk(profile=profile, skills=MemorySkills({"style": held, "lore": lore}))


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
