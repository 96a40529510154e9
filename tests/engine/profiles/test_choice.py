"""Which profile a run follows, and that it follows no other once it exists."""

from __future__ import annotations

import json

import pytest

from treadle.engine.profiles.choice import chosen_profile
from treadle.engine.services import Services
from treadle.graph.errors import InvalidInput, RunFailed, TreadleError
from treadle.graph.jsontext import Json
from treadle.graph.profiles.parse import shaped
from treadle.graph.status import RunStatus
from treadle.storage.profiles import FOLDER

from ...graph.profiles.documents import document
from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.stage import RUN, Stage
from .kept import KeptPresets, by_ref, mine, preset_exists, put

REPLY = (words.WRITE, words.COMMIT_AND_FINISH)


def keep(stage: Stage, *profiles: dict[str, Json]) -> None:
    for each in profiles:
        Services(stage.root).profiles.put(shaped(each))


def frozen(stage: Stage) -> dict[str, Json]:
    found: dict[str, Json] = json.loads((stage.run_folder() / "input" / "resolved_profile.json").read_text("utf-8"))
    return found


OWN = mine({"displayName": "Own"}, "default-writer")
CHOICES: list[tuple[dict[str, Json], list[dict[str, Json]], str, str, str]] = [
    ({}, [], "default-writer", "Default Writer", "built_in"),
    ({}, [OWN], "default-writer", "Default Writer", "built_in"),
    ({"profileId": None}, [OWN], "default-writer", "Default Writer", "built_in"),
    ({"profileId": "  "}, [OWN], "default-writer", "Default Writer", "built_in"),
    ({"profileId": "default-writer"}, [], "default-writer", "Default Writer", "built_in"),
    ({"profileId": "default-writer"}, [OWN], "default-writer", "Own", "file:default-writer"),
    ({"profileId": " mine "}, [OWN, mine()], "mine", "Mine", "file:mine"),
    ({"profile": mine({"displayName": "Given"}), "profileId": "nobody"}, [mine()], "mine", "Given", "file:mine"),
]


@pytest.mark.parametrize(("request_changes", "kept", "profile_id", "name", "source"), CHOICES)
async def test_the_profile_that_is_asked_for_is_the_one_that_is_frozen(
    stage: Stage, request_changes: dict[str, Json], kept: list[dict[str, Json]], profile_id: str, name: str, source: str
) -> None:
    keep(stage, *kept)

    played = await stage.play(*REPLY, **request_changes)

    assert frozen(stage)["sourceTrace"] == {"profileSource": source}
    assert (frozen(stage)["id"], frozen(stage)["displayName"]) == (profile_id, name)
    resolved = next(event.payload for event in played.events if event.type == "profile_resolved")
    assert resolved == {"profileId": profile_id, "source": source}


REFUSED: list[tuple[dict[str, Json], str]] = [
    ({"profileId": "nobody"}, "agent.profile_not_found"),
    ({"profileId": "No Body"}, "agent.profile_id_invalid"),
    ({"profileId": "../mine"}, "agent.profile_id_invalid"),
    ({"profileId": "broken"}, "agent.invalid_profile"),
    ({"profileId": "copied"}, "agent.invalid_profile"),
    ({"profileId": "wrong"}, "agent.profile_max_rounds_invalid"),
    ({"profileId": "bound"}, "agent.profile_preset_missing"),
    ({"profile": mine(by_ref("openai", "Nobody", required=True))}, "agent.profile_preset_missing"),
]


@pytest.mark.parametrize(("request_changes", "code"), REFUSED)
async def test_a_profile_that_can_not_be_used_refuses_the_start_before_a_run_exists(
    stage: Stage, request_changes: dict[str, Json], code: str
) -> None:
    keep(stage, mine({"tools.maxRounds": 0}, "wrong"), mine(by_ref("openai", "Nobody", required=True), "bound"))
    put(Services(stage.root), "broken.json", "{")
    put(Services(stage.root), "copied.json", json.dumps(mine()))
    before = sorted(stage.root.rglob("*"))

    async with stage.show(*REPLY) as show:
        with pytest.raises(TreadleError) as refused:
            await show.engine.start_run_with_prompt_snapshot(stage.request(**request_changes))

    assert refused.value.error_code == code
    assert sorted(stage.root.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "required", "refused"),
    [("Tea", True, False), ("Milk", True, True), ("Milk", False, False), ("Tea", False, False)],
)
def test_a_preset_must_be_there_where_it_is_required(stage: Stage, name: str, required: bool, refused: bool) -> None:
    services = Services(stage.root, presets=KeptPresets())
    given = mine(by_ref("openai", name, required=required))

    try:
        chosen_profile(services, None, given, preset_exists=services.preset_exists)
    except InvalidInput as error:
        assert (error.error_code, error.details) == ("agent.profile_preset_missing", {"path": "$.preset.ref.name"})
        assert refused
    else:
        assert not refused


def test_a_required_preset_counts_only_where_the_mode_is_ref(stage: Stage) -> None:
    given = mine({"preset": {"mode": "none", "ref": {"apiId": "openai", "name": "Milk"}, "required": True}})

    assert chosen_profile(Services(stage.root), None, given, preset_exists=preset_exists).id == "mine"


def test_a_missing_preset_is_told_before_what_comes_after_it_and_after_what_comes_before(stage: Stage) -> None:
    services = Services(stage.root)
    missing = by_ref("openai", "Milk", required=True)

    for changes, code in (
        ({**missing, "tools.maxRounds": 0}, "agent.profile_preset_missing"),
        ({**missing, "displayName": " "}, "agent.profile_display_name_required"),
    ):
        with pytest.raises(InvalidInput) as refused:
            chosen_profile(services, None, document(changes), preset_exists=preset_exists)
        assert refused.value.error_code == code


HOW = pytest.mark.parametrize("how", ["changed", "deleted", "broken"])


@HOW
async def test_what_happens_to_the_stored_profile_changes_nothing_of_a_run_under_way(stage: Stage, how: str) -> None:
    keep(stage, mine({"tools.maxRounds": 3}))
    stage.wires.at_event("context_assembled", lambda: _alter(stage, how))

    played = await stage.play(words.WRITE, words.COMMIT, words.FINISH, profileId="mine")

    assert played.record is not None
    assert played.record.status is RunStatus.COMPLETED
    assert frozen(stage)["tools"]["maxRounds"] == 3


@HOW
async def test_nor_of_a_run_that_is_resumed(stage: Stage, how: str) -> None:
    keep(stage, mine({"tools.maxRounds": 3}))
    async with stage.show(words.WRITE, never) as show:
        await show.start(profileId="mine")
        await show.asked(2)
    before = frozen(stage)
    _alter(stage, how)

    async with stage.show(words.COMMIT, words.FINISH) as show:
        if how != "deleted":  # then the run says so first
            with pytest.raises(RunFailed) as refused:
                await show.resume()
            assert refused.value.error_code == "agent.resume_profile_changed"
        await show.resume(force=how != "deleted")
        played = await show.end()

    assert played.record is not None
    assert played.record.status is RunStatus.COMPLETED
    assert frozen(stage) == before


@HOW
async def test_the_same_start_again_finds_its_run_whatever_the_profile_became(stage: Stage, how: str) -> None:
    keep(stage, mine())
    await stage.play(*REPLY, profileId="mine")
    _alter(stage, how)

    async with stage.show() as show:
        handle = await show.engine.start_run_with_prompt_snapshot(stage.request(profileId="mine"))

    assert (handle.run_id, handle.status) == (RUN, RunStatus.COMPLETED)


def _alter(stage: Stage, how: str) -> None:
    store = Services(stage.root).profiles
    match how:
        case "changed":
            store.put(shaped(mine({"tools.maxRounds": 1, "tools.deny": ["workspace.write_file"]})))
        case "deleted":
            store.remove("mine")
        case _:
            (stage.root / FOLDER / "mine.json").write_text("{")
