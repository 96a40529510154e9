"""Reading a run back: pages of its journal, its files, and what the model said."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from treadle.engine.engine import Engine
from treadle.graph.errors import InvalidInput, NotFound, TreadleError
from treadle.graph.text import sha256_text
from treadle.testkit.replies import call, calls

from ..gateway.traps import trap
from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.stage import RUN, Stage

SAID = calls(
    call("workspace.write_file", path="output/main.md", content=words.DRAFT),
    text="  I begin with 潮水.\n",
    reasoning_content=" The tide, the tide. ",
    reasoning_details=[{"type": "reasoning.encrypted", "data": "c2VjcmV0"}],
)


@pytest.mark.parametrize(
    ("asked", "seqs"),
    [
        ({}, (1, 54)),
        ({"limit": 3}, (1, 3)),
        ({"limit": 0}, (1, 1)),
        ({"limit": 9999}, (1, 54)),
        ({"after_seq": 50}, (51, 54)),
        ({"after_seq": 10, "limit": 5}, (11, 15)),
        ({"before_seq": 10}, (1, 9)),
        ({"before_seq": 10, "limit": 4}, (6, 9)),
        ({"before_seq": 10, "after_seq": 50, "limit": 4}, (6, 9)),
        ({"before_seq": 1}, None),
        ({"after_seq": 54}, None),
        ({"after_seq": 4000}, None),
    ],
)
async def test_a_page_of_the_journal(stage: Stage, asked: dict[str, int], seqs: tuple[int, int] | None) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        page = await show.engine.read_events(RUN, **asked)

    assert [event.seq for event in page] == ([] if seqs is None else list(range(seqs[0], seqs[1] + 1)))


async def test_a_page_holds_at_most_100_events_unless_more_are_asked_for(stage: Stage) -> None:
    listing = calls(*(call("workspace.list_files", path=f"plan/{n}") for n in range(15)))
    await stage.play(*([listing] * 2), words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        page = await show.engine.read_events(RUN)
        more = await show.engine.read_events(RUN, limit=500)

    assert len(page) == 100
    assert len(more) > 150


async def test_an_unknown_run_is_an_error_not_an_empty_page(stage: Stage) -> None:
    async with stage.show() as show:
        engine = show.engine
        unknown: list[Awaitable[object]] = [engine.read_events("x"), engine.read_run("x"), engine.cancel("x")]
        blank: list[Awaitable[object]] = [
            engine.read_events(" "),
            engine.read_workspace_file("", "x"),
            engine.cancel(""),
        ]
        refusals = [await _refusal(asked) for asked in (*unknown, *blank)]

    assert refusals[:3] == [(NotFound, "agent.not_found")] * 3
    assert [kind for kind, _ in refusals[3:]] == [InvalidInput] * 3


async def test_a_workspace_file_is_told_whole_with_its_sizes(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        file = await show.engine.read_workspace_file(RUN, "output/main.md")
        hidden = await show.engine.read_workspace_file(RUN, "input/resolved_profile.json")

    assert (file.path, file.text) == ("output/main.md", words.DRAFT)
    assert (file.sha256, file.chars, file.words) == (sha256_text(words.DRAFT), 48, 11)
    assert '"default-writer"' in hidden.text


@pytest.mark.parametrize(
    ("path", "kind", "code"),
    [
        ("output/other.md", NotFound, "workspace.file_not_found"),
        ("output", InvalidInput, "workspace.path_is_directory"),
        ("../run.json", InvalidInput, "workspace.invalid_path"),
        ("", InvalidInput, "workspace.invalid_path"),
    ],
)
async def test_a_file_that_can_not_be_read_is_refused(
    stage: Stage, path: str, kind: type[TreadleError], code: str
) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        refusal = await _refusal(show.engine.read_workspace_file(RUN, path))

    assert refusal == (kind, code)


@trap(28)
async def test_a_model_turn_is_told_without_arguments_or_native_blocks(stage: Stage) -> None:
    await stage.play(SAID, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        turn = await show.engine.read_model_turn(RUN, 1)

    assert turn["runId"] == RUN
    assert (turn["round"], turn["modelResponsePath"]) == (1, "model-responses/round-001.json")
    assert {key: turn["provider"][key] for key in ("source", "format", "model")} == {
        "source": "custom",
        "format": "openai_compatible",
        "model": "scripted-writer",
    }
    assert turn["assistant"] == {
        "text": "  I begin with 潮水.\n",
        "totalChars": 19,
        "totalWords": 5,
        "truncated": False,
    }
    assert turn["narration"]["text"] == "I begin with 潮水."
    assert [part["text"] for part in turn["reasoning"]] == ["The tide, the tide."]
    assert [(made["name"], made["modelName"]) for made in turn["toolCalls"]] == [
        ("workspace.write_file", "workspace_write_file")
    ]
    assert "c2VjcmV0" not in str(turn)
    assert words.DRAFT not in str(turn)


async def test_each_text_of_a_turn_is_cut_on_its_own(stage: Stage) -> None:
    await stage.play(SAID, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        turn = await show.engine.read_model_turn(RUN, 1, 4)

    assert turn["assistant"] == {"text": "  I ", "totalChars": 19, "totalWords": 5, "truncated": True}
    assert turn["narration"]["text"] == "I be"
    assert turn["reasoning"][0]["text"] == "The "


@pytest.mark.parametrize(
    ("round_number", "max_chars", "code"),
    [
        (0, 10, "agent.model_turn_round_invalid"),
        (1, 0, "agent.model_turn_max_chars_invalid"),
        (3, 10, "agent.not_found"),
    ],
)
async def test_a_turn_that_can_not_be_told_is_refused(
    stage: Stage, round_number: int, max_chars: int, code: str
) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        refusal = await _refusal(show.engine.read_model_turn(RUN, round_number, max_chars))

    assert refusal[1] == code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "agent.model_response_parse_failed"),
        ("[]", "agent.model_response_parse_failed"),
        ('{"round": 2, "response": {}}', "agent.model_response_round_mismatch"),
    ],
)
async def test_a_damaged_turn_is_told_as_such(stage: Stage, content: str, code: str) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    (stage.run_folder() / "model-responses" / "round-001.json").write_text(content)
    async with stage.show() as show:
        refusal = await _refusal(show.engine.read_model_turn(RUN, 1))

    assert refusal[1] == code


async def test_a_run_under_way_is_read_by_another_engine(stage: Stage) -> None:
    async with stage.show(words.WRITE, never) as driver, stage.show() as reader:
        await driver.start()
        await driver.asked(2)
        record = await reader.engine.read_run(RUN)
        file = await reader.engine.read_workspace_file(RUN, "output/main.md")
        turn = await reader.engine.read_model_turn(RUN, 1)
        events = await reader.engine.read_events(RUN, before_seq=100, limit=1)

    assert record.status == "calling_model"
    assert file.text == words.DRAFT
    assert turn["toolCalls"][0]["name"] == "workspace.write_file"
    assert events[0].type == "model_call_attempt_started"


async def test_runs_are_listed_newest_first(stage: Stage) -> None:
    async with stage.show(never, never, never) as show:
        for name in ("run_a", "run_b", "run_c"):
            await show.start(runId=name)
            stage.clock.advance(1)
        listed = [record.id for record in (await show.engine.list_runs()).runs]

    assert listed == ["run_c", "run_b", "run_a"]


async def test_an_engine_that_only_reads_makes_nothing(stage: Stage) -> None:
    async with Engine(stage.root) as engine:
        assert (await engine.list_runs()).runs == ()

    assert not stage.root.exists()


async def _refusal(asked: Awaitable[object]) -> tuple[type[TreadleError], str]:
    with pytest.raises(TreadleError) as refused:
        await asked
    return type(refused.value).__mro__[_depth(refused.value)], refused.value.error_code


def _depth(error: TreadleError) -> int:
    """The class right below TreadleError."""
    return type(error).__mro__.index(TreadleError) - 1
