"""Why a stored profile can't do all that a profile may do. Blocking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ...gateway.connections.stored import stored_connection
from ...graph.errors import InvalidData, InvalidInput, NotFound
from ...graph.jsontext import Json
from ...graph.profiles.parse import checked_id
from ...graph.profiles.resolved import Profile
from ...graph.profiles.schema import Delegation
from ..services import Services
from .choice import named_profile

ASSEMBLED_API = "openai"
"""The one kind of preset that a prompt can be put together from."""


class Use(StrEnum):
    PREVIEW = "preview"
    PROMPT_ASSEMBLY = "promptAssembly"
    DIRECT_RUN = "directRun"
    SUB_AGENT = "subAgent"


_RUNS = (Use.DIRECT_RUN, Use.SUB_AGENT)
_ALL_BUT_PREVIEW = (Use.PROMPT_ASSEMBLY, *_RUNS)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    code: str
    path: str
    message: str
    blocks: tuple[Use, ...]
    repair_actions: tuple[str, ...]
    resource: Json = None

    def to_json(self) -> dict[str, Json]:
        return {
            "code": self.code,
            "severity": "error",
            "path": self.path,
            "message": self.message,
            **({} if self.resource is None else {"resource": self.resource}),
            "blocks": [str(use) for use in self.blocks],
            "repairActions": list(self.repair_actions),
        }


def diagnosis(services: Services, profile_id: str) -> dict[str, Json]:
    """What the profile of that id is fit for, and what is in its way; raises NotFound for an unknown id."""
    name = checked_id(profile_id)
    try:
        profile, _ = named_profile(services, name)
    except (InvalidInput, InvalidData) as broken:
        return _told(name, None, [_contract_broken(f"{broken.message} ({broken.error_code})")])
    return _told(name, profile, [*_of_preset(services, profile), *_of_model(services, profile)])


def _told(profile_id: str, profile: Profile | None, found: list[Diagnostic]) -> dict[str, Json]:
    blocked = {use for each in found for use in each.blocks}
    rules = (profile.delegation if profile else None) or Delegation()
    direct = profile is not None and profile.run.direct_runnable
    return {
        "profileId": profile_id,
        "previewAvailable": Use.PREVIEW not in blocked,
        "promptAssemblyAvailable": Use.PROMPT_ASSEMBLY not in blocked,
        "directRunAvailable": direct and Use.DIRECT_RUN not in blocked,
        "subAgentAvailable": rules.callable and rules.allow_as_subagent and Use.SUB_AGENT not in blocked,
        "diagnostics": [each.to_json() for each in found],
    }


def _contract_broken(message: str) -> Diagnostic:
    return Diagnostic("agent.profile_contract_invalid", "$", message, tuple(Use), ("openJsonEditor",))


def _of_preset(services: Services, profile: Profile) -> Iterator[Diagnostic]:
    ref = profile.preset.ref
    if profile.preset.mode != "ref" or ref is None:
        return
    resource = {"kind": "preset", "apiId": ref.api_id, "name": ref.name}
    actions = ("selectPreset", "openJsonEditor")
    if ref.api_id != ASSEMBLED_API:
        message = f"prompts can be made from presets of {ASSEMBLED_API} only, and this one is of {ref.api_id}"
        code = "agent.profile_preset_api_unsupported"
        yield Diagnostic(code, "$.preset.ref.apiId", message, _ALL_BUT_PREVIEW, actions, resource)
    elif not services.preset_exists(ref.api_id, ref.name):
        message = f"there is no preset {ref.name!r} of {ref.api_id}"
        code = "agent.profile_preset_missing"
        yield Diagnostic(code, "$.preset.ref.name", message, _ALL_BUT_PREVIEW, actions, resource)


def _of_model(services: Services, profile: Profile) -> Iterator[Diagnostic]:
    model = profile.model
    if model.mode == "requiresConfiguration":
        message = "the profile has no model yet"
        code = "agent.profile_model_requires_configuration"
        yield Diagnostic(code, "$.model.mode", message, _ALL_BUT_PREVIEW, ("selectModel",), {"kind": "model"})
    if model.mode != "connectionRef" or model.connection_ref is None:
        return
    try:
        stored_connection(model.connection_ref, services.connections)
    except NotFound as missing:
        code, message = "agent.profile_model_connection_missing", missing.message
    except (InvalidInput, InvalidData) as wrong:
        code, message = "agent.profile_model_connection_invalid", wrong.message
    else:
        return
    resource = {"kind": "llmConnection", "id": model.connection_ref, "modelId": model.model_id}
    blocks = _ALL_BUT_PREVIEW if profile.preset.mode == "ref" else _RUNS
    actions = ("selectModel", "setModelRequiresConfiguration")
    yield Diagnostic(code, "$.model.connectionRef", message, blocks, actions, resource)
