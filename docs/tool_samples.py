"""One call of each tool and its real answer, for the page of tools to show."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import sample_runs

from treadle.graph.jsontext import Json, loads
from treadle.graph.paths import ROOTS, WorkspacePath
from treadle.graph.profile import default_writer, resolve
from treadle.graph.text import sha256_bytes
from treadle.nodes.reads import ReadState, Seen
from treadle.nodes.registry import TOOLS
from treadle.nodes.tool import Answer, Bench, CommitAsked, FileChange, LoopEnded
from treadle.testkit.workspace import MemoryWorkspace

_PATH = "output/main.md"
_TEXT = b"The lamp went out.\nOdile held the hem.\n"

CALLS: dict[str, Json] = {
    "workspace.list_files": {},
    "workspace.search_files": {"query": "lamp", "context_lines": 0},
    "workspace.read_file": {"path": _PATH},
    "workspace.write_file": {"path": "plan/next.md", "content": "Light it again.\n"},
    "workspace.apply_patch": {"path": _PATH, "old_string": "went out", "new_string": "burned low"},
    "workspace.commit": {},
    "workspace.finish": {"reason": "the reply is published"},
}
"""By tool, the arguments of the call that is shown."""


def answer(name: str) -> Answer:
    """What the tool answers to its call in `CALLS`; of a commit, what a run's commit step answered."""
    outcome = TOOLS[name].run(CALLS[name], _bench())
    match outcome:
        case Answer():
            return outcome
        case FileChange() | LoopEnded():
            return outcome.answer
        case CommitAsked():
            return asyncio.run(_committed())


def _bench() -> Bench:
    path = WorkspacePath(_PATH)
    reads = ReadState({path: Seen(sha256_bytes(_TEXT), full=True)})
    workspace = MemoryWorkspace({path: _TEXT}, roots=ROOTS)
    return Bench(workspace, resolve(default_writer()), reads, commit_count=1)


async def _committed() -> Answer:
    with tempfile.TemporaryDirectory() as made:
        stage = sample_runs.shown(Path(made).resolve())
        await stage.play()
        results = [loads(path.read_bytes()) for path in (stage.run_folder / "tool-results").iterdir()]
    (result,) = [each for each in results if each["name"] == "workspace.commit"]
    return Answer(result["content"], result["structured"], tuple(result["resourceRefs"]))
