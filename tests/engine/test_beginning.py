"""A run goes on as it began, or says what has changed and waits to be told."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.engine.beginning import MachineChanged, ProfileChanged, differences
from treadle.graph.canonical import canonical_sha256
from treadle.graph.errors import TreadleError
from treadle.graph.events import Event
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.state import StateIncompatible
from treadle.graph.status import RunStatus
from treadle.graph.table import signature
from treadle.storage.database import RunDatabase
from treadle.storage.profiles import FOLDER
from treadle.storage.saver import ExactSerializer

from ..scenarios import words
from ..scenarios.bare import drive
from ..scenarios.hosts import never
from ..scenarios.stage import RUN, Stage
from .profiles.kept import mine

OTHER_MACHINE = "0123456789abcdef"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab-", max_size=2), inner, max_size=3),
    max_leaves=8,
)


async def test_a_run_that_began_on_another_machine_is_refused_and_nothing_is_changed(stage: Stage) -> None:
    await _leave(stage)
    _change_record(stage, lambda record: record["machine"].update(signature=OTHER_MACHINE))
    before = _bytes(stage)
    refused = await _refused(stage)

    assert isinstance(refused, MachineChanged)
    assert refused.error_code == "agent.resume_machine_changed"
    assert f"began on the machine {OTHER_MACHINE} (state version 2)" in refused.message
    assert f"has the machine {signature()} (state version 2)" in refused.message
    assert f"treadle resume {RUN} --force" in refused.message
    assert _bytes(stage) == before


async def test_a_run_that_is_forced_goes_on_and_says_what_was_overridden(stage: Stage) -> None:
    await _leave(stage)
    _change_record(stage, lambda record: record["machine"].update(signature=OTHER_MACHINE))
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.engine.resume_run(RUN, force=True)
        played = await show.end()

    assert _resumes(played.events) == [{"fromSeq": 11, "epoch": 2, "forced": ["machine"]}]
    assert played.types[-1] == "run_completed"


async def test_a_run_that_goes_on_as_it_began_is_never_called_forced(stage: Stage) -> None:
    await _leave(stage)

    assert await _resumed(stage, force=True) == {"fromSeq": 11, "epoch": 2}


async def test_a_stored_profile_that_was_changed_is_told_by_the_places_where_it_differs(stage: Stage) -> None:
    await _leave(stage, stored=mine(), profileId="mine")
    await _save(stage, mine({"tools.maxRounds": 7, "tools.deny": ["chat.search"]}))
    refused = await _refused(stage)
    forced = await _resumed(stage, force=True)

    assert isinstance(refused, ProfileChanged)
    assert refused.error_code == "agent.resume_profile_changed"
    assert "the profile mine was changed since, at $.tools.deny, $.tools.maxRounds" in refused.message
    assert [change["paths"] for change in _changes(refused)] == [["$.tools.deny", "$.tools.maxRounds"]]
    assert forced["forced"] == ["profile"]


async def test_of_many_places_the_message_names_some_and_the_details_all(stage: Stage) -> None:
    budgets = dict.fromkeys(("chat.search", "skill.list", "skill.read", "workspace.commit", "workspace.read_file"), 1)
    await _leave(stage, stored=mine({"tools.maxCallsPerTool": budgets}), profileId="mine")
    others = {"displayName": "Yours", "tools.maxRounds": 7, "tools.maxCallsPerRun": 7, "tools.deny": ["skill.search"]}
    await _save(stage, mine({"tools.maxCallsPerTool": dict.fromkeys(budgets, 2), **others}))
    refused = await _refused(stage)

    paths = _changes(refused)[0]["paths"]
    assert paths[0:5:4] == ["$.displayName", '$.tools.maxCallsPerTool["skill.list"]']
    assert len(paths) == 9
    assert f"at {', '.join(paths[:8])} and 1 more. To go on" in refused.message


async def test_a_profile_that_was_saved_again_or_deleted_is_no_change(stage: Stage) -> None:
    await _leave(stage, stored=mine(), profileId="mine")
    await _save(stage, mine())
    saved_again = await _resumed(stage)
    async with stage.engine() as engine:
        await engine.profiles.delete("mine")
    deleted = await _resumed(stage)

    assert [set(saved_again), set(deleted)] == [{"fromSeq", "epoch"}] * 2


async def test_a_stored_profile_that_can_not_be_used_any_more_is_a_change(stage: Stage) -> None:
    await _leave(stage, stored=mine(), profileId="mine")
    (stage.root / FOLDER / "mine.json").write_text("{")
    refused = await _refused(stage)

    assert refused.error_code == "agent.resume_profile_changed"
    assert "can't be used any more: the stored profile mine.json is not JSON" in refused.message
    assert _changes(refused)[0]["paths"] == ["$"]


async def test_a_profile_that_came_with_the_request_is_not_held_against_a_stored_one(stage: Stage) -> None:
    await _leave(stage, profile=mine())
    await _save(stage, mine({"tools.maxRounds": 7}))

    assert "forced" not in await _resumed(stage)


@pytest.mark.parametrize(("asked", "code"), [({}, None), ({"profileId": "default-writer"}, "resume_profile_changed")])
async def test_a_file_in_place_of_the_built_in_profile_matters_only_to_who_named_it(
    stage: Stage, asked: dict[str, Json], code: str | None
) -> None:
    await _leave(stage, **asked)
    await _save(stage, mine({"tools.maxRounds": 7}, "default-writer"))
    if code is None:
        assert "forced" not in await _resumed(stage)
    else:
        refused = await _refused(stage)
        assert refused.error_code == f"agent.{code}"
        assert "$.tools.maxRounds" in refused.message


@pytest.mark.parametrize(("asked", "paths"), [("foreground", None), (None, ["$.run.presentation"])])
async def test_a_presentation_that_the_request_chose_hides_that_of_the_profile(
    stage: Stage, asked: str | None, paths: list[str] | None
) -> None:
    await _leave(stage, stored=mine(), profileId="mine", presentation=asked)
    await _save(stage, mine({"run.presentation": "background"}))
    if paths is None:
        assert "forced" not in await _resumed(stage)
    else:
        assert _changes(await _refused(stage))[0]["paths"] == paths


async def test_the_frozen_profile_must_be_what_the_start_froze(stage: Stage) -> None:
    await _leave(stage)
    frozen = stage.run_folder() / "input" / "resolved_profile.json"
    frozen.write_bytes(frozen.read_bytes().replace(b'"maxRounds": 80', b'"maxRounds": 2'))
    refused = await _refused(stage)
    forced = await _resumed(stage, force=True)

    assert refused.error_code == "agent.resume_profile_changed"
    assert "input/resolved_profile.json, is not as the start wrote it" in refused.message
    assert forced["forced"] == ["profile"]


async def test_without_its_frozen_profile_a_run_goes_on_only_by_force_and_fails(stage: Stage) -> None:
    await _leave(stage)
    (stage.run_folder() / "input" / "resolved_profile.json").unlink()
    refused = await _refused(stage)
    async with stage.show() as show:
        await show.engine.resume_run(RUN, force=True)
        played = await show.end()

    assert "input/resolved_profile.json, is missing" in refused.message
    assert played.types[-1] == "run_failed"
    assert played.events[-1].payload["message"] == "the run folder has no input/resolved_profile.json"


async def test_all_that_has_changed_is_told_at_once(stage: Stage) -> None:
    await _leave(stage, stored=mine(), profileId="mine")
    _change_record(stage, lambda record: record["machine"].update(signature=OTHER_MACHINE))
    await _save(stage, mine({"tools.maxRounds": 7}))
    refused = await _refused(stage)
    forced = await _resumed(stage, force=True)

    assert refused.error_code == "agent.resume_machine_changed"
    assert "$.tools.maxRounds" in refused.message
    assert [change["what"] for change in _changes(refused)] == ["machine", "profile"]
    assert forced["forced"] == ["machine", "profile"]


async def test_a_record_that_does_not_say_what_the_run_began_under_is_refused_and_can_be_forced(stage: Stage) -> None:
    await _leave(stage)
    _change_record(stage, lambda record: [record.pop("machine"), record.pop("profile")])
    refused = await _refused(stage)
    forced = await _resumed(stage, force=True)

    assert "of an older Treadle, does not say" in refused.message
    assert forced["forced"] == ["machine", "profile"]


async def test_a_cancel_is_never_refused(stage: Stage) -> None:
    await _leave(stage)
    _change_record(stage, lambda record: record["machine"].update(signature=OTHER_MACHINE))
    async with stage.show() as show:
        handle = await show.engine.cancel(RUN)

    assert handle.status is RunStatus.CANCELLED


async def test_a_run_that_has_ended_is_given_back_whatever_has_changed(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    _change_record(stage, lambda record: record["machine"].update(signature=OTHER_MACHINE))
    stage.forget_the_end()
    async with stage.show() as show:
        handle = await show.engine.resume_run(RUN)

    assert handle.status is RunStatus.COMPLETED


async def test_a_run_that_goes_on_in_a_graph_of_its_owner_is_not_held_against_its_start(stage: Stage) -> None:
    await _leave(stage)
    _change_record(stage, lambda record: record["machine"].update(signature=OTHER_MACHINE))
    state, _ = await drive(stage, words.WRITE, words.COMMIT_AND_FINISH)

    assert state["outcome"] == "completed"


async def test_a_state_of_another_version_is_refused_whatever_the_record_says(stage: Stage) -> None:
    await _leave(stage, words.WRITE)
    _save_version(stage, 3)
    refused = await _refused(stage)

    assert isinstance(refused, StateIncompatible)
    assert "state version 3" in refused.message


@settings(max_examples=40)
@given(VALUES, VALUES)
def test_values_differ_where_they_are_not_the_same_and_nowhere_else(one: Json, other: Json) -> None:
    found = list(differences(one, other))

    assert (found == []) == (canonical_sha256(one) == canonical_sha256(other))
    assert len(found) == len(set(found))
    assert all(path.startswith("$") for path in found)
    assert list(differences(one, one)) == []


async def _leave(stage: Stage, *steps: Json, stored: dict[str, Json] | None = None, **request: Json) -> None:
    """Start a run, and close its engine while the model thinks."""
    async with stage.show(*steps, never) as show:
        if stored is not None:
            await show.engine.profiles.save(stored)
        await show.start(**request)
        await show.asked(len(steps) + 1)


async def _save(stage: Stage, profile: dict[str, Json]) -> None:
    async with stage.engine() as engine:
        await engine.profiles.save(profile)


async def _refused(stage: Stage) -> TreadleError:
    async with stage.show() as show:
        with pytest.raises(TreadleError) as refused:
            await show.resume()
    return refused.value


async def _resumed(stage: Stage, *, force: bool = False) -> dict[str, Json]:
    """What the journal tells of this resume; the run is left again."""
    async with stage.show(never) as show:
        await show.engine.resume_run(RUN, force=force)
        return _resumes(await show.engine.read_events(RUN))[-1]


def _resumes(events: Sequence[Event]) -> list[dict[str, Json]]:
    return [event.payload for event in events if event.type == "run_resumed"]


def _changes(refused: TreadleError) -> list[dict[str, Json]]:
    changes: Json = refused.details["changes"]
    return list(changes)


def _change_record(stage: Stage, change: Callable[[dict[str, Json]], object]) -> None:
    """As another Treadle would have written it."""
    for path in (stage.run_folder() / "run.json", *stage.root.glob(f"*/*/index/runs/{RUN}.json")):
        record = loads(path.read_bytes())
        change(record)
        path.write_bytes(dumps(record, pretty=True))


def _bytes(stage: Stage) -> dict[str, bytes]:
    """Every file of the data root but the databases: a look takes a run's lease."""
    return {
        str(path): path.read_bytes() for path in stage.root.rglob("*") if path.is_file() and "sqlite" not in path.name
    }


def _save_version(stage: Stage, version: int) -> None:
    """Let every saved state be of this version."""
    database, packer = RunDatabase(stage.run_folder() / "run.sqlite", clock=stage.clock), ExactSerializer()
    for seq, body in database.rows("SELECT seq, body FROM checkpoints"):
        checkpoint, *rest = packer.loads_typed(("msgpack", zlib.decompress(body)))
        checkpoint["channel_values"]["v"] = version
        packed = packer.dumps_typed([checkpoint, *rest])[1]
        with database.saving() as connection:
            connection.execute("UPDATE checkpoints SET body = ? WHERE seq = ?", (zlib.compress(packed), seq))
    database.close()
