"""The agent profile that a run follows: the built-in one, and the form in which a run freezes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from ..errors import InvalidData, InvalidInput
from ..jsontext import Json
from ..paths import ROOTS, WorkspacePath
from .checks import first_fault
from .faults import Known
from .parse import parse_profile, refusal, shaped
from .schema import KIND, Artifact, Presentation, Profile

__all__ = [
    "BUILT_IN", "DEFAULT_PROFILE_ID", "SEED_TOOLS", "Presentation", "Profile", "ResolvedProfile", "default_writer",
    "parse_profile", "resolve", "resolved_profile",
]  # fmt: skip

DEFAULT_PROFILE_ID = "default-writer"
BUILT_IN = "built_in"
"""The source of a profile that was not read from a file; a stored one's is `file:<id>`."""

SEED_TOOLS = (
    "chat.search", "chat.read_messages", "worldinfo.read_activated", "skill.list", "skill.search", "skill.read",
    "workspace.list_files", "workspace.search_files", "workspace.read_file", "workspace.write_file",
    "workspace.apply_patch", "workspace.commit", "workspace.finish",
)  # fmt: skip
"""The names that a profile may use, in the order in which the model sees them."""

_DEFAULT_WRITER: Json = {
    "schemaVersion": 1,
    "kind": KIND,
    "id": DEFAULT_PROFILE_ID,
    "displayName": "Default Writer",
    "description": "Writes the next reply of any chat: reads what it needs, drafts in files, commits the result.",
    "preset": {"mode": "currentPromptSnapshot"},
    "model": {"mode": "currentPromptSnapshot"},
    "run": {"presentation": "foreground"},
    "tools": {"allow": list(SEED_TOOLS), "maxRounds": 80},
    "skills": {"visible": ["*"]},
    "workspace": {"visibleRoots": list(ROOTS), "writableRoots": list(ROOTS)},
    "plan": {"mode": "none"},
    "output": {
        "artifacts": [
            {"id": "main", "path": "output/main.md", "kind": "markdown", "target": "messageBody", "required": True}
        ]
    },
}

_LASTING = {"lifecycle": "persistent", "scope": "chat", "mount": "projected_overlay", "commit": "on_run_completed"}
_PASSING = {"lifecycle": "run", "scope": "run", "mount": "materialized", "commit": "never"}
_ROOT_RULES = {root: _LASTING if root == "persist" else _PASSING for root in ROOTS}


@dataclass(frozen=True, slots=True)
class ResolvedProfile:
    """A checked profile with its source and the presentation that holds for the run.

    Kept in `input/resolved_profile.json`; the run reads nothing else of the profile.
    """

    definition: Profile
    source: str

    @property
    def id(self) -> str:
        return self.definition.id

    @property
    def visible_tools(self) -> tuple[str, ...]:
        return self.definition.visible_tools

    @property
    def visible_roots(self) -> tuple[str, ...]:
        return self.definition.workspace.visible_roots

    @property
    def writable_roots(self) -> tuple[str, ...]:
        return self.definition.workspace.writable_roots

    @property
    def message_body_path(self) -> WorkspacePath:
        return WorkspacePath(self._message_body.path)

    @property
    def message_body_required(self) -> bool:
        """A commit of the message body must not be blank."""
        return self._message_body.required

    @property
    def presentation(self) -> Presentation:
        return self.definition.run.presentation

    @property
    def max_rounds(self) -> int:
        return self.definition.tools.max_rounds

    @property
    def max_calls_per_run(self) -> int:
        return self.definition.tools.max_calls_per_run

    @property
    def max_calls_per_tool(self) -> dict[str, int]:
        return self.definition.tools.max_calls_per_tool

    @property
    def approval(self) -> tuple[str, ...] | Literal["mutating"]:
        """Tools whose calls wait for a person's word: their names, or all that change something."""
        return self.definition.tools.approval

    @property
    def max_retries(self) -> int:
        """Of one model call, beside its first attempt."""
        return self.definition.run.model_retry.max_retries

    @property
    def retry_interval_ms(self) -> int:
        return self.definition.run.model_retry.interval_ms

    @property
    def retry_max_wait_ms(self) -> int:
        """The longest wait that a server may demand."""
        return self.definition.run.model_retry.max_wait_ms

    @property
    def drift_max_attempts(self) -> int:
        return self.definition.run.drift_recovery.max_attempts

    @property
    def hydrate_rounds(self) -> int:
        return self.definition.run.hydrate_rounds

    @property
    def write_guard(self) -> bool:
        return self.definition.workspace.write_guard

    @property
    def patch_after_partial_read(self) -> bool:
        return self.definition.workspace.patch_after_partial_read

    @property
    def system_prompt(self) -> str | None:
        """The profile's own agent prompt; None is the default one."""
        return self.definition.instructions.agent_system_prompt

    @property
    def context_policy(self) -> dict[str, Json]:
        """`{initialChatHistoryMessages, includeActivatedWorldInfo}`."""
        return self.definition.context.model_dump(by_alias=True)

    @property
    def _message_body(self) -> Artifact:
        return self.definition.output.artifacts[0]

    def to_json(self) -> dict[str, Json]:
        document = self.definition.to_json()
        document["output"] = {
            "artifacts": self._artifacts_json(),
            "messageBodyArtifactId": self._message_body.id,
            "messageBodyPath": self._message_body.path,
        }
        document["sourceTrace"] = {"profileSource": self.source}
        return document

    def manifest_json(self, run_id: str, stable_chat_id: str, chat_ref: Json, created_at: str) -> dict[str, Json]:
        """The run's `manifest.json`: its identity (`chat_ref` as JSON), and what the profile says of its files."""
        return {
            "workspaceVersion": 1,
            "runId": run_id,
            "stableChatId": stable_chat_id,
            "chatRef": chat_ref,
            "createdAt": created_at,
            "input": {
                "mode": "prompt_snapshot",
                "promptSnapshotPath": "input/prompt_snapshot.json",
                "resolvedProfilePath": "input/resolved_profile.json",
            },
            "roots": [
                {"path": root, **rules, "visible": root in self.visible_roots, "writable": root in self.writable_roots}
                for root, rules in _ROOT_RULES.items()
            ],
            "artifacts": self._artifacts_json(),
            "commitPolicy": {
                "defaultTarget": "message_body", "combineTemplate": None, "storeArtifactsInExtra": True,
            },
        }  # fmt: skip

    def _artifacts_json(self) -> list[Json]:
        """The artifacts as runs write their target: in snake case."""
        return [
            {**artifact.model_dump(by_alias=True), "target": "message_body"}
            for artifact in self.definition.output.artifacts
        ]


def default_writer() -> Profile:
    """The built-in profile, which never fails its checks."""
    return parse_profile(_DEFAULT_WRITER, known_tools=SEED_TOOLS)


def resolve(
    profile: Profile, source: str = BUILT_IN, presentation_override: Presentation | None = None
) -> ResolvedProfile:
    """The profile as the run will follow it; `presentation_override` is the start request's.

    An override to the foreground without a visible `workspace.commit` is refused by the start checks, in their order.
    """
    if presentation_override is not None:
        run = profile.run.model_copy(update={"presentation": presentation_override})
        profile = profile.model_copy(update={"run": run})
    return ResolvedProfile(profile, source)


def resolved_profile(json: Json) -> ResolvedProfile:
    """A resolved profile read back; raises InvalidData where it is not what a run froze."""
    try:
        document = dict(cast(dict[str, Json], json))
        source = document.pop("sourceTrace")["profileSource"]
        artifacts = document["output"]["artifacts"]
        document["output"] = {"artifacts": [_as_defined(artifact) for artifact in artifacts]}
        profile = shaped(document)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidData(f"input/resolved_profile.json is not a resolved profile: {error!r}") from error
    except InvalidInput as error:
        raise InvalidData(f"input/resolved_profile.json is damaged: {error.message}") from error
    fault = first_fault(profile, Known(_names_used(profile)))
    if fault or not isinstance(source, str):
        reason = refusal(fault).message if fault else "its sourceTrace.profileSource is no text"
        raise InvalidData(f"input/resolved_profile.json is damaged: {reason}")
    return ResolvedProfile(profile, source)


def _names_used(profile: Profile) -> tuple[str, ...]:
    """Every tool the profile names: they were known when it was resolved."""
    approval = () if profile.tools.approval == "mutating" else profile.tools.approval
    return (*profile.tools.allow, *profile.tools.deny, *approval)


def _as_defined(artifact: Json) -> Json:
    if artifact["target"] != "message_body":
        raise ValueError(f"an artifact's target is {artifact['target']!r}")
    return {**artifact, "target": "messageBody"}
