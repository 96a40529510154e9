"""What the checks of a run and of a data root say to people: one entry a finding, never cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from .tables import to_screen

if TYPE_CHECKING:
    from ..engine.integrity.report import Check, Finding, RunReport
    from ..engine.integrity.root.problem import DoctorReport, Problem

_STYLES = {"error": "red", "warning": "yellow", "note": "dim"}


def show_report(report: RunReport) -> None:
    """Each check with its findings, then the sum."""
    text = Text()
    for check in report.checks:
        for line in _check_lines(check):
            text.append_text(line).append("\n")
    faults = sum(finding.is_fault for finding in report.findings)
    way = ", under way: what is not yet settled was passed over" if report.under_way else ""
    verdict = "no faults" if report.ok else f"{faults} fault{'s' if faults > 1 else ''}"
    text.append(f"Run {report.run_id}: {verdict}{way}")
    to_screen(text)


def show_doctor(report: DoctorReport) -> None:
    """What was repaired, what is left, then the sum."""
    text = Text()
    for problem in report.repaired:
        text.append("repaired  ", style="green").append(f"{problem.where}: {problem.what}\n")
    for problem in report.problems:
        text.append_text(_problem_lines(problem))
    amiss = sum(problem.is_amiss for problem in report.problems)
    verdict = "healthy" if report.ok else f"{amiss} problem{'s' if amiss > 1 else ''}"
    text.append(f"{report.runs} run{'' if report.runs == 1 else 's'} looked at: {verdict}")
    to_screen(text)


def _check_lines(check: Check) -> Iterator[Text]:
    yield Text("ok     " if check.ok else "FAULT  ", style="green" if check.ok else "red").append(check.name, style="")
    for finding in check.findings:
        yield from _finding_lines(finding)


def _finding_lines(finding: Finding) -> Iterator[Text]:
    kind = "" if finding.is_fault else "note: "
    yield Text(f"       {kind}{finding.where}", style="" if finding.is_fault else "dim")
    yield Text(f"         expected: {finding.expected}")
    yield Text(f"         found:    {finding.found}")
    yield Text(f"         remedy:   {finding.remedy}")


def _problem_lines(problem: Problem) -> Text:
    line = Text(f"{problem.severity:<9} ", style=_STYLES[str(problem.severity)])
    return line.append(f"{problem.where}: {problem.what}\n", style="").append(f"          {problem.remedy}\n", style="")
