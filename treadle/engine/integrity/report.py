"""What a check of a run says: plain records."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.jsontext import Json


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be, or that is worth knowing."""

    file: str
    """Its path inside the run's folder."""
    expected: str
    found: str
    remedy: str
    """What a person can do about it."""
    line: int | None = None
    """Of the file, from 1."""
    offset: int | None = None
    """In bytes, where the line begins."""
    path: str | None = None
    """The place inside the file's JSON: `$.status`."""
    is_fault: bool = True
    """False for what is no fault: a leftover, or what can't be told."""

    @property
    def where(self) -> str:
        place = f", line {self.line}, byte offset {self.offset}" if self.line is not None else ""
        return f"{self.file}{place}{f', {self.path}' if self.path else ''}"

    def to_json(self) -> dict[str, Json]:
        told: dict[str, Json] = {
            "file": self.file,
            "line": self.line,
            "offset": self.offset,
            "path": self.path,
            "expected": self.expected,
            "found": self.found,
            "remedy": self.remedy,
            "isFault": self.is_fault,
        }
        return {key: value for key, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Check:
    """One check by its name, and what it found."""

    name: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not any(finding.is_fault for finding in self.findings)

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "ok": self.ok, "findings": [finding.to_json() for finding in self.findings]}


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a look at one run found."""

    run_id: str
    checks: tuple[Check, ...]
    under_way: bool
    """Somebody drives the run: what is not yet settled was not held against it."""

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for check in self.checks for finding in check.findings)

    def to_json(self) -> dict[str, Json]:
        return {
            "runId": self.run_id,
            "ok": self.ok,
            "underWay": self.under_way,
            "checks": [check.to_json() for check in self.checks],
        }
