"""What a node may use: the outside by its ports, and the live objects of the run that it works on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..gateway.connections.connection import Connection
from ..gateway.gateway import ModelGateway
from ..graph.errors import RunFailed, RunLeft, StorageFailed, TreadleError
from ..graph.jsontext import Json
from ..graph.messages import ToolResult, ToolSpec
from ..graph.ports import Ask, ChatReader, Clock, McpTools
from ..graph.profiles.resolved import ResolvedProfile
from ..storage.checkpoints import CheckpointStore
from ..storage.folder import Change, RunFolder
from ..storage.skills.shelf import SkillShelf
from ..storage.workspace import Workspace
from .cancel import CancelSignal
from .conversation import Conversation
from .reads import OBSERVED, ReadState
from .skill_spending import CHARGED, SkillSpending
from .tool import Tool
from .wire_log import WireLog

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Equipment:
    """What was frozen at the run's start, read from its input files."""

    profile: ResolvedProfile
    tools: Mapping[str, Tool]
    """Every tool that can be called, by canonical name, whether the profile shows it or not."""
    specs: tuple[ToolSpec, ...]
    """The tools that the model sees, as the profile words them."""
    settings: dict[str, Json]
    """The chat payload without its prompt: what the gateway sends beside the messages."""
    connection: Connection
    conversation: Conversation


@dataclass(slots=True)
class Run:
    """One run's live objects, rebuilt from its folder whenever a process begins to drive it."""

    folder: RunFolder
    chat_folder: Path
    """The chat's own folder, which holds the persistent files that runs share."""
    gateway: ModelGateway
    workspace: Workspace
    checkpoints: CheckpointStore
    equipment: Equipment | TreadleError
    """What was frozen at the start; an error where its files are damaged, raised when it is first needed."""
    ask: Ask
    cancel: CancelSignal = field(default_factory=CancelSignal)
    chat: ChatReader | None = None
    mcp: McpTools | None = None
    skills: SkillShelf | None = None
    reads: ReadState = field(default_factory=ReadState)
    skill_spending: SkillSpending = field(default_factory=SkillSpending)
    wire_log: WireLog = field(default_factory=WireLog)
    first_rounds: dict[str, int] = field(default_factory=dict[str, int])
    """The round in which each call id was first seen: ids may repeat."""
    hydrated_from: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    """After a resume: the checkpoint whose text a (round, call id) was hydrated with."""
    edited: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    """After a resume: where the arguments stand that a person put in the place of the model's, by (round, call id)."""
    results: dict[tuple[int, str], ToolResult] = field(default_factory=dict[tuple[int, str], ToolResult])
    """After a resume: results that were read already, by (round, call id), until their round is closed."""
    is_fork: bool = False
    """It began with another run's journal."""
    told_rounds: int = 0
    """After a resume, or of a fork: rounds whose closing the journal tells, whatever the profile says of it now."""
    commits: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    """The run's own confirmed commits in order: (commit id, message id)."""
    drift_commits: dict[int, int] = field(default_factory=dict[int, int])
    """For each round that was answered with plain text and corrected: the commits confirmed by then."""

    @property
    def id(self) -> str:
        return self.folder.record.id

    @property
    def profile(self) -> ResolvedProfile:
        return self._equipped.profile

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._equipped.tools

    @property
    def known_specs(self) -> tuple[ToolSpec, ...]:
        """Of every tool that there is, unchanged by the profile: what an answer's calls are named by."""
        return tuple(tool.spec for tool in self.tools.values())

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._equipped.specs

    @property
    def settings(self) -> dict[str, Json]:
        return self._equipped.settings

    @property
    def connection(self) -> Connection:
        return self._equipped.connection

    @property
    def conversation(self) -> Conversation:
        return self._equipped.conversation

    @property
    def _equipped(self) -> Equipment:
        if isinstance(self.equipment, TreadleError):
            raise self.equipment
        return self.equipment

    @staticmethod
    def observes(name: str) -> bool:
        """Whether `observe` learns anything from a result of this tool."""
        return name in OBSERVED or name in CHARGED

    def observe(self, arguments: Json, result: ToolResult, pre_sha256: str | None) -> None:
        """Keep in mind what the model has seen by one call, live and when the run is opened again."""
        self.reads.observe(arguments, result, pre_sha256)
        self.skill_spending.observe(result)

    async def record(self, *changes: Change, durable: bool = False, unless_cancelling: bool = False) -> None:
        """Make the changes in order, in one hop to a thread."""
        await in_thread(lambda: self.folder.apply(*changes, durable=durable, unless_cancelling=unless_cancelling))


@dataclass(frozen=True, slots=True)
class Deps:
    clock: Clock
    begin: Callable[[Json], Awaitable[Run]]
    """Graph mode: make the run that a start request asks for. Raises InvalidInput where it is refused."""
    live: Run | None = None

    @property
    def run(self) -> Run:
        if self.live is None:
            raise RunFailed("there is no run: its start was refused", code="agent.active_run_missing")
        return self.live


async def in_thread(work: Callable[[], T]) -> T:
    """The one way from a node to blocking work: a hop to a thread, once per effect."""
    return await asyncio.to_thread(work)


@contextmanager
def left_if_untold() -> Generator[None]:
    """Of what was done to others, and is told in here: a run that can't tell it has not failed, but is left.

    Raises RunLeft in place of StorageFailed; a resume finds what was done, and tells it.
    """
    try:
        yield
    except RunLeft:
        raise
    except StorageFailed as error:
        raise left(error) from error


def left(error: StorageFailed) -> RunLeft:
    """The error of a run that is left as it is."""
    message = f"{error.message}; make the disk writable, then resume the run"
    return RunLeft(message, code=error.error_code, details=error.details)


def fault_in(answer: dict[str, Json]) -> str | None:
    """What a host's answer says went wrong; a blank text says that nothing did."""
    return str(answer.get("error") or "").strip() or None
