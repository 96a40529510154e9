from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.graph.profiles.documents import resolved
from tests.nodes.desk import Desk, desk
from tests.nodes.skill_desk import skill_desk
from treadle.graph.errors import InvalidData
from treadle.graph.jsontext import Json
from treadle.storage.skills.shelf import ShelvedSkill, SkillFile
from treadle.testkit.skills import MemorySkills

LIST = "skill.list"


class Damaged(MemorySkills):
    """Its index can't be read."""

    def skills(self) -> list[ShelvedSkill]:
        raise InvalidData("index/skills.json is damaged")

    def files(self, name: str) -> list[SkillFile]:
        raise InvalidData("index/skills.json is damaged")

    def read(self, name: str, path: str) -> bytes:
        raise InvalidData("index/skills.json is damaged")


def names(**skills: object) -> list[str]:
    return [skill["name"] for skill in skill_desk(**skills).call(LIST).structured["skills"]]


def test_skills_are_listed_by_name_with_a_hint_how_to_read_them() -> None:
    result = skill_desk().call(LIST)

    lines = result.content.split("\n")
    assert lines[:3] == ["- lore: The world.", "- style: How to sound.", ""]
    assert "skill_read" in lines[3]
    assert result.structured == {
        "skills": [{"name": "lore", "description": "The world."}, {"name": "style", "description": "How to sound."}]
    }
    assert result.resource_refs == ()


@pytest.mark.parametrize("arguments", [{}, None, [], 3, "not { json", {"unknown": 1}])
def test_whatever_is_sent_is_ignored(arguments: Json) -> None:
    assert skill_desk().send(LIST, arguments) == skill_desk().call(LIST)


@pytest.mark.parametrize(
    ("visible", "deny", "shown"),
    [
        (["*"], [], ["lore", "style"]),
        (["style"], [], ["style"]),
        (["*"], ["style"], ["lore"]),
        (["style"], ["style"], []),
        (["style"], ["*"], []),
        (["missing", "lore"], [], ["lore"]),
    ],
)
def test_only_skills_that_the_profile_shows_are_listed(
    visible: Sequence[str], deny: Sequence[str], shown: Sequence[str]
) -> None:
    assert names(visible=visible, deny=deny) == list(shown)


@pytest.mark.parametrize("without", [desk(), Desk(skills=MemorySkills())])
def test_no_skills_are_told_in_a_sentence(without: Desk) -> None:
    result = without.call(LIST)

    assert (result.content, result.structured) == ("There are no skills here.", {"skills": []})


def test_a_description_of_several_lines_is_shown_in_one_and_told_whole() -> None:
    class Wordy(MemorySkills):
        def skills(self) -> list[ShelvedSkill]:
            return [ShelvedSkill("z", "Last."), ShelvedSkill("a", "One.\n  Two.\n")]

    result = Desk(skills=Wordy()).call(LIST)

    assert result.content.split("\n")[:2] == ["- a: One. Two.", "- z: Last."]
    assert result.structured["skills"][0]["description"] == "One.\n  Two.\n"


def test_no_tool_is_named_that_the_model_does_not_have() -> None:
    shelf = MemorySkills({"a": {"SKILL.md": b"description: x"}})

    result = Desk(profile=resolved({"tools.deny": ["skill.read"]}), skills=shelf).call(LIST)

    assert result.content == "- a: x"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(LIST, {}), ("skill.search", {"name": "a", "query": "x"}), ("skill.read", {"name": "a"})],
)
def test_a_damaged_index_ends_the_run(tool: str, arguments: Json) -> None:
    with pytest.raises(InvalidData, match="index"):
        Desk(skills=Damaged()).send(tool, arguments)
