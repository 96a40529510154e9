"""A run that has a bit of everything, and how it is looked at."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from treadle.engine.integrity.report import Finding, RunReport
from treadle.engine.integrity.verify import verify
from treadle.engine.services import Services
from treadle.testkit.replies import call, calls

from ...scenarios import words
from ...scenarios.stage import RUN, Stage

_PATCH = call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup")
_NOTE = call("workspace.write_file", path="persist/notes.md", content="The tide owns a kettle.\n")
STEPS = words.WRITE, calls(_PATCH, _NOTE, call("workspace.read_file", path="output/main.md")), words.COMMIT_AND_FINISH


@dataclass(frozen=True, slots=True)
class Sample:
    """A run in a data root of its own, to be damaged."""

    root: Path

    @property
    def folder(self) -> Path:
        return next(self.root.glob(f"_tauritavern/agent-workspaces/chats/*/runs/{RUN}"))

    @property
    def journal(self) -> Path:
        return self.folder / "events.jsonl"

    def verified(self) -> RunReport:
        return verify(Services(self.root), RUN)

    def found(self, *, faults_only: bool = True) -> tuple[Finding, ...]:
        return tuple(each for each in self.verified().findings if each.is_fault or not faults_only)

    def copy(self, to: Path) -> Sample:
        return Sample(Path(shutil.copytree(self.root, to)))


def sample(folder: Path) -> Sample:
    """The run, ended well."""
    stage = Stage(folder)
    asyncio.run(stage.play(*STEPS))
    return Sample(stage.root)


def failed(report: RunReport) -> list[str]:
    """The names of the checks that found faults."""
    return [check.name for check in report.checks if not check.ok]
