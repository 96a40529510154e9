"""Profile documents for tests: the built-in one with fields changed by their JSON path."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.graph.profiles.resolved import (
    SEED_TOOLS,
    Profile,
    ResolvedProfile,
    default_writer,
    parse_profile,
    resolve,
)

DELEGATION_TOOLS = (*SEED_TOOLS, "agent.list", "agent.delegate", "agent.await", "agent.handoff", "task.return")
TARGET = {"callable": True, "allowAsSubagent": True}

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


def refusal(changes: dict[str, object], known_tools: tuple[str, ...] = SEED_TOOLS) -> tuple[str, object]:
    """The code and the path with which the document is refused."""
    with pytest.raises(InvalidInput) as caught:
        parse_profile(document(changes), known_tools=known_tools)
    path = caught.value.details["path"]
    assert str(path) in caught.value.message
    return caught.value.error_code, path


def allowed(*more: str) -> list[str]:
    return [*SEED_TOOLS, *more]
