from __future__ import annotations

import pytest

from tests.nodes.desk import desk, profile
from treadle.graph.jsontext import Json
from treadle.graph.paths import WorkspacePath
from treadle.nodes.tool import CommitAsked

COMMIT = "workspace.commit"


@pytest.mark.parametrize(
    "arguments", [{}, {"path": None, "mode": None, "reason": None}, {"path": " ", "mode": "", "reason": " "}]
)
def test_without_arguments_the_reply_file_replaces_the_message(arguments: Json) -> None:
    assert desk().outcome(COMMIT, arguments) == CommitAsked(profile().message_body_path, "replace", None)


def test_any_visible_file_may_be_asked_for() -> None:
    narrow = desk(using=profile(visible=("output", "plan"), writable=("output",)))

    asked = narrow.outcome(COMMIT, {"path": "./plan\\a.md", "mode": " append ", "reason": " done "})

    assert asked == CommitAsked(WorkspacePath("plan/a.md"), "append", "done")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (None, "tool.invalid_arguments", "object"),
        ([], "tool.invalid_arguments", "object"),
        ("output/main.md", "tool.invalid_arguments", "object"),
        ({"path": 1}, "tool.invalid_arguments", "path must be a string"),
        ({"mode": True}, "tool.invalid_arguments", "mode must be a string"),
        ({"reason": ["x"]}, "tool.invalid_arguments", "reason must be a string"),
        ({"path": "../x", "mode": "over"}, "workspace.invalid_path", "'..'"),
        ({"path": "input/prompt_snapshot.json", "mode": "over"}, "workspace.path_not_visible", "output/"),
        ({"mode": "Replace"}, "workspace.commit_mode_invalid", '"replace" or "append"'),
    ],
)
def test_what_the_model_can_mend_is_told(arguments: Json, code: str, says: str) -> None:
    result = desk().send(COMMIT, arguments)

    assert (result.is_error, result.error_code) == (True, code)
    assert says in result.content
