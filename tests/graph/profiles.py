"""Profile documents for tests: the built-in one with fields changed by their JSON path."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.graph.jsontext import Json
from treadle.graph.profile import Profile, ResolvedProfile, default_writer, resolve

GONE = object()
"""In place of a value: the field is left out."""


def document(changes: Mapping[str, object] | None = None) -> dict[str, Json]:
    """The built-in profile as a document; keys are paths such as `tools.maxRounds`."""
    made = default_writer().to_json()
    for path, value in (changes or {}).items():
        *above, last = path.split(".")
        block: Json = made
        for key in above:
            block = block.setdefault(key, {})
        if value is GONE:
            del block[last]
        else:
            block[last] = value
    return made


def resolved(changes: Mapping[str, object] | None = None) -> ResolvedProfile:
    """As a run would freeze it; the changes are checked for their shape alone."""
    return resolve(Profile.model_validate(document(changes)))
