"""The shape of an agent profile: its blocks as frozen records, in the order in which they are checked.

Only types are told here; what the values must be is in checks. Unknown fields are refused; a field that has a
default may be null, which is the same as leaving it out.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, model_validator
from pydantic.alias_generators import to_camel

from ..errors import ToolRefused
from ..jsontext import Json
from ..paths import parse

KIND = "tauritavern.agentProfile"
Presentation = Literal["foreground", "background"]


def _spelled(path: str) -> str:
    """The path in its one spelling; what is no path stays as it is, for the checks to refuse."""
    try:
        return parse(path)
    except ToolRefused:
        return path


def _no_less_than_all(count: int) -> int:
    return max(count, -1)


Trimmed = Annotated[str, AfterValidator(str.strip)]
Names = Annotated[tuple[str, ...], Strict(False)]  # JSON arrays come as lists
HistoryCount = Annotated[int, AfterValidator(_no_less_than_all)]


class Block(BaseModel):
    """What all parts of a profile have in common."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        optional = {field.alias for field in cls.model_fields.values() if not field.is_required()}
        given = cast(dict[str, Json], value)
        return {key: item for key, item in given.items() if item is not None or key not in optional}


class PresetRef(Block):
    api_id: str
    name: str


class Preset(Block):
    mode: Literal["currentPromptSnapshot", "ref", "none"]
    ref: PresetRef | None = None
    required: bool = False


class Model(Block):
    mode: Literal["currentPromptSnapshot", "connectionRef", "requiresConfiguration"]
    connection_ref: str | None = None
    model_id: str | None = None


class Context(Block):
    initial_chat_history_messages: HistoryCount = -1
    """How many messages of the chat the prompt holds: -1 all, 0 none."""
    include_activated_world_info: bool = True


class Instructions(Block):
    agent_system_prompt: str | None = None
    """Replaces the default prompt, verbatim."""


class PlanNode(Block):
    id: str
    title: str
    locked: bool = False


class Plan(Block):
    mode: Literal["none", "free", "strict", "hybrid"]
    beta: bool = True
    nodes: Annotated[tuple[PlanNode, ...], Strict(False)] = ()


class ToolDescription(Block):
    description: str | None = None
    properties: dict[str, str] = Field(default_factory=dict[str, str])


class Tools(Block):
    allow: Names
    deny: Names = ()
    approval: Names | Literal["mutating"] = ()
    """Tools whose calls wait for a person: their names, or all that change something."""
    tool_descriptions: dict[str, ToolDescription] = Field(default_factory=dict[str, ToolDescription])
    max_rounds: int
    max_calls_per_run: int = 80
    max_calls_per_tool: dict[str, int] = Field(default_factory=dict[str, int])


class Delegation(Block):
    can_delegate: bool = False
    can_handoff: bool = False
    callable: bool = False
    allow_as_subagent: bool = False
    allow_as_handoff_target: bool = False
    allow_nested_delegation: bool = False
    allowed_callers: Annotated[tuple[Trimmed, ...], Strict(False)] = ("*",)
    description_for_agents: str | None = None
    max_concurrent_invocations: int = 3
    max_invocations_per_run: int = 8
    result_budget_tokens: int = 8000
    max_handoff_depth: int = 8


class ModelRetry(Block):
    max_retries: int = 3
    interval_ms: int = 3000
    max_wait_ms: int = 60_000
    """The longest wait that a server may demand; a longer demand fails the call."""


class DriftRecovery(Block):
    max_attempts: int = 0
    """How often in a run a plain-text answer is corrected; 0 fails the run at the first."""


class Run(Block):
    presentation: Presentation
    direct_runnable: bool = True
    model_retry: ModelRetry = ModelRetry()
    drift_recovery: DriftRecovery = DriftRecovery()
    hydrate_rounds: int = 5
    """Results of writes and patches carry the whole file in rounds 1 to this one; 0 is never."""


class Skills(Block):
    visible: Names
    deny: Names = ()
    max_read_chars_per_call: int = 20_000
    max_read_chars_per_run: int = 80_000


class Workspace(Block):
    visible_roots: Names
    writable_roots: Names
    write_guard: bool = False
    """A whole-file write needs a read of the file as it is."""
    patch_after_partial_read: bool = False


class Artifact(Block):
    id: str
    path: Annotated[str, AfterValidator(_spelled)]
    kind: Trimmed
    target: Literal["messageBody"]
    required: bool = False
    assembly_order: int = 0


class Output(Block):
    artifacts: Annotated[tuple[Artifact, ...], Strict(False)]


class Profile(Block):
    """A whole profile, checked; `to_json` gives it back with its defaults filled in and without what is null."""

    schema_version: int
    kind: str
    id: Trimmed
    display_name: str
    description: str | None = None
    preset: Preset
    model: Model
    context: Context = Context()
    instructions: Instructions = Instructions()
    plan: Plan
    tools: Tools
    delegation: Delegation | None = None
    run: Run
    skills: Skills
    workspace: Workspace
    output: Output

    @property
    def visible_tools(self) -> tuple[str, ...]:
        """The tools allowed and not denied, in order; a name that is listed twice counts once."""
        return tuple(dict.fromkeys(name for name in self.tools.allow if name not in self.tools.deny))

    def to_json(self) -> dict[str, Json]:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
