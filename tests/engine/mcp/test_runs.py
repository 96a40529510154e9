"""Runs that call the tools of a real MCP server, a process of its own."""

from __future__ import annotations

import pytest

from treadle.graph.errors import InvalidInput, McpFailed, NotFound, PermissionDenied, TreadleError
from treadle.graph.jsontext import Json, loads
from treadle.storage.mcp_servers import FILE
from treadle.testkit.replies import call, calls

from ...scenarios import words
from ...scenarios.bare import drive
from ...scenarios.hosts import never
from ...scenarios.script import Step
from ...scenarios.stage import Played, Stage
from .shed import Shed, profile

ADD = calls(call("mcp.shed.add", a=1, b=2))
NOTE = calls(call("mcp_shed_note", text="fog"))
END = (words.WRITE, words.COMMIT_AND_FINISH)


@pytest.fixture
def shed(stage: Stage) -> Shed:
    return Shed(stage)


async def test_a_run_calls_a_tool_by_its_alias_and_the_result_takes_the_same_way_as_any_other(
    stage: Stage, shed: Shed
) -> None:
    played = await stage.play(ADD, NOTE, *END, profile=profile("mcp.shed.add", "mcp.shed.note"))

    told = [event.type for event in played.events if event.type.startswith("tool_")]
    assert told[:4] == [
        "tool_call_requested", "tool_call_started", "tool_result_stored", "tool_call_completed",
    ]  # fmt: skip
    assert (shed.result().content, shed.result().structured) == ('{\n  "total": 3\n}', {"total": 3})
    assert (shed.result(1).content, shed.notes) == ("noted: fog", ["fog"])
    assert played.types[-1] == "run_completed"


async def test_what_the_run_was_given_is_frozen_and_the_model_sees_it(stage: Stage, shed: Shed) -> None:
    async with stage.show(*END) as show:
        await show.start(
            profile=profile("mcp.shed.*", deny=["mcp.shed.die"], maxCallsPerTool={"mcp.shed.*": 3, "mcp.shed.add": 9})
        )
        await show.asked(1)
        request = loads(show.model.requests[0].body)
        await show.end()

    frozen = _frozen(stage, "input/mcp_tools.json")["tools"]
    resolved = _frozen(stage, "input/resolved_profile.json")["tools"]
    names = [tool["name"] for tool in frozen]
    assert names == [name for name in resolved["allow"] if name.startswith("mcp.")]
    assert names[:3] == ["mcp.shed.add", "mcp.shed.note", "mcp.shed.set"]
    assert [tool["annotations"] for tool in frozen[:3]] == [
        {"readOnly": True, "sourceKind": "mcp"},
        {"mutating": True, "sourceKind": "mcp"},
        {"mutating": True, "idempotent": True, "sourceKind": "mcp"},
    ]
    budgets = resolved["maxCallsPerTool"]
    assert (budgets["mcp.shed.add"], budgets["mcp.shed.note"], "mcp.shed.die" in budgets) == (9, 3, False)
    sent = [tool["function"]["name"] for tool in request["tools"]]
    assert [name for name in sent if name.startswith("mcp")] == [
        "mcp_shed_add", "mcp_shed_note", "mcp_shed_set", "mcp_shed_fail", "mcp_shed_slow", "mcp_shed_picture",
        "mcp_shed_huge", "mcp_shed_env", "mcp_shed_look_up_" + frozen[-1]["modelName"][-8:],
    ]  # fmt: skip


@pytest.mark.slow
async def test_budgets_and_the_profiles_policy_hold_and_a_denied_call_never_reaches_the_server(
    stage: Stage, shed: Shed
) -> None:
    asked = profile("mcp.shed.note", "mcp.shed.set", deny=["mcp.shed.set"], maxCallsPerTool={"mcp.shed.note": 1})
    await stage.play(NOTE, NOTE, calls(call("mcp.shed.set", text="x")), *END, profile=asked)

    assert [shed.result(place).error_code for place in range(3)] == [
        None, "agent.tool_budget_exhausted", "agent.tool_policy_denied",
    ]  # fmt: skip
    assert shed.notes == ["fog"]


@pytest.mark.slow
async def test_calls_that_fail_are_told_to_the_model_and_the_run_goes_on(stage: Stage, shed: Shed) -> None:
    failing = (
        call("mcp.shed.add", a="one", b=2), call("mcp.shed.add", a=1), call("mcp.shed.fail"), call("mcp.shed.die", text="x"),
    )  # fmt: skip
    played = await stage.play(*(calls(one) for one in failing), ADD, *END, profile=profile("mcp.shed.*"))

    told = [(shed.result(place).error_code, shed.result(place).content) for place in range(4)]
    assert [code for code, _ in told] == [
        "tool.invalid_arguments", "tool.invalid_arguments", "mcp.tool_error", "mcp.server_unavailable",
    ]  # fmt: skip
    assert 'a must be a whole number, not "one"' in told[0][1]
    assert told[2][1].endswith("the shed is locked")
    assert "Whether the call was carried out is not known" in told[3][1]
    assert (shed.result(4).structured, shed.starts) == ({"total": 3}, 3)  # one to ask what there is, one died
    assert played.types[-1] == "run_completed"


@pytest.mark.slow
async def test_pictures_are_named_not_sent_and_a_huge_answer_is_cut_and_says_so(stage: Stage, shed: Shed) -> None:
    asked = [calls(call("mcp.shed.picture")), calls(call("mcp.shed.huge", count=2_000_000))]
    await stage.play(*asked, *END, profile=profile("mcp.shed.*"))

    assert shed.result().content == "a drawing:\n\n(image is left out: image/png, 9 bytes)"
    assert shed.result(1).content.endswith("(cut: 1920000 more characters are not shown)")
    assert len(shed.result(1).content) < 80_100


@pytest.mark.slow
async def test_a_server_gets_the_keys_that_its_settings_name_and_nothing_else_of_the_environment(
    stage: Stage, shed: Shed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHED_KEY", "sk-canary")
    shed.put(env={"KEY": "env:SHED_KEY"})
    asked = [calls(call("mcp.shed.env", name=name)) for name in ("KEY", "SHED_KEY")]
    await stage.play(*asked, *END, profile=profile("mcp.shed.env"))

    assert [shed.result(place).content for place in range(2)] == ["sk-canary", "(nothing)"]


@pytest.mark.slow  # the limit holds for the start of the server, too
async def test_a_server_that_does_not_answer_in_time_is_told_to_stop(stage: Stage, shed: Shed) -> None:
    shed.put(timeoutMs=12_000)
    await stage.play(calls(call("mcp.shed.slow")), *END, profile=profile("mcp.shed.slow"))

    assert shed.result().error_code == "mcp.timeout"
    await shed.until("slow", "stopped")


async def test_a_cancel_interrupts_the_call_and_the_server_is_told(stage: Stage, shed: Shed) -> None:
    async with stage.show(calls(call("mcp.shed.slow"))) as show:
        await show.start(profile=profile("mcp.shed.slow"))
        await shed.until("slow", "begun")
        await show.engine.cancel("run_1")
        played = await show.end()

    assert played.types[-1] == "run_cancelled"
    assert [event.payload["message"] for event in played.events if event.type == "tool_call_failed"] == [
        "the run was cancelled"
    ]
    await shed.until("slow", "stopped")


@pytest.mark.slow
async def test_a_runs_servers_end_with_it_while_the_engine_goes_on(stage: Stage, shed: Shed) -> None:
    async with stage.show(ADD, *END) as show:
        await show.start(profile=profile("mcp.shed.add"))
        await show.end()
        await shed.gone()

    assert shed.starts == 2


@pytest.mark.slow
async def test_no_server_outlives_the_engine(stage: Stage, shed: Shed) -> None:
    async with stage.show(ADD, never) as show:
        await show.start(profile=profile("mcp.shed.add"))
        await show.asked(2)
        while_running = len(shed.living)

    assert (while_running, shed.living, shed.starts) == (1, [], 2)


@pytest.mark.slow
async def test_what_a_server_says_on_its_standard_error_is_in_the_run_folder_and_not_on_the_screen(
    stage: Stage, shed: Shed, capfd: pytest.CaptureFixture[str]
) -> None:
    await stage.play(ADD, *END, profile=profile("mcp.shed.add"))

    assert (stage.run_folder() / "mcp-logs" / "shed.log").read_text().startswith("a word on standard error")
    assert capfd.readouterr() == ("", "")


async def test_a_profile_that_names_no_server_starts_none(stage: Stage, shed: Shed) -> None:
    shed.put(command="/no/such/program")
    played = await stage.play(*END)

    assert played.types[-1] == "run_completed"
    assert not (stage.run_folder() / "input" / "mcp_tools.json").exists()


@pytest.mark.parametrize(
    ("names", "settings", "kind", "code", "says"),
    [
        (("mcp.barn.x",), {}, NotFound, "mcp.server_denied", "its servers are shed"),
        (("mcp.shed.add",), {"enabled": False}, InvalidInput, "mcp.server_denied", "switched off"),
        (("mcp.shed.saw",), {}, NotFound, "mcp.tool_denied", "there are: add, die, env, fail, huge"),
        (("mcp.shed.add",), {"denyTools": ["add"]}, NotFound, "mcp.tool_denied", "does not allow; there are: die"),
        (("mcp.shed.*",), {"allowTools": []}, NotFound, "mcp.tool_denied", "there are: none"),
        (("mcp.shed.add",), {"command": "/no/such/program"}, McpFailed, "mcp.server_unavailable", "No such file"),
        (("mcp.shed.add",), {"args": ["-c", "raise SystemExit('out of tea')"]}, McpFailed, "mcp.server_unavailable", "out of tea"),
        (("mcp.shed.add",), {"env": {"KEY": "secret:tea"}}, InvalidInput, "mcp.secret_missing", "servers.shed.env.KEY"),
    ],
)  # fmt: skip
async def test_what_the_settings_or_the_server_do_not_give_refuses_the_start_and_no_run_is_made(
    stage: Stage,
    shed: Shed,
    names: tuple[str, ...],
    settings: dict[str, Json],
    kind: type[TreadleError],
    code: str,
    says: str,
) -> None:
    shed.put(**settings)
    with pytest.raises(kind) as refused:
        await stage.play(profile=profile(*names))

    assert refused.value.error_code == code
    assert says in refused.value.message
    assert not list(stage.root.glob("_tauritavern/agent-workspaces/chats/*/runs/*"))
    assert shed.living == []


@pytest.mark.slow
async def test_a_name_that_no_profile_can_hold_refuses_a_wildcard_until_the_settings_deny_it(
    stage: Stage, shed: Shed
) -> None:
    (shed.folder / "hostile").touch()
    with pytest.raises(InvalidInput, match="denyTools") as refused:
        await stage.play(profile=profile("mcp.shed.*"))
    shed.put(denyTools=["two words\u0007"])
    played = await stage.play(*END, profile=profile("mcp.shed.*"))

    assert refused.value.error_code == "mcp.tool_invalid"
    assert played.types[-1] == "run_completed"


async def test_a_settings_file_that_anybody_may_write_is_not_obeyed(stage: Stage, shed: Shed) -> None:
    (stage.root / FILE).chmod(0o666)

    with pytest.raises(PermissionDenied, match="chmod o-w"):
        await stage.play(profile=profile("mcp.shed.add"))


@pytest.mark.slow
async def test_a_run_that_is_resumed_calls_no_tool_that_is_not_as_the_model_knows_it(stage: Stage, shed: Shed) -> None:
    await _leave(stage, never, asked=profile("mcp.shed.*"))
    (shed.folder / "later").touch()
    played = await _resume(stage, NOTE, ADD, calls(call("mcp.shed.huge", count=3)), *END)

    assert [shed.result(place).error_code for place in range(3)] == ["mcp.tool_changed", "mcp.tool_changed", None]
    assert shed.notes == []
    assert played.types[-1] == "run_completed"


@pytest.mark.slow
async def test_a_server_that_the_settings_no_longer_allow_is_not_started_for_a_resumed_run(
    stage: Stage, shed: Shed
) -> None:
    await _leave(stage, never, asked=profile("mcp.shed.note"))
    shed.put(enabled=False)
    await _resume(stage, NOTE, *END)

    assert (shed.result().error_code, shed.starts, shed.notes) == ("mcp.server_denied", 1, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "notes", "code"),
    [
        ("mcp.shed.note", {}, ["fog"], "mcp.effect_unknown"),
        ("mcp.shed.set", {}, ["fog", "fog"], None),
        ("mcp.shed.note", {"idempotentTools": ["note"]}, ["fog", "fog"], None),
    ],
)
async def test_a_call_whose_answer_a_crash_hid_is_made_again_only_if_it_may_be(
    stage: Stage, shed: Shed, name: str, settings: dict[str, Json], notes: list[str], code: str | None
) -> None:
    shed.put(**settings)
    await _leave(stage, calls(call(name, text="fog")), never, asked=profile(name))
    _forget_after(stage, "tool_call_started")
    played = await _resume(stage, *END)

    assert (shed.notes, shed.result().error_code) == (notes, code)
    assert [kind for kind in played.types if kind.startswith("tool_")][:4] == [
        "tool_call_requested", "tool_call_started", "tool_result_stored", "tool_call_failed" if code else "tool_call_completed",
    ]  # fmt: skip
    assert played.types[-1] == "run_completed"


@pytest.mark.slow
async def test_a_bare_graph_calls_them_too_and_leaves_no_server_behind(stage: Stage, shed: Shed) -> None:
    state, _ = await drive(stage, ADD, *END, profile=profile("mcp.shed.add"))

    assert (state["outcome"], shed.result().structured) == ("completed", {"total": 3})
    await shed.gone()


async def _leave(stage: Stage, *steps: Step, asked: Json) -> None:
    async with stage.show(*steps) as show:
        await show.start(profile=asked)
        await show.asked(len(steps))


async def _resume(stage: Stage, *steps: Step) -> Played:
    async with stage.show(*steps) as show:
        await show.resume()
        return await show.end()


def _forget_after(stage: Stage, event_type: str) -> None:
    """As if the process had been killed at that event: nothing later is journalled, and no state was saved."""
    folder = stage.run_folder()
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    last = next(place for place, line in enumerate(lines) if f'"{event_type}"'.encode() in line)
    (folder / "events.jsonl").write_bytes(b"".join(lines[: last + 1]))
    for file in (*folder.glob("run.sqlite*"), *folder.glob("tool-results/*")):
        file.unlink()


def _frozen(stage: Stage, path: str) -> Json:
    return loads((stage.run_folder() / path).read_bytes())
