"""Runs that are rewound: what their model says, what stands on disk afterwards, and how their journal goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from treadle.engine.engine import Engine
from treadle.graph.identity import workspace_id
from treadle.graph.jsontext import Json
from treadle.storage.runs import TREE
from treadle.testkit.replies import call, calls

from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.script import Step
from ...scenarios.stage import ROOTS, RUN, Stage
from ...storage.chats.samples import STABLE_ID

PLOT: Final = "The tide owns a kettle.\n"
PATCHED: Final = words.DRAFT.replace("kettle", "cup")

WRITE_ALL: Final = calls(
    call("workspace.write_file", path="output/main.md", content=words.DRAFT),
    call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup"),
    call("workspace.write_file", path="persist/plot.md", content="Nobody owns the tide.\n"),
    call("workspace.write_file", path="scratch/deep/er/idea.md", content="A lamp.\n"),
)
"""Checkpoints 1 to 4."""
MAIN_1, MAIN_2, PLOT_3, IDEA_4 = "cp_000001", "cp_000002", "cp_000003", "cp_000004"

AT: Final[dict[str | None, dict[str, str]]] = {
    None: {"persist/plot.md": PLOT},
    MAIN_1: {"output/main.md": words.DRAFT, "persist/plot.md": PLOT},
    MAIN_2: {"output/main.md": PATCHED, "persist/plot.md": PLOT},
    PLOT_3: {"output/main.md": PATCHED, "persist/plot.md": "Nobody owns the tide.\n"},
    IDEA_4: {
        "output/main.md": PATCHED,
        "persist/plot.md": "Nobody owns the tide.\n",
        "scratch/deep/er/idea.md": "A lamp.\n",
    },
}
"""What the workspace holds at each checkpoint; None: at the start."""


def lend(stage: Stage) -> Path:
    """The chat has a persistent file, as an earlier run left it."""
    file = stage.root / TREE / "chats" / workspace_id("character", STABLE_ID) / "persist" / "plot.md"
    file.parent.mkdir(parents=True)
    file.write_text(PLOT, "utf-8", newline="")
    return file


async def left(stage: Stage, *steps: Step) -> None:
    """A run that stands between its calls: its last question is never answered, and nobody drives it."""
    async with stage.show(*steps, never) as show:
        await show.start()
        await show.asked(len(steps) + 1)


async def ended(stage: Stage, *steps: Step) -> None:
    async with stage.show(*steps) as show:
        await show.start()
        await show.end()


def cut_after(stage: Stage, event_type: str, nth: int) -> None:
    """As if the process had been killed right after the nth such event: nothing later is told, no state is saved."""
    journal = stage.run_folder() / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    last = [place for place, line in enumerate(lines) if f'"{event_type}"'.encode() in line][nth - 1]
    journal.write_bytes(b"".join(lines[: last + 1]))
    for file in stage.run_folder().glob("run.sqlite*"):
        file.unlink()


def folders(stage: Stage) -> list[str]:
    """Every folder below the five roots."""
    run = stage.run_folder()
    return sorted(
        path.relative_to(run).as_posix() for root in ROOTS for path in (run / root).rglob("*") if path.is_dir()
    )


async def tail(engine: Engine, after_seq: int) -> list[Json]:
    """What the journal tells after an event: types and payloads."""
    events = await engine.read_events(RUN, after_seq=after_seq, limit=500)
    return [{event.type: event.payload} for event in events]


async def last_seq(engine: Engine) -> int:
    return (await engine.read_events(RUN, before_seq=1_000_000, limit=1))[-1].seq


def kept(stage: Stage, sha256: str) -> bytes:
    return Path(stage.run_folder() / "checkpoints" / "content" / sha256).read_bytes()
