"""`agents/tauritavern.json`: what a skill may say of itself beside its SKILL.md. Optional, and checked whole."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.jsontext import loads
from .fields import Fields
from .shelf import SkillRefused

SIDECAR = "agents/tauritavern.json"

_KNOWN = (
    "version", "displayName", "sourceKind", "allowImplicitInvocation", "recommendedTools", "recommendedContext", "tags",
    "notes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sidecar:
    """Only what the index keeps; the rest is for other programs."""

    display_name: str | None = None
    source_kind: str | None = None
    tags: tuple[str, ...] = ()


def sidecar_of(data: bytes | None) -> Sidecar:
    """None, for a skill without one, is an empty one; raises SkillRefused with the field's path."""
    if data is None:
        return Sidecar()
    try:
        document = loads(data)
    except ValueError as error:
        raise SkillRefused(f"{SIDECAR} is not JSON ({error}); mend it or leave it out") from error
    fields = Fields(document, SIDECAR, _KNOWN)
    version = fields.integer("version", 1, 1)
    if version is None:
        raise SkillRefused(f"{SIDECAR}.version is missing; add 1", details={"path": f"{SIDECAR}.version"})
    fields.flag("allowImplicitInvocation")
    fields.texts("recommendedTools")
    fields.optional_text("notes")
    if fields.any("recommendedContext") is not None:
        context = Fields(
            fields.any("recommendedContext"),
            fields.path("recommendedContext"),
            ("defaultBudgetTokens", "preferredMode"),
        )
        context.integer("defaultBudgetTokens", 0)
        context.optional_text("preferredMode")
    tags = tuple(tag.strip() for tag in fields.texts("tags") if tag.strip())
    return Sidecar(fields.optional_text("displayName"), fields.optional_text("sourceKind"), tags)
