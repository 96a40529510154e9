"""What is spent of the budget for skills is told by the calls' stored results alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.nodes.desk import thawed
from tests.nodes.skill_desk import skill_desk
from treadle.graph.jsontext import Json
from treadle.graph.messages import tool_result
from treadle.nodes.skill_spending import SkillSpending

CALLS: list[tuple[str, dict[str, Json]]] = [
    ("skill.list", {}),
    ("skill.search", {"name": "style", "query": "door"}),
    ("skill.search", {"name": "style", "query": "nothing"}),
    ("skill.read", {"name": "style"}),
    ("skill.read", {"name": "style", "max_chars": 7}),
    ("skill.read", {"name": "style", "max_chars": 10**9}),
    ("skill.read", {"name": "none"}),
    ("workspace.list_files", {}),
    ("workspace.write_file", {"path": "output/main.md", "content": "x" * 50}),
]


@given(st.lists(st.sampled_from(CALLS), max_size=12))
def test_the_budget_is_kept_live_and_rebuilt_from_what_is_stored(made: list[tuple[str, dict[str, Json]]]) -> None:
    desktop = skill_desk(maxReadCharsPerRun=200)
    for name, arguments in made:
        desktop.send(name, arguments)

    rebuilt = SkillSpending()
    results = [tool_result(thawed(call.result)) for call in desktop.stored]
    for result in results:
        rebuilt.observe(result)

    returned = [
        result.structured.get("chars", result.structured.get("returnedChars"))
        for result in results
        if result.name in ("skill.read", "skill.search") and not result.is_error
    ]
    assert rebuilt.chars == desktop.spending.chars == sum(returned) <= 200
