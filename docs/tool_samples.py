"""One call of each tool and its real answer, for the page of tools to show."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import sample_runs

from treadle.graph.jsontext import Json, loads
from treadle.graph.paths import ROOTS, WorkspacePath
from treadle.graph.ports import ChatMessage
from treadle.graph.profiles.resolved import default_writer, resolve
from treadle.graph.text import sha256_bytes
from treadle.host.demo.sample import bundled
from treadle.nodes.reads import ReadState, Seen
from treadle.nodes.registry import TOOLS
from treadle.nodes.tool import Answer, Bench, CommitAsked, FileChange, LoopEnded
from treadle.testkit.chat import MemoryChat
from treadle.testkit.skills import MemorySkills
from treadle.testkit.workspace import MemoryWorkspace

_PATH = "output/main.md"
_SKILL = "slow-reveal"
_MESSAGES = tuple(
    ChatMessage(index, "user" if told["is_user"] else "assistant", told["mes"], told["name"], told["send_date"])
    for index, told in enumerate(map(loads, bundled("chat.jsonl").split(b"\n")[1:-1]))
)
"""Of the demo's chat."""
_TEXT = b"The lamp went out.\nOdile held the hem.\n"

CALLS: dict[str, Json] = {
    "chat.search": {"query": "five coppers"},
    "chat.read_messages": {"messages": [{"index": 1}]},
    "worldinfo.read_activated": {"entries": [{"ref": "worldinfo:Sill Harbour#7"}]},
    "skill.list": {},
    "skill.search": {"name": _SKILL, "query": "question", "context_lines": 0},
    "skill.read": {"name": _SKILL, "max_chars": 40},
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
    return Bench(
        workspace,
        resolve(default_writer()),
        reads,
        commit_count=1,
        chat=MemoryChat(*_MESSAGES),
        chat_messages=len(_MESSAGES),
        snapshot=lambda: loads(bundled("prompt.json")),
        skills=MemorySkills({_SKILL: {"SKILL.md": bundled(f"skills/{_SKILL}/SKILL.md")}}),
    )


async def _committed() -> Answer:
    with tempfile.TemporaryDirectory() as made:
        stage = sample_runs.shown(Path(made).resolve())
        await stage.play()
        results = [loads(path.read_bytes()) for path in (stage.run_folder / "tool-results").iterdir()]
    (result,) = [each for each in results if each["name"] == "workspace.commit"]
    return Answer(result["content"], result["structured"], tuple(result["resourceRefs"]))
