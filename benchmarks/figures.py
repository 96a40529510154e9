"""The figures of a benchmark: what was measured, and the ratios that are claimed of it."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

from measuring import Measured, best

CONTESTANTS = ("engine", "floor", "blocking", "working", "agent", "super_step")
"""In the order of the table."""


@dataclass(slots=True)
class Figures:
    """Runs by contestant and length."""

    folder: Path
    load: list[float]
    runs: dict[str, dict[int, list[Measured]]] = field(default_factory=dict[str, dict[int, list[Measured]]])

    @classmethod
    def begin(cls, folder: Path) -> Figures:
        return cls(folder, [os.getloadavg()[0]])

    def ended(self) -> None:
        self.load.append(os.getloadavg()[0])

    def add(self, contestant: str, run: Measured) -> None:
        self.runs.setdefault(contestant, {}).setdefault(run.rounds, []).append(run)

    def best(self, contestant: str) -> list[Measured]:
        """One a length, in their order."""
        return [best(repeats) for _, repeats in sorted(self.runs.get(contestant, {}).items())]

    def super_steps(self) -> dict[str, float]:
        """Milliseconds of one bare super-step, at its best: between empty nodes, and between nodes that work."""
        floor = {each.rounds: each for each in self.best("blocking")}
        beyond = [(each.wall_ms - floor[each.rounds].wall_ms) / 2 for each in self.best("working")]
        return {"empty": min(each.wall_ms for each in self.best("super_step")), "working": statistics.median(beyond)}

    def growth(self, contestant: str) -> float:
        """A round of the longest run by one of the shortest."""
        runs = self.best(contestant)
        return runs[-1].wall_ms / runs[0].wall_ms

    def claims(self) -> dict[str, object]:
        engine = {each.rounds: each for each in self.best("engine")}
        agent = {each.rounds: each for each in self.best("agent")}
        return {
            "super_step_ms": {name: round(step, 4) for name, step in self.super_steps().items()},
            "growth": {name: round(self.growth(name), 3) for name in ("engine", "floor", "agent")},
            "checkpoint_bytes_per_round": {
                rounds: round(run.disk.database_bytes / rounds) for rounds, run in engine.items()
            },
            "checkpoint_bytes_per_further_round": _slope(list(engine.values())),
            "agent_by_engine": {
                rounds: round(run.wall_ms / engine[rounds].wall_ms, 2) for rounds, run in agent.items()
            },
            "engine_minus_floor_in_super_steps": {
                f"{floor}, {name} super-steps": self._beyond(floor, step)
                for floor in ("floor", "blocking")
                for name, step in self.super_steps().items()
            },
        }

    def _beyond(self, floor: str, step: float) -> dict[int, float | None]:
        """What the engine takes beyond a floor, at each length; None where too few rounds say what a step takes."""
        least = {each.rounds: each.wall_ms for each in self.best(floor)}
        return {
            each.rounds: round((each.wall_ms - least[each.rounds]) / step, 2) if step > 0 else None
            for each in self.best("engine")
        }

    def to_json(self) -> dict[str, object]:
        return {
            "benchmark": "rounds",
            "machine": machine(self),
            "runs": {name: [each.to_json() for each in self.best(name)] for name in CONTESTANTS},
            "repeats": max(len(repeats) for repeats in self.runs["engine"].values()),
            "claims": self.claims(),
        }


def machine(figures: Figures) -> dict[str, object]:
    """Where it ran, and how busy that was (load average of the last minute, before and after)."""
    return {
        "python": platform.python_version(),
        "langgraph": version("langgraph"),
        "langchain": version("langchain"),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in figures.load],
        "filesystem": filesystem(figures.folder),
    }


def filesystem(folder: Path) -> str:
    """The kind of disk that `folder` is on, where the system tells."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return platform.system()
    found = [line.split()[1:3] for line in mounts.read_text().splitlines()]
    fitting = [(len(at), kind) for at, kind in found if folder.resolve().is_relative_to(at)]
    return max(fitting)[1] if fitting else "?"


def _slope(runs: Sequence[Measured]) -> list[int]:
    """What each further round adds to the database, between one length and the next."""
    return [
        round((after.disk.database_bytes - before.disk.database_bytes) / (after.rounds - before.rounds))
        for before, after in pairwise(runs)
    ]
