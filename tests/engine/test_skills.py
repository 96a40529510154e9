"""Skills from Python, and in a run: the store is the run's shelf, and a skill that is named must be there."""

from __future__ import annotations

import inspect

import pytest

from treadle.engine.opening import open_run
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.storage.skills.requests import SkillRequests

from ..scenarios import words
from ..scenarios.stage import Stage
from ..storage.skills.samples import inline, skill_md

INPUT = inline({"SKILL.md": skill_md("fog-lore")})


async def never_asked(kind: str, payload: dict[str, Json]) -> dict[str, Json]:
    raise AssertionError(f"nobody asks {kind}: {payload}")


def wanting(*visible: str, deny: tuple[str, ...] = ()) -> Json:
    profile = words.profile()
    profile["skills"] = {"visible": list(visible), "deny": list(deny)}
    return profile


async def test_the_engine_offers_every_request_of_the_skills(stage: Stage) -> None:
    async with stage.show(words.WRITE) as show:
        skills = show.engine.skills
        assert (await skills.preview_import(INPUT))["conflict"] == {"kind": "new"}
        assert (await skills.install_import({"input": INPUT}))["action"] == "installed"
        assert [entry["name"] for entry in await skills.list()] == ["fog-lore"]
        assert (await skills.read_file({"name": "fog-lore"}))["text"] == skill_md("fog-lore").decode()
        assert len(await skills.list_files({"name": "fog-lore"})) == 1
        text = skill_md("fog-lore", "New.").decode()
        written = await skills.write_file({"name": "fog-lore", "path": "SKILL.md", "content": text})
        assert written["skill"]["description"] == "New."
        assert await skills.export_skill({"name": "fog-lore"}) == await skills.export({"name": "fog-lore"})
        assert (await skills.repair())["repairs"] == []
        assert await skills.delete_skill({"name": "fog-lore"}) == {"name": "fog-lore"}
        assert await skills.listing() == {"skills": [], "repairs": []}

        offered = {
            name for name, _ in inspect.getmembers(SkillRequests, inspect.isfunction) if not name.startswith("_")
        }
        renamed = {"preview": "preview_import", "install": "install_import"}
        assert [name for name in offered if not hasattr(skills, renamed.get(name, name))] == []


async def test_a_run_has_the_skills_of_its_data_root(stage: Stage) -> None:
    async with stage.show(words.WRITE) as show:
        await show.engine.skills.install_import({"input": INPUT})
        handle = await show.engine.start_run_with_prompt_snapshot(stage.request(profile=wanting("fog-lore")))
        await show.engine.wait(handle.run_id)

        record = await show.engine.read_run(handle.run_id)
        run = open_run(show.engine.services, record, lambda _run: never_asked)
        run.folder.close()

    assert run.skills is not None
    assert [skill.name for skill in run.skills.skills()] == ["fog-lore"]


@pytest.mark.parametrize(
    ("visible", "deny", "missing"),
    [
        (("fog-lore", "nobody"), (), "nobody"),
        (("*", "nobody", "none"), (), "nobody, none"),
    ],
)
async def test_a_start_is_refused_where_a_named_skill_is_not_installed(
    stage: Stage, visible: tuple[str, ...], deny: tuple[str, ...], missing: str
) -> None:
    async with stage.show(words.WRITE) as show:
        await show.engine.skills.install_import({"input": INPUT})
        with pytest.raises(InvalidInput, match=f"names {missing}, not installed") as refused:
            await show.engine.start_run_with_prompt_snapshot(stage.request(profile=wanting(*visible, deny=deny)))
        runs = (await show.engine.list_runs()).runs

    assert (refused.value.error_code, runs) == ("agent.skill_visible_missing", ())


@pytest.mark.parametrize(("visible", "deny"), [(("*",), ()), (("nobody",), ("nobody",)), (("nobody",), ("*",))])
async def test_what_is_not_named_or_denied_is_not_missed(
    stage: Stage, visible: tuple[str, ...], deny: tuple[str, ...]
) -> None:
    async with stage.show(words.WRITE) as show:
        handle = await show.engine.start_run_with_prompt_snapshot(stage.request(profile=wanting(*visible, deny=deny)))
        await show.engine.wait(handle.run_id)
