"""What a run may read of skills: told to the model in the tool's schema, and remembered when the run goes on."""

from __future__ import annotations

from treadle.graph.jsontext import Json, dumps, loads
from treadle.testkit.replies import call, calls

from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.stage import Stage

READ = calls(call("skill.read", name="style"))
READ_ON = calls(call("skill.read", name="style", max_chars=10_001))


async def test_the_model_is_told_how_much_of_a_skill_it_may_read(stage: Stage) -> None:
    profile = words.profile()
    profile["skills"] |= {"maxReadCharsPerCall": 300, "maxReadCharsPerRun": 700}

    async with stage.show(never) as show:
        await show.start(profile=profile)
        await show.asked(1)
        (request,) = show.model.requests
        tools: dict[str, Json] = {each["function"]["name"]: each["function"] for each in loads(request.body)["tools"]}

    asked = tools["skill_read"]["parameters"]["properties"]["max_chars"]
    assert (asked["minimum"], asked["maximum"]) == (1, 300)
    assert "700" in asked["description"]
    assert [name for name in tools if name.startswith("skill_")] == ["skill_list", "skill_search", "skill_read"]


async def test_what_was_read_of_skills_before_a_crash_counts_after_it(stage: Stage) -> None:
    async with stage.show(READ, never) as show:
        await show.start()
        await show.asked(2)
    _as_if_read(stage, 70_000)
    async with stage.show(READ_ON, never) as show:
        await show.resume()
        await show.asked(2)
        told = loads(loads(show.model.requests[1].body)["messages"][-1]["content"])

    assert told["errorCode"] == "skill.read_budget_exhausted"
    assert "10000" in told["content"]


def _as_if_read(stage: Stage, chars: int) -> None:
    """The stored result of the run's one call is that of a read which went well."""
    (path,) = stage.run_folder().glob("tool-results/*.json")
    result = loads(path.read_bytes())
    path.write_bytes(dumps({**result, "isError": False, "errorCode": None, "structured": {"chars": chars}}))
