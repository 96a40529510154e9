"""What a crash leaves in a data root is found; what is safe is repaired, twice as well as once; the rest is only told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.engine.integrity.root.doctor import doctor
from treadle.engine.integrity.root.problem import DoctorReport, Kind
from treadle.engine.services import Services
from treadle.graph.jsontext import dumps, loads
from treadle.storage.disk import RealDisk
from treadle.storage.persist import INTENT, STATES
from treadle.testkit.faults import FaultyDisk, Operation

from ....scenarios import words
from ....scenarios.hosts import never
from ....scenarios.stage import RUN, Stage
from ..samples import Sample

TREE = "_tauritavern/agent-workspaces"
OF_ANOTHER = "run_9"


def looked_at(sample: Sample, *, repair: bool = False) -> DoctorReport:
    return doctor(Services(sample.root), repair=repair)


def index(sample: Sample, run_id: str = RUN) -> Path:
    return sample.root / TREE / "index" / "runs" / f"{run_id}.json"


def aged(path: Path) -> Path:
    """Two hours old."""
    then = path.stat().st_mtime - 7200
    os.utime(path, (then, then))
    return path


def temporary(path: Path) -> Path:
    file = path.with_name(f"{path.name}.0123456789abcdef.tmp")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"half of i")
    return aged(file)


def no_index(sample: Sample) -> None:
    index(sample).unlink()


def another_index(sample: Sample) -> None:
    index(sample).write_bytes(b"{}")


def unended(sample: Sample) -> None:
    for record in (sample.folder / "run.json", index(sample)):
        record.write_text(record.read_text().replace('"status": "completed"', '"status": "finishing"'))


def promotion_begun(sample: Sample) -> None:
    """As if the process had died between the decision and the first copy."""
    chat = sample.folder.parent.parent
    manifest = chat / STATES / RUN / "manifest.json"
    (chat / STATES / INTENT).write_bytes(manifest.read_bytes())
    manifest.unlink()
    (chat / "persist" / "notes.md").unlink()


def orphans(sample: Sample) -> None:
    for folder in ("runs", "run-summaries"):
        file = sample.root / TREE / "index" / folder / f"{OF_ANOTHER}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text("{}")


def unfinished(sample: Sample) -> None:
    temporary(sample.folder / "output" / "main.md")
    temporary(sample.root / TREE / "index" / "runs" / f"{RUN}.json")
    temporary(sample.root / "_tauritavern" / "presets" / "openai" / "Calm.json")
    connection = sample.root / "_tauritavern" / "llm-connections" / ".mine.json.a1b2c3d4.tmp"
    connection.parent.mkdir(parents=True)
    connection.write_text("{")
    aged(connection)


REPAIRABLE: dict[Callable[[Sample], object], list[Kind]] = {
    no_index: [Kind.REBUILD_INDEX],
    another_index: [Kind.REBUILD_INDEX],
    unended: [Kind.END_RECORD],
    promotion_begun: [Kind.FINISH_PROMOTION],
    orphans: [Kind.REMOVE_FILE] * 2,
    unfinished: [Kind.REMOVE_FILE] * 4,
}
EACH = pytest.mark.parametrize(
    ("leave", "kinds"),
    REPAIRABLE.items(),
    ids=["no index", "another index", "no end", "promotion", "orphans", "unfinished"],
)


def test_a_whole_root_is_healthy(whole: Sample) -> None:
    report = looked_at(whole)

    assert (report.runs, report.problems, report.ok) == (1, (), True)


@EACH
def test_what_a_crash_left_is_told_and_nothing_is_changed(
    run: Sample, leave: Callable[[Sample], object], kinds: list[Kind]
) -> None:
    leave(run)
    before = contents(run)

    report = looked_at(run)

    assert [problem.repair.kind for problem in report.problems if problem.repair] == kinds
    assert not report.ok
    assert all(problem.what and problem.remedy for problem in report.problems)
    assert contents(run) == before


@EACH
def test_what_is_safe_is_repaired_and_a_second_time_nothing_is_left_to_do(
    whole: Sample, run: Sample, leave: Callable[[Sample], object], kinds: list[Kind]
) -> None:
    leave(run)

    report, again = looked_at(run, repair=True), looked_at(run, repair=True)

    assert [problem.repair.kind for problem in report.repaired if problem.repair] == kinds
    assert (report.problems, report.ok) == ((), True)
    assert (again.problems, again.repaired) == ((), ())
    assert run.verified().ok
    assert {path: data for path, data in contents(run).items() if is_told(path)} == {
        path: data for path, data in contents(whole).items() if is_told(path)
    }


@EACH
def test_a_repair_that_is_cut_off_is_made_the_next_time(
    run: Sample, leave: Callable[[Sample], object], kinds: list[Kind]
) -> None:
    """Whatever operation of the disk refuses: the repair says so, and what it began harms nothing."""
    leave(run)
    operations: tuple[Operation, ...] = ("replace", "copy", "remove")
    for operation in operations:
        disk = FaultyDisk(RealDisk())
        disk.fail(operation)
        report = doctor(Services(run.root, disk=disk), repair=True)
        refused = [problem for problem in report.problems if problem.remedy.startswith("not repaired: ")]

        assert len(refused) + len(report.repaired) <= len(kinds)

    assert looked_at(run, repair=True).problems == ()
    assert run.verified().ok


def contents(sample: Sample) -> dict[str, bytes]:
    return {
        path.relative_to(sample.root).as_posix(): path.read_bytes() for path in sample.root.rglob("*") if path.is_file()
    }


def is_told(path: str) -> bool:
    """But for the lease, and the time of a record that was ended late."""
    return not path.endswith((".sqlite", ".sqlite-wal", ".sqlite-shm", "run.json", "run_1.json", ".lock"))


def test_a_promotion_whose_files_have_changed_is_left_to_a_person(run: Sample) -> None:
    promotion_begun(run)
    (run.folder / "persist" / "notes.md").write_text("Something else.")

    report = looked_at(run, repair=True)

    (problem,) = report.problems
    assert problem.remedy.startswith(
        "not repaired: a promotion was interrupted and persist/notes.md of its run has changed"
    )


def test_a_torn_journal_is_left_to_the_next_driver(run: Sample) -> None:
    with run.journal.open("ab") as journal:
        journal.write(b'{"seq":')
    before = run.journal.read_bytes()

    report = looked_at(run, repair=True)

    (problem,) = report.problems
    assert (problem.severity, "a torn tail of 7 bytes" in problem.what) == ("warning", True)
    assert run.journal.read_bytes() == before


def test_a_record_is_not_ended_by_a_journal_that_is_damaged(run: Sample) -> None:
    unended(run)
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join([*lines[:3], *lines[4:]]))

    report = looked_at(run, repair=True)

    assert report.repaired == ()
    assert [problem.where.rpartition("/")[2] for problem in report.problems] == ["events.jsonl", "run.json"]


def wrong(report: DoctorReport) -> list[tuple[str, str]]:
    return [(problem.check, problem.where.rpartition("/")[2]) for problem in report.problems if problem.is_amiss]


def test_what_only_a_person_can_mend_is_told(run: Sample) -> None:
    kept = run.root / "_tauritavern"
    written = {
        "agent-profiles/profiles/mine.json": "{", "llm-connections/mine.json": "{}", "llm-settings.json": "[]",
        "mcp/servers.json": "7", "presets/openai/Calm.json": "no", "secrets.json": "{}", "skills/index/skills.json": "{",
        f"agent-workspaces/chats/{run.folder.parent.parent.name}/{STATES}/{OF_ANOTHER}/manifest.json": "{}",
    }  # fmt: skip
    for path, text in written.items():
        (kept / path).parent.mkdir(parents=True, exist_ok=True)
        (kept / path).write_text(text)
        (kept / path).chmod(0o600)
    (kept / "llm-connections/mine.json").chmod(0o644)
    (kept / "secrets.json").chmod(0o640)
    before = contents(run)

    report = looked_at(run, repair=True)

    assert sorted(wrong(report)) == [
        ("promotions", "manifest.json"), ("secrets", "mine.json"), ("secrets", "secrets.json"), ("settings", "Calm.json"),
        ("settings", "llm-settings.json"), ("settings", "mine.json"), ("settings", "mine.json"),
        ("settings", "servers.json"), ("skills", "skills.json"),
    ]  # fmt: skip
    assert contents(run) == before


def test_damage_of_a_run_is_told_and_kept(run: Sample) -> None:
    (run.folder / "run.json").write_text("{}")
    (run.folder / "run.sqlite").write_bytes(b"not a database" * 99)
    (run.folder.parent / "run_8").mkdir()
    (run.folder.parent / "run_8" / "input").mkdir()
    aged(run.folder.parent / "run_8")
    (run.folder / "checkpoints" / "cp_000077").mkdir()

    report = looked_at(run, repair=True)

    assert wrong(report) == [("runs", "run.sqlite"), ("runs", "run.json"), ("runs", "run_8")]
    assert report.repaired == ()


def test_a_half_made_checkpoint_and_an_interrupted_run_are_worth_knowing(run: Sample) -> None:
    (run.folder / "checkpoints" / "cp_000077").mkdir()

    (problem,) = looked_at(run).problems

    assert (problem.severity, looked_at(run).ok) == ("note", True)


async def test_a_run_that_is_driven_is_left_alone(stage: Stage) -> None:
    services = Services(stage.root, clock=stage.clock)
    async with stage.show(words.WRITE, never) as show:
        await show.start()
        await show.asked(2)
        temporary(stage.run_folder() / "output" / "main.md")
        (stage.root / TREE / "index" / "runs" / f"{RUN}.json").unlink()
        elsewhere = doctor(services, repair=True)
        ours = await show.engine.doctor(repair=True)
        driven = await show.engine.cancel(RUN)

    notes = [(problem.severity, problem.what) for problem in (*elsewhere.problems, *ours.problems)]
    assert notes == [("note", "somebody drives the run")] * 2
    assert (elsewhere.repaired, ours.repaired) == ((), ())
    assert driven.run_id == RUN


async def test_an_interrupted_run_says_how_it_goes_on(stage: Stage) -> None:
    async with stage.show(words.WRITE, never) as show:
        await show.start()
        await show.asked(2)

    (problem,) = doctor(Services(stage.root, clock=stage.clock)).problems

    assert (problem.severity, problem.what) == ("note", "interrupted while calling_model")
    assert problem.remedy == f"treadle resume {RUN}, or treadle cancel {RUN}"


def test_a_young_temporary_file_is_somebodys_work(run: Sample) -> None:
    file = temporary(run.folder / "manifest.json")
    os.utime(file)

    assert looked_at(run, repair=True).problems == ()
    assert file.exists()


async def test_the_report_can_be_told_as_json(run: Sample) -> None:
    index(run).unlink()
    async with Engine(run.root) as engine:
        told = loads(dumps((await engine.doctor()).to_json()))

    (problem,) = told["problems"]
    assert (told["ok"], told["runs"], told["repaired"]) == (False, 1, [])
    assert (problem["check"], problem["severity"], problem["repair"], problem["runId"]) == (
        "runs",
        "error",
        "rebuild_index",
        RUN,
    )
