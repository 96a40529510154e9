from __future__ import annotations

import pytest

from tests.nodes.desk import desk, profile
from treadle.graph.jsontext import Json
from treadle.nodes.tool import LoopEnded

FINISH = "workspace.finish"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [({"reason": " done "}, "done"), ({}, None), ({"reason": 3}, None), (None, None), ("text", None), ([], None)],
)
def test_the_loop_ends_whatever_the_reason_looks_like(arguments: Json, reason: str | None) -> None:
    outcome = desk(using=profile(presentation="background")).outcome(FINISH, arguments)

    assert isinstance(outcome, LoopEnded)
    assert outcome.answer.structured == {"reason": reason}
    assert outcome.answer.resource_refs == ()


def test_a_foreground_run_can_not_end_before_it_published() -> None:
    desktop = desk()

    refused = desktop.call(FINISH)
    desktop.commit_count = 1

    assert refused.error_code == "agent.foreground_commit_required"
    assert "workspace_commit" in refused.content
    assert not desktop.call(FINISH).is_error
