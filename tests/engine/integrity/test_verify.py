"""Each check finds what it is there for, says where, and finds nothing where all is well."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.engine.integrity.verify import CHECKS, verify
from treadle.engine.services import Services
from treadle.graph.errors import NotFound
from treadle.graph.jsontext import Json, dumps, loads

from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.stage import RUN, Stage
from ..leaving import leave
from ..raw_answers import LIST, NAMES, spoken
from .samples import STEPS, Sample, failed


def change(file: Path, *keys: str, to: Json) -> None:
    """Put another value at this place of a JSON file."""
    stored = loads(file.read_bytes())
    inner = stored
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    file.write_bytes(dumps(stored, pretty=True))


def rewrite(sample: Sample, event_type: str, before: str, after: str) -> None:
    """Change the words of the first event of this type."""
    lines = sample.journal.read_text("utf-8").splitlines(keepends=True)
    place = next(index for index, line in enumerate(lines) if f'"type":"{event_type}"' in line)
    assert before in lines[place]
    lines[place] = lines[place].replace(before, after)
    sample.journal.write_text("".join(lines), "utf-8")


def drop(sample: Sample, event_type: str) -> None:
    """Take the first event of this type out, and number the others anew: no line is damaged then."""
    lines = sample.journal.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line is not next(each for each in lines if f'"type":"{event_type}"' in each)]
    numbered = [re.sub(r'"seq":\d+', f'"seq":{seq}', line, count=1) for seq, line in enumerate(kept, start=1)]
    sample.journal.write_text("".join(numbered), "utf-8")


def test_a_whole_run_has_no_findings_in_any_check(whole: Sample) -> None:
    report = whole.verified()

    assert [(check.name, check.findings) for check in report.checks] == [(name, ()) for name in CHECKS]
    assert report.ok
    assert not report.under_way
    assert report.to_json()["ok"] is True


def test_nothing_of_a_run_is_changed_by_looking_at_it(run: Sample) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.root.rglob("*") if path.is_file()}

    run.verified()

    assert {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.root.rglob("*") if path.is_file()
    } == before


def test_an_unknown_run_is_named(whole: Sample) -> None:
    with pytest.raises(NotFound, match="no run run_9"):
        verify(Services(whole.root), "run_9")
    with pytest.raises(NotFound, match="no run"):
        verify(Services(whole.root), "../run_1")


@pytest.mark.parametrize(
    "lost",
    [
        "model_call_attempt_started", "model_response_stored", "model_completed", "tool_call_requested", "tool_call_started",
        "tool_result_stored", "chat_commit_started", "chat_commit_requested", "chat_commit_completed", "status_changed",
        "persistent_changes_committed", "persistent_state_metadata_update_requested", "run_created",
    ],
)  # fmt: skip
def test_a_result_without_its_intent_is_found_though_no_line_is_damaged(run: Sample, lost: str) -> None:
    drop(run, lost)

    report = run.verified()

    assert "order" in failed(report)
    assert "journal" not in failed(report)


def test_an_effect_that_is_told_twice_is_found(run: Sample) -> None:
    lines = run.journal.read_text("utf-8").splitlines(keepends=True)
    again = next(line for line in lines if '"type":"workspace_file_written"' in line)
    end = len(lines) - 2
    lines.insert(end, re.sub(r'"id":"evt_.{8}', '"id":"evt_ffffffff', again))
    numbered = [re.sub(r'"seq":\d+', f'"seq":{seq}', line, count=1) for seq, line in enumerate(lines, start=1)]
    run.journal.write_text("".join(numbered), "utf-8")

    found = [each.found for each in run.found() if each.line == end + 1]

    assert any("tells again what an earlier event tells" in each for each in found)


def test_what_comes_after_the_end_is_found_but_for_word_of_a_rewind(run: Sample) -> None:
    last = run.journal.read_text("utf-8").splitlines(keepends=True)[-1]
    count = run.journal.read_bytes().count(b"\n")

    def after(*types: str) -> list[str]:
        told = [
            last.replace(f'"seq":{count}', f'"seq":{count + n}')
            .replace("evt_0", f"evt_{n}")
            .replace("run_completed", kind)
            for n, kind in enumerate(types, start=1)
        ]
        run.journal.write_text(
            "".join([*run.journal.read_text("utf-8").splitlines(keepends=True)[:count], *told]), "utf-8"
        )
        return [each.found for each in run.found() if each.line and each.line > count and each.path is None]

    assert after("provider_switched")[-1].endswith("comes after the end")
    assert after("run_failed")[-1].endswith(f"is a second one, after event {count}")
    assert after("workspace_rollback_completed") == []


@pytest.mark.parametrize(
    ("event_type", "before", "after", "check"),
    [
        ("run_created", "foreground", "background", "record"),
        ("status_changed", "initializing_workspace", "finishing", "order"),
        ("tool_call_started", '"preSha256":null', f'"preSha256":"{"0" * 64}"', "workspace"),
        ("checkpoint_created", "cp_000001", "cp_000002", "checkpoints"),
        ("model_completed", '"toolCallCount":1', '"toolCallCount":2', "custody"),
        ("tool_call_requested", '"modelName":"workspace_write_file"', '"modelName":"write"', "custody"),
        ("tool_call_completed", '"resourceRefs":["output/main.md"]', '"resourceRefs":[]', "files"),
        ("chat_commit_requested", '"generationType":"normal"', '"generationType":"swipe"', "commits"),
        ("chat_commit_recorded", '"commitCount":1', '"commitCount":2', "commits"),
        ("persistent_changes_committed", '"changeCount":1', '"changeCount":2', "promotion"),
        ("generation_intent_recorded", "scenario", "somewhere", "inputs"),
        ("context_assembled", '"maxRounds":', '"maxRounds":1', "inputs"),
        ("tool_call_requested", '"callId"', '"callIe"', "journal"),
        ("status_changed", '"initializing_workspace"', "7", "journal"),
    ],
)
def test_words_of_an_event_that_no_longer_agree_are_found(
    run: Sample, event_type: str, before: str, after: str, check: str
) -> None:
    rewrite(run, event_type, before, after)

    assert check in failed(run.verified())


@pytest.mark.parametrize(
    ("file", "place", "value", "check", "path"),
    [
        ("run.json", "status", "failed", "record", "$.status"),
        ("run.json", "workspaceId", "chat_0", "record", "$.workspaceId"),
        ("run.json", "profile", {"sha256": "0" * 64}, "inputs", None),
        ("manifest.json", "createdAt", "2020-01-01T00:00:00.000Z", "inputs", None),
        ("input/generation_intent.json", "source", "elsewhere", "inputs", None),
        ("input/resolved_profile.json", "tools", None, "inputs", None),
        ("checkpoints/cp_000001/checkpoint.json", "eventSeq", 1, "checkpoints", "$.eventSeq"),
        ("checkpoints/cp_000001/checkpoint.json", "runId", "run_2", "checkpoints", "$.runId"),
        ("model-responses/round-001.json", "response.text", "Hm.", "custody", "$.response.text"),
    ],
)
def test_a_file_that_says_something_else_is_found_by_its_place(
    run: Sample, file: str, place: str, value: Json, check: str, path: str | None
) -> None:
    change(run.folder / file, *place.split("."), to=value)

    report = run.verified()

    assert check in failed(report)
    found = [each for each in report.findings if each.path == path]
    assert found
    assert all(each.expected and each.found and each.remedy for each in found)


def test_arguments_and_results_are_held_against_what_they_belong_to(run: Sample) -> None:
    written = next(file for file in (run.folder / "tool-args").iterdir() if words.DRAFT in file.read_text("utf-8"))
    written.write_text(written.read_text("utf-8").replace("tide", "moon"), "utf-8")
    result = next(file for file in (run.folder / "tool-results").iterdir() if "write_file" in file.read_text("utf-8"))
    change(result, "callId", to="call_of_nobody")

    report = run.verified()

    assert failed(report) == ["files", "custody"]
    assert {each.file for each in report.findings} == {f"tool-args/{written.name}", f"tool-results/{result.name}"}


def test_a_file_that_a_person_changed_is_called_so(run: Sample) -> None:
    (run.folder / "output" / "main.md").write_text("Mine now.", "utf-8")
    (run.folder / "output" / "extra.md").write_text("And this.", "utf-8")

    report = run.verified()

    assert failed(report) == ["workspace"]
    fault, note = report.findings
    assert (fault.file, fault.found.startswith("changed outside the run: ")) == ("output/main.md", True)
    assert (note.file, note.is_fault) == ("output/extra.md", False)


def test_what_no_event_explains_is_a_note(run: Sample) -> None:
    strangers = (
        "notes.txt", "tool-args/call_0000000000000000.json", "checkpoints/cp_000099/checkpoint.json",
        f"checkpoints/content/{'0' * 64}", "manifest.json.0123456789abcdef.tmp",
    )  # fmt: skip
    for path in strangers:
        (run.folder / path).parent.mkdir(exist_ok=True)
        (run.folder / path).write_text("{}", "utf-8")

    report = run.verified()

    assert report.ok
    assert {each.file for each in report.findings} == {
        path.removesuffix("9/checkpoint.json") + "9" * path.endswith("9/checkpoint.json") for path in strangers
    }


def test_a_run_without_its_equipment_says_so_and_its_bytes_are_still_held_against_their_hash(run: Sample) -> None:
    (run.folder / "input" / "resolved_profile.json").write_text("{}")
    body = run.folder / "model-responses" / "round-002.body"
    body.write_bytes(body.read_bytes() + b" ")

    custody = next(check for check in run.verified().checks if check.name == "custody")

    assert [each.file for each in custody.findings] == ["model-responses/round-002.body", "input"]


def test_a_run_whose_heavy_files_were_cleared_away_is_held_against_what_is_left(run: Sample) -> None:
    for entry in run.folder.iterdir():
        if entry.name not in ("run.json", "events.jsonl"):
            entry.rename(run.root / entry.name)

    assert run.verified().ok

    rewrite(run, "chat_commit_recorded", '"commitCount":1', '"commitCount":2')

    assert failed(run.verified()) == ["commits"]


def test_a_database_that_is_none_and_a_state_that_is_elsewhere_are_found(run: Sample) -> None:
    (run.folder / "run.sqlite").write_bytes(b"not a database, but as long as one" * 99)

    assert failed(run.verified()) == ["state"]

    (run.folder / "run.sqlite").unlink()

    assert failed(run.verified()) == ["state"]


def test_a_state_ahead_of_the_journal_is_found(run: Sample) -> None:
    lines = run.journal.read_bytes().splitlines(keepends=True)
    first = next(index for index, line in enumerate(lines) if b'"type":"model_request_created"' in line)
    run.journal.write_bytes(b"".join(lines[: first + 1]))

    state = next(check for check in run.verified().checks if check.name == "state")

    assert [each.expected.split()[0] for each in state.findings] == ["round", "commit_count", "checkpoint_count"]


async def test_a_run_under_way_has_no_faults_for_what_is_not_settled_yet(stage: Stage) -> None:
    async with stage.show(words.WRITE, never) as show:
        await show.start()
        await show.asked(2)
        ours = await show.engine.verify_run(RUN)
        theirs = verify(Services(stage.root, clock=stage.clock), RUN)
        with (stage.run_folder() / "events.jsonl").open("ab") as journal:
            journal.write(b'{"seq":')
        (stage.run_folder() / "output" / "main.md").write_text("Half of the next")
        unsettled = verify(Services(stage.root, clock=stage.clock), RUN)

    assert [report.under_way for report in (ours, theirs, unsettled)] == [True] * 3
    assert [report.ok for report in (ours, theirs, unsettled)] == [True] * 3


async def test_a_run_that_was_left_is_whole(stage: Stage) -> None:
    async with stage.show(words.WRITE, never) as show:
        await show.start()
        await show.asked(2)

    report = verify(Services(stage.root, clock=stage.clock), RUN)

    assert (report.ok, report.under_way) == (True, False)


async def test_the_engine_verifies_by_any_process(whole: Sample) -> None:
    async with Engine(whole.root) as engine:
        report = await engine.verify_run(f" {RUN} ")

    assert (report.run_id, report.ok) == (RUN, True)


@pytest.mark.parametrize("form", NAMES)
async def test_answers_of_every_format_are_what_their_bytes_decode_to(tmp_path: Path, form: str) -> None:
    odd = ['{"\\ud83d" :[1.10 ,-0.0, 1e2], "a":1,"a" : "\\u00e9\\/é"}']
    await leave(tmp_path, form, spoken(form, odd, [LIST]).body.encode())
    sample = Sample(tmp_path / "data")

    report = verify(Services(sample.root, clock=Stage.found(tmp_path).clock), RUN)

    assert [each.where for each in report.findings if each.is_fault] == []

    body = sample.folder / "model-responses" / "round-001.body"
    body.write_bytes(body.read_bytes().replace(b"1.10", b"1.11"))

    assert failed(verify(Services(sample.root, clock=Stage.found(tmp_path).clock), RUN)) == ["custody"]


async def test_a_run_whose_request_held_a_profile_has_nothing_to_be_noted(stage: Stage) -> None:
    """No file keeps that document, so nobody can tell whether the request was this one."""
    await stage.play(*STEPS, profile=words.profile())

    assert Sample(stage.root).found(faults_only=False) == ()
