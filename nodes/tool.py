"""What a tool is: a spec and one `run`, which answers, plans a change, asks for a commit, or ends the loop.

A tool changes nothing itself: a change is planned (`FileChange`), and dispatch journals it before it makes it. What the
model can mend is raised as `ToolRefused`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.messages import ToolSpec
from ..graph.paths import WorkspacePath
from ..graph.ports import ChatReader, CommitMode, McpTools
from ..graph.profiles.resolved import ResolvedProfile
from ..storage.skills.shelf import SkillShelf
from ..storage.workspace import Workspace
from .reads import ReadState
from .skill_spending import SkillSpending


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model is told of a call that went well."""

    content: str
    structured: Json
    resource_refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """A whole new content for one file, planned against the content it had."""

    path: WorkspacePath
    pre_sha256: str | None
    """None where the file is new."""
    post_sha256: str
    data: bytes
    event: Literal[EventType.WORKSPACE_FILE_WRITTEN, EventType.WORKSPACE_PATCH_APPLIED]
    payload: dict[str, Json]
    """Of that event: path, sha256, chars, words, and mode or oldSha256 and replacements."""
    answer: Answer


@dataclass(frozen=True, slots=True)
class CommitAsked:
    """The model asks for `path` to be published; its file is read by the commit step."""

    path: WorkspacePath
    mode: CommitMode
    reason: str | None


@dataclass(frozen=True, slots=True)
class LoopEnded:
    """The model finished, and may."""

    answer: Answer


ToolOutcome = Answer | FileChange | CommitAsked | LoopEnded


@dataclass(frozen=True, slots=True)
class Bench:
    """What a tool may use. Blocking: tools run in a thread."""

    workspace: Workspace
    profile: ResolvedProfile
    reads: ReadState
    """What the model has seen of each file in this run; tools read it, dispatch updates it."""
    commit_count: int = 0
    chat: ChatReader | None = None
    """The run's chat; None where no host here can read it."""
    chat_messages: int = 0
    """How many messages of the chat the run may see, from the first: frozen at its start."""
    snapshot: Callable[[], Json] = dict
    """The run's prompt snapshot, read when it is asked for; raises InvalidData where it is damaged."""
    mcp: McpTools | None = None
    skills: SkillShelf | None = None
    skill_spending: SkillSpending = field(default_factory=SkillSpending)


@dataclass(frozen=True, slots=True)
class Tool:
    spec: ToolSpec
    run: Callable[[Json, Bench], ToolOutcome]
    """Raises ToolRefused for arguments that are wrong, whether or not they were checked against the schema before."""
    judges: frozenset[str] = frozenset()
    """Top-level fields that only `run` judges: it tells their faults by a code of its own, or takes more than the schema."""
    closed: bool = False
    """What the schema says of other keys than it names holds; else they are left alone, at every level."""
    ignores_arguments: bool = False
    """Nothing that is sent can keep the tool from running but arguments that were cut off."""
    acts_outside: bool = False
    """It may change what is not ours before it answers: a call is journalled before it is made."""
    is_repeatable: bool = True
    """Of one that acts outside: a call of which a crash hid the answer is made again."""
