"""A model's desk: tools called one after another over a workspace in memory, as dispatch calls them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

from treadle.graph.errors import ToolRefused
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.messages import ToolResult
from treadle.graph.paths import ROOTS, WorkspacePath
from treadle.graph.ports import ChatMessage, ChatReader, ChatRole
from treadle.graph.profiles.resolved import Presentation, ResolvedProfile, default_writer, resolve
from treadle.nodes.arguments.check import check_arguments
from treadle.nodes.reads import ReadState
from treadle.nodes.registry import TOOLS
from treadle.nodes.skill_spending import SkillSpending
from treadle.nodes.tool import Answer, Bench, CommitAsked, FileChange, LoopEnded, ToolOutcome
from treadle.storage.skills.shelf import SkillShelf
from treadle.storage.workspace import Workspace
from treadle.testkit.chat import MemoryChat
from treadle.testkit.workspace import MemoryWorkspace


def profile(
    *,
    visible: tuple[str, ...] = ROOTS,
    writable: tuple[str, ...] = ROOTS,
    write_guard: bool = False,
    patch_after_partial_read: bool = False,
    presentation: Presentation = "foreground",
) -> ResolvedProfile:
    written = default_writer()
    rules = written.workspace.model_copy(
        update={
            "visible_roots": visible,
            "writable_roots": writable,
            "write_guard": write_guard,
            "patch_after_partial_read": patch_after_partial_read,
        }
    )
    return resolve(written.model_copy(update={"workspace": rules}), presentation_override=presentation)


@dataclass(frozen=True, slots=True)
class Stored:
    """What is left of a call when the process is gone."""

    arguments: bytes
    result: bytes
    pre_sha256: str | None


@dataclass(slots=True)
class Desk:
    workspace: Workspace = field(default_factory=lambda: MemoryWorkspace(roots=ROOTS))
    profile: ResolvedProfile = field(default_factory=profile)
    reads: ReadState = field(default_factory=ReadState)
    stored: list[Stored] = field(default_factory=list[Stored])
    commit_count: int = 0
    chat: ChatReader | None = None
    chat_messages: int = 0
    snapshot: Json = field(default_factory=dict[str, Json])
    skills: SkillShelf | None = None
    spending: SkillSpending = field(default_factory=SkillSpending)

    def outcome(self, name: str, arguments: Json) -> ToolOutcome:
        check_arguments(TOOLS[name], arguments)
        bench = Bench(
            self.workspace,
            self.profile,
            self.reads,
            self.commit_count,
            chat=self.chat,
            chat_messages=self.chat_messages,
            snapshot=lambda: deepcopy(self.snapshot),
            skills=self.skills,
            skill_spending=self.spending,
        )
        return TOOLS[name].run(arguments, bench)

    def call(self, name: str, /, **arguments: Json) -> ToolResult:
        return self.send(name, arguments)

    def send(self, name: str, arguments: Json) -> ToolResult:
        pre_sha256: str | None = None
        try:
            outcome = self.outcome(name, arguments)
        except ToolRefused as refusal:
            error = {"error": {"code": refusal.code, "message": refusal.message}}
            result = ToolResult(CallId("c"), name, refusal.message, error, is_error=True, error_code=refusal.code)
        else:
            if isinstance(outcome, FileChange):
                pre_sha256 = outcome.pre_sha256
                self.workspace.write_bytes(outcome.path, outcome.data)
            answer = _answer(outcome)
            result = ToolResult(
                CallId("c"), name, answer.content, answer.structured, resource_refs=answer.resource_refs
            )
        self.reads.observe(arguments, result, pre_sha256)
        self.spending.observe(result)
        self.stored.append(Stored(dumps(arguments), dumps(result.to_json()), pre_sha256))
        return result

    def text(self, path: str) -> str:
        return self.workspace.read_text(WorkspacePath(path))

    def put(self, path: str, content: str | bytes) -> None:
        """Another writer's change, of which the model is not told."""
        self.workspace.write_bytes(WorkspacePath(path), content.encode() if isinstance(content, str) else content)


def desk(files: dict[str, str | bytes] | None = None, using: ResolvedProfile | None = None) -> Desk:
    made = Desk(profile=using or profile())
    for path, content in (files or {}).items():
        made.put(path, content)
    return made


def chat_desk(*said: str | ChatMessage, visible: int | None = None) -> Desk:
    """A desk over a chat; a text alone is a character's message. The run sees the first `visible`, or all."""
    chat = MemoryChat(
        *(said_by(index, "assistant", each) if isinstance(each, str) else each for index, each in enumerate(said))
    )
    return Desk(chat=chat, chat_messages=len(said) if visible is None else visible)


def said_by(
    index: int, role: ChatRole, text: str, name: str | None = None, send_date: str | None = None
) -> ChatMessage:
    return ChatMessage(index, role, text, name, send_date)


def thawed(data: bytes) -> Json:
    return loads(data)


def _answer(outcome: ToolOutcome) -> Answer:
    match outcome:
        case Answer():
            return outcome
        case FileChange() | LoopEnded():
            return outcome.answer
        case CommitAsked():
            return Answer("asked", None)
