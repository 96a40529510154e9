"""What the model is told of its work."""

from __future__ import annotations

import copy

import pytest

from tests.graph.profiles.documents import resolved
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.graph.messages import ToolSpec
from treadle.graph.profiles.resolved import SEED_TOOLS, default_writer, resolve
from treadle.nodes.prompt import agent_system_prompt, drift_reminder, render_specs

NEEDED = ["workspace.write_file", "workspace.commit", "workspace.finish"]


def spec(name: str) -> ToolSpec:
    properties: dict[str, Json] = {key: {"type": "string", "description": key} for key in ("path", "max_chars")}
    return ToolSpec(name, name, f"What {name} does.", {"type": "object", "properties": properties})


SPECS = tuple(spec(name) for name in reversed(SEED_TOOLS))


def prompt(allow: list[str] | None = None, **changes: object) -> str:
    fields = {key.replace("__", "."): value for key, value in changes.items()}
    return agent_system_prompt(resolved({"tools.allow": allow or list(SEED_TOOLS), **fields}), SPECS)


def rendered(name: str, changes: dict[str, object] | None = None) -> ToolSpec:
    return next(spec for spec in render_specs(resolved(changes), SPECS) if spec.name == name)


def test_the_prompt_names_every_visible_tool_by_its_alias() -> None:
    text = prompt()

    assert all(name.replace(".", "_") in text for name in SEED_TOOLS)
    assert not any(name in text for name in SEED_TOOLS)


@pytest.mark.parametrize("hidden", [name for name in SEED_TOOLS if name not in NEEDED])
def test_the_prompt_says_nothing_of_a_tool_that_is_not_visible(hidden: str) -> None:
    text = prompt(tools__deny=[hidden])

    assert hidden.replace(".", "_") not in text


def test_a_visible_tool_that_nobody_offers_is_not_named() -> None:
    text = agent_system_prompt(resolve(default_writer()), tuple(spec(name) for name in NEEDED))

    assert "chat_search" not in text
    assert "workspace_commit" in text


@pytest.mark.parametrize(
    ("point", "tool"),
    [
        ("only with the query you need", "chat.search"),
        ("by their index", "chat.read_messages"),
        ("list of active entries", "worldinfo.read_activated"),
        ("what guidance is installed", "skill.list"),
        ("read SKILL.md first", "skill.read"),
        ("Search a big skill", "skill.search"),
        ("read a file before you edit it", "workspace.read_file"),
        ("keep them out of anything you write or patch", "workspace.read_file"),
        ("occur once, unless replace_all", "workspace.apply_patch"),
        ("read the whole file again", "workspace.apply_patch"),
        ("new files and whole rewrites", "workspace.write_file"),
        ("Mode append adds", "workspace.commit"),
        ("takes output/main.md", "workspace.commit"),
        ("Never end with plain text", "workspace.finish"),
    ],
)
def test_a_point_is_made_where_its_tool_is_visible_and_only_there(point: str, tool: str) -> None:
    assert point in prompt([tool])
    assert point not in prompt(["chat.search" if tool != "chat.search" else "skill.list"])


@pytest.mark.parametrize("point", ["agent mode", "private desk", "you must use them"])
def test_some_points_are_always_made(point: str) -> None:
    assert point in prompt(NEEDED)


def test_the_roots_are_those_of_the_profile() -> None:
    text = prompt(workspace__visibleRoots=["output", "plan"], workspace__writableRoots=["output"])

    assert "you see output/, plan/; you may write under output/." in text


def test_persist_is_explained_where_it_can_be_written() -> None:
    assert "run to run of this chat" in prompt()
    assert "run to run" not in prompt(workspace__writableRoots=["output"])


def test_the_foreground_asks_for_a_commit_and_the_background_does_not() -> None:
    assert "commit at least once" in prompt()
    assert "without publishing anything" not in prompt()
    assert "commit at least once" not in prompt(run__presentation="background")
    assert "without publishing anything" in prompt(run__presentation="background")


def test_a_prompt_of_the_profiles_own_stands_alone_and_verbatim() -> None:
    assert prompt(instructions__agentSystemPrompt="  {aliases} Write.\n") == "  {aliases} Write.\n"


def test_specs_come_in_the_profiles_order_without_those_denied() -> None:
    profile = resolved({"tools.allow": ["workspace.finish", "skill.list", "chat.search"], "tools.deny": ["skill.list"]})

    assert [spec.name for spec in render_specs(profile, SPECS)] == ["workspace.finish", "chat.search"]


def test_a_visible_tool_without_a_spec_is_left_out() -> None:
    assert render_specs(resolve(default_writer()), (spec("workspace.finish"),))[0].name == "workspace.finish"
    assert render_specs(resolve(default_writer()), ()) == ()


def test_the_registrys_specs_are_never_changed() -> None:
    before = copy.deepcopy(SPECS)

    render_specs(resolved({"tools.toolDescriptions": {"skill.read": {"properties": {"path": "x"}}}}), SPECS)

    assert before == SPECS


NARROW: dict[str, object] = {
    "workspace.visibleRoots": ["output", "plan"],
    "workspace.writableRoots": ["output"],
    "output.artifacts": [
        {"id": "body", "path": "output/reply.md", "kind": "markdown", "target": "messageBody", "required": True}
    ],
}


@pytest.mark.parametrize(
    ("name", "sentence", "path"),
    [
        ("workspace.list_files", "output/, plan/", "output/, plan/"),
        ("workspace.search_files", "output/, plan/", "output/, plan/"),
        ("workspace.read_file", "output/, plan/", "output/, plan/"),
        ("workspace.write_file", "output/reply.md", "under output/."),
        ("workspace.apply_patch", "exactly once", "under output/."),
        ("workspace.commit", "output/reply.md", "output/reply.md if left out"),
        ("workspace.finish", "Call it last", "path"),
    ],
)
def test_workspace_tools_are_worded_for_the_profile(name: str, sentence: str, path: str) -> None:
    made = rendered(name, NARROW)

    assert made.description.startswith(f"What {name} does. ")
    assert sentence in made.description
    assert path in made.input_schema["properties"]["path"]["description"]
    assert made.input_schema["properties"]["path"]["type"] == "string"


def test_reading_is_explained_by_what_it_allows() -> None:
    assert "after a failed patch" in rendered("workspace.read_file").description
    assert "for looking only" in rendered("workspace.read_file", {"tools.deny": ["workspace.apply_patch"]}).description


def test_skill_read_states_both_budgets_and_bounds_its_argument() -> None:
    made = rendered("skill.read", {"skills.maxReadCharsPerCall": 50, "skills.maxReadCharsPerRun": 70})

    schema = made.input_schema["properties"]["max_chars"]
    assert (schema["minimum"], schema["maximum"]) == (1, 50)
    assert "50" in schema["description"]
    assert "70" in schema["description"]


def test_overrides_replace_what_the_context_worded() -> None:
    described = {"workspace.commit": {"description": "  Publish it. ", "properties": {"path": " Which. "}}}

    made = rendered("workspace.commit", {"tools.toolDescriptions": described})

    assert made.description == "Publish it."
    assert made.input_schema["properties"]["path"] == {"type": "string", "description": "Which."}


def test_an_override_of_one_property_leaves_the_rest() -> None:
    described = {"skill.list": {"properties": {"path": "Which."}}}

    made = rendered("skill.list", {"tools.toolDescriptions": described})

    assert made.description == "What skill.list does."
    assert made.input_schema["properties"]["max_chars"]["description"] == "max_chars"


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ({"properties": {}}, "agent.profile_unknown_tool_property"),
        ({"type": "object"}, "agent.profile_tool_properties_invalid"),
        ({"properties": []}, "agent.profile_tool_properties_invalid"),
        ({"properties": {"name": True}}, "agent.profile_tool_property_schema_invalid"),
    ],
)
def test_an_override_that_fits_no_property_is_refused(schema: dict[str, Json], code: str) -> None:
    profile = resolved({"tools.toolDescriptions": {"skill.list": {"properties": {"name": "x"}}}})

    with pytest.raises(InvalidInput) as caught:
        render_specs(profile, (ToolSpec("skill.list", "", "", schema),))

    assert caught.value.error_code == code


def test_the_reminder_says_the_run_is_open_and_names_the_tool_that_ends_it() -> None:
    text = drift_reminder(resolve(default_writer()), 0)

    assert "still open" in text
    assert "workspace_finish" in text
    assert "Nothing is committed yet" in text
    assert "output/main.md" in text


@pytest.mark.parametrize(("count", "said"), [(1, "committed once"), (3, "committed 3 times")])
def test_the_reminder_counts_the_commits_and_asks_for_another_after_an_edit(count: int, said: str) -> None:
    text = drift_reminder(resolve(default_writer()), count)

    assert said in text
    assert "commit it again" in text
    assert "Nothing is committed" not in text


def test_the_reminder_does_not_ask_for_a_commit_that_is_not_allowed() -> None:
    profile = resolved({"tools.deny": ["workspace.commit"], "run.presentation": "background"})

    assert "commit" not in drift_reminder(profile, 0)
