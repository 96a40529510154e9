"""What a playing left behind, read from its folder as it lies there: nothing is repaired, and nothing refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...graph.jsontext import Json, is_object, loads
from ...graph.paths import ROOTS
from ...storage.disk import is_temporary
from ...storage.persist import INTENT, STATES
from ...storage.runs import EVENTS, TREE
from .play import DATA
from .questions import Question, Questions
from .watching import EFFECTS, OUTSIDE, SHARED, timeless

Effect = tuple[str, str, str]
"""What was done, to which path, and the SHA-256 of what was written there."""


@dataclass(frozen=True, slots=True)
class Left:
    """A run's journal, files, records and effects, as one playing left them."""

    events: tuple[dict[str, Json], ...]
    damaged: tuple[str, ...]
    """Lines of the journal that hold no event."""
    statuses: dict[str, str | None]
    """By record (`run.json`, the index): the status that it tells."""
    files: dict[str, str]
    """By path: the workspace of the run, and what its chat keeps from run to run. Times are blotted out."""
    effects: Counter[Effect]
    """How often each was made, by all processes together."""
    asked: tuple[Question, ...]
    temporary: tuple[str, ...]
    """Files that a cut-off write left."""
    outside: Json

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]


def left(folder: Path, run_id: str, outside: Callable[[Path], Json]) -> Left:
    """Read what a playing left below its folder."""
    tree = folder / DATA / TREE
    run = next(tree.glob(f"chats/*/runs/{run_id}"), tree / "missing")
    events, damaged = journal(run / EVENTS)
    return Left(
        events=events,
        damaged=damaged,
        statuses={
            "run.json": _status(run / "run.json"),
            "index": _status(tree / "index" / "runs" / f"{run_id}.json"),
        },
        files=_files(run),
        effects=_effects(folder),
        asked=Questions(folder).read(),
        temporary=tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if is_temporary(path.name))),
        outside=outside(folder),
    )


def journal(path: Path) -> tuple[tuple[dict[str, Json], ...], tuple[str, ...]]:
    """The events of a journal, and the lines that are none."""
    events: list[dict[str, Json]] = []
    damaged: list[str] = []
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        found = _parsed(line) if line else None
        if found is not None:
            events.append(found)
        elif line:
            damaged.append(line.decode("utf-8", "replace"))
    return tuple(events), tuple(damaged)


def _parsed(line: bytes) -> dict[str, Json] | None:
    try:
        value = loads(line)
    except ValueError:
        return None
    return value if is_object(value) and "type" in value else None


def _status(path: Path) -> str | None:
    try:
        record = loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return record.get("status") if is_object(record) else None


def _files(run: Path) -> dict[str, str]:
    chat = run.parent.parent
    places = {root: run / root for root in ROOTS} | {f"chat's {name}": chat / name for name in ("persist", STATES)}
    return {
        f"{place}/{path.relative_to(folder).as_posix()}": timeless(path.read_bytes()).decode(
            "utf-8", "backslashreplace"
        )
        for place, folder in places.items()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not is_temporary(path.name)
    }


def _effects(folder: Path) -> Counter[Effect]:
    """Of what was written, that which others see: the run's own books may be written again."""
    path = folder / EFFECTS
    lines = [loads(line) for line in path.read_bytes().split(b"\n") if line] if path.exists() else []
    return Counter((told["kind"], told["path"], told["sha256"]) for told in lines if _is_seen(told["path"]))


def _is_seen(path: str) -> bool:
    if path.startswith(SHARED):
        return ("/persist/" in path or f"/{STATES}/" in path) and not path.endswith(f"/{INTENT}")
    return path.startswith(OUTSIDE) or path.split("/")[0] in ROOTS
