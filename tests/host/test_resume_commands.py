"""`treadle resume` without a run, with all of them, and by force."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from treadle.graph.jsontext import Json
from treadle.host.cli import exit_code
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer

from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.stage import Stage, snapshot
from .serving import serving

Said = pytest.CaptureFixture[str]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_where_no_run_is_interrupted_it_says_so(stage: Stage, capsys: Said) -> None:
    asyncio.run(stage.play(words.WRITE, words.COMMIT_AND_FINISH))
    codes = [_command(stage), _command(stage, "--all"), _command(stage, "--json")]
    out = capsys.readouterr().out

    assert codes == [0, 0, 0]
    assert out == 2 * "No run is interrupted. One whose process was killed is free 30 s after.\n" + "[]\n"


def test_the_interrupted_runs_are_listed_with_what_is_wrong_of_any(stage: Stage, capsys: Said) -> None:
    for name in ("broken", "sound"):
        asyncio.run(_leave(stage, name))
    (stage.run_folder("broken") / "run.json").write_text("{}")
    listed = _command(stage)
    rows, as_json = capsys.readouterr().out.splitlines(), _command(stage, "--json")
    told = json.loads(capsys.readouterr().out)

    assert (listed, as_json) == (0, 0)
    assert rows[0].split("  ")[0] == "run"
    assert "broken/run.json is not a run record: 'chatHead' (agent.validation_error)" in rows[2]
    assert rows[3].split() == ["sound", "calling_model", "2026-01-01", "00:00:00Z", "11", "model_call_attempt_started"]
    assert rows[4].endswith("resume --all")
    assert [(run["runId"], run["lastEvent"]) for run in told] == [
        ("broken", None), ("sound", {"seq": 11, "type": "model_call_attempt_started"}),
    ]  # fmt: skip


def test_all_go_on_one_after_another_and_what_stops_one_stops_no_other(stage: Stage, capsys: Said) -> None:
    with serving([words.WRITE, words.COMMIT_AND_FINISH]) as server:
        asyncio.run(_leave(stage, "changed", server))
        frozen = stage.run_folder("changed") / "input" / "resolved_profile.json"
        frozen.write_bytes(frozen.read_bytes() + b"\n")
        stage.clock.advance(10)
        asyncio.run(_leave(stage, "sound", server))
        code = _command(stage, "--all")
    out, err = capsys.readouterr()

    assert code == 1
    assert err.startswith("treadle: run changed: run changed does not go on by itself: the profile that it froze")
    assert err.endswith("(agent.resume_profile_changed)\n")
    assert "Run sound goes on." in out
    assert "Run sound: completed" in out


def test_by_force_a_run_goes_on_that_is_refused_else(stage: Stage, capsys: Said) -> None:
    with serving([words.WRITE, words.COMMIT_AND_FINISH]) as server:
        asyncio.run(_leave(stage, "changed", server))
        frozen = stage.run_folder("changed") / "input" / "resolved_profile.json"
        frozen.write_bytes(frozen.read_bytes() + b"\n")
        refused = _command(stage, "changed")
        err = capsys.readouterr().err
        forced = _command(stage, "--all", "--force", "--json")
    (told,) = json.loads(capsys.readouterr().out)

    assert (refused, forced) == (1, 0)
    assert "treadle resume changed --force" in err
    assert (told["runId"], told["status"]) == ("changed", "completed")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mine", "--all"], "name the run mine, or say --all, not both"),
        (["--force"], "--force needs to know for what: name the run, or say --all"),
        (["--all", "--chat", "x.jsonl"], "--chat is the chat of one run: name the run"),
        (["--chat", "x.jsonl"], "--chat is the chat of one run: name the run"),
    ],
)
def test_options_that_have_no_run_or_too_many_are_refused(
    stage: Stage, capsys: Said, arguments: list[str], says: str
) -> None:
    assert _command(stage, *arguments) == 2
    assert capsys.readouterr().err == f"treadle: {says}\n"


def _command(stage: Stage, *arguments: str) -> int:
    return exit_code(["resume", *arguments, "--data", str(stage.root)])


async def _leave(stage: Stage, run_id: str, server: ChatCompletionsServer | None = None) -> None:
    """A run as the command line starts it, left while the model thinks; it is to go on with the server's answers."""
    intent: dict[str, Json] = {"source": "cli", "chatFile": str(stage.chat)}
    changes = {} if server is None else {"promptSnapshot": snapshot(server.base_url)}
    async with stage.show(never) as show:
        await show.start(runId=run_id, generationIntent=intent, **changes)
        await show.asked(1)
