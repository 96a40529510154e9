"""`treadle runs verify` and `treadle doctor`: what they print, and the exit codes that a program goes by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.host.cli import exit_code

from ..engine.integrity.samples import Sample, sample
from ..scenarios.stage import RUN

Said = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def run(whole: Sample, tmp_path: Path) -> Sample:
    return whole.copy(tmp_path / "data")


def called(capsys: Said, sample: Sample, *arguments: str) -> tuple[int, str]:
    code = exit_code([*arguments, "--data", str(sample.root)])
    return code, capsys.readouterr().out


def test_a_whole_run_is_said_to_be_so(capsys: Said, whole: Sample) -> None:
    code, said = called(capsys, whole, "runs", "verify", RUN)

    assert (code, said.splitlines()[0], said.splitlines()[-1]) == (0, "ok     journal", f"Run {RUN}: no faults")


def test_a_fault_is_told_with_its_place_and_remedy(capsys: Said, run: Sample) -> None:
    with run.journal.open("ab") as journal:
        journal.write(b'{"seq":')
    size = run.journal.stat().st_size

    code, said = called(capsys, run, "runs", "verify", RUN)

    lines = [line.strip() for line in said.splitlines()]
    place = next(index for index, line in enumerate(lines) if line.startswith("events.jsonl"))
    assert code == 1
    assert lines[place].endswith(f"byte offset {size - 7}")
    assert [line.split(":")[0] for line in lines[place + 1 : place + 4]] == ["expected", "found", "remedy"]
    assert lines[-1] == f"Run {RUN}: 1 fault"


def test_a_report_for_programs_has_every_finding(capsys: Said, run: Sample) -> None:
    (run.folder / "output" / "main.md").write_text("Mine now.")

    code, said = called(capsys, run, "runs", "verify", RUN, "--json")

    told = json.loads(said)
    (finding,) = [each for check in told["checks"] for each in check["findings"]]
    assert (code, told["ok"], told["underWay"], finding["file"]) == (1, False, False, "output/main.md")


def test_an_unknown_run_is_bad_input(capsys: Said, whole: Sample) -> None:
    assert called(capsys, whole, "runs", "verify", "run_9")[0] == 2


def test_a_healthy_root_is_said_to_be_so(capsys: Said, whole: Sample) -> None:
    assert called(capsys, whole, "doctor") == (0, "1 run looked at: healthy\n")


def test_a_doctor_tells_repairs_and_then_has_nothing_to_tell(capsys: Said, run: Sample) -> None:
    where = f"_tauritavern/agent-workspaces/index/runs/{RUN}.json"
    (run.root / where).unlink()

    code, said = called(capsys, run, "doctor")
    assert (code, said.splitlines()[0]) == (1, f"error     {where}: the run is not in the index, so no list shows it")
    assert said.splitlines()[-1] == "1 run looked at: 1 problem"

    code, said = called(capsys, run, "doctor", "--repair")
    assert (code, said.splitlines()[0].split()[0], said.splitlines()[-1]) == (0, "repaired", "1 run looked at: healthy")

    code, said = called(capsys, run, "doctor", "--json")
    assert (code, json.loads(said)) == (0, {"ok": True, "runs": 1, "problems": [], "repaired": []})
