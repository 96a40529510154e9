"""A profile held against the tools that there are."""

from __future__ import annotations

from ..graph.jsontext import Json, is_object
from ..graph.profiles.faults import PresetExists
from ..graph.profiles.resolved import Profile, parse_profile
from .registry import KNOWN_TOOLS, TOOLS


def checked_profile(document: Json, preset_exists: PresetExists | None = None) -> Profile:
    """The profile in a document; raises InvalidInput as `parse_profile` does.

    With `preset_exists` a preset that the profile requires must be there, else it may be missing. Blocking then.
    """
    return parse_profile(document, known_tools=KNOWN_TOOLS, properties=_arguments(), preset_exists=preset_exists)


def _arguments() -> dict[str, tuple[str, ...]]:
    """The top-level arguments of each tool that can be called."""
    schemas = {name: tool.spec.input_schema.get("properties") for name, tool in TOOLS.items()}
    return {name: tuple(properties) for name, properties in schemas.items() if is_object(properties)}
