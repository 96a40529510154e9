"""The default agent prompt, whole, for profiles of several kinds: a change of its words is seen here."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.graph.profiles.documents import resolved
from tests.nodes.test_prompt import NEEDED, SPECS
from treadle.nodes.prompt import agent_system_prompt

PROFILES: dict[str, dict[str, object]] = {
    "the built-in writer": {},
    "in the background": {"run.presentation": "background"},
    "in the background, without commits": {"run.presentation": "background", "tools.deny": ["workspace.commit"]},
    "only what a writer needs": {"tools.allow": NEEDED},
    "a reader of chat and lore": {
        "tools.allow": [*NEEDED, "chat.search", "chat.read_messages", "worldinfo.read_activated"]
    },
    "skills, and a desk of one folder": {
        "tools.allow": [*NEEDED, "skill.list", "skill.search", "skill.read"],
        "workspace.visibleRoots": ["output"],
        "workspace.writableRoots": ["output"],
    },
    "a reply kept elsewhere, and no patches": {
        "tools.deny": ["workspace.apply_patch"],
        "output.artifacts": [{"id": "b", "path": "plan/reply.md", "kind": "markdown", "target": "messageBody"}],
    },
}


@pytest.mark.parametrize("kind", PROFILES)
def test_the_default_prompt_is_worded_for_the_profile(kind: str, snapshot: SnapshotAssertion) -> None:
    assert agent_system_prompt(resolved(PROFILES[kind]), SPECS).split("\n\n") == snapshot
