"""What a check of a data root says, and what may be done about it: plain records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ....graph.jsontext import Json


class Severity(StrEnum):
    ERROR = "error"
    """Something can't be read or used."""
    WARNING = "warning"
    """Something is amiss, and nothing is lost by it."""
    NOTE = "note"
    """Worth knowing; nothing is amiss."""


class Kind(StrEnum):
    """The repairs that are safe: each can be done twice, and a crash in one leaves the other half to the next."""

    REBUILD_INDEX = "rebuild_index"
    END_RECORD = "end_record"
    FINISH_PROMOTION = "finish_promotion"
    REMOVE_FILE = "remove_file"


@dataclass(frozen=True, slots=True)
class Repair:
    """`path` is that of the thing that is repaired, below the data root; `run_id` that of the run it belongs to, if any."""

    kind: Kind
    path: str
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that was found."""

    check: str
    where: str
    """A path below the data root."""
    what: str
    severity: Severity
    remedy: str
    run_id: str | None = None
    repair: Repair | None = None
    """None where only a person can decide."""

    @property
    def is_amiss(self) -> bool:
        return self.severity is not Severity.NOTE

    def to_json(self) -> dict[str, Json]:
        told: dict[str, Json] = {
            "check": self.check,
            "where": self.where,
            "what": self.what,
            "severity": str(self.severity),
            "remedy": self.remedy,
            "runId": self.run_id,
            "repair": None if self.repair is None else str(self.repair.kind),
        }
        return {key: value for key, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What a look at a data root found."""

    runs: int
    """How many runs were looked at."""
    problems: tuple[Problem, ...]
    """What is still so, after the repairs where there were any."""
    repaired: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        return not any(problem.is_amiss for problem in self.problems)

    def to_json(self) -> dict[str, Json]:
        return {
            "ok": self.ok,
            "runs": self.runs,
            "problems": [problem.to_json() for problem in self.problems],
            "repaired": [problem.to_json() for problem in self.repaired],
        }
