"""What a run is equipped with, read from the input files that its start froze; blocking."""

from __future__ import annotations

from ..gateway.gateway import ModelGateway
from ..graph.jsontext import Json
from ..graph.profile import ResolvedProfile, resolved_profile
from ..storage.folder import RunFolder
from ..storage.runs import PROMPT_SNAPSHOT, RESOLVED_PROFILE
from . import registry
from .conversation import Conversation
from .deps import Equipment
from .prompt import agent_system_prompt, render_specs
from .snapshot import payload_of
from .snapshot_messages import messages_of, settings_of


def load(folder: RunFolder, gateway: ModelGateway) -> Equipment:
    """Raises InvalidData where an input file is missing or damaged."""
    profile = resolved_profile(folder.read_json(RESOLVED_PROFILE))
    return equip(profile, folder.read_json(PROMPT_SNAPSHOT), gateway)


def equip(profile: ResolvedProfile, snapshot: Json, gateway: ModelGateway) -> Equipment:
    """The equipment for a snapshot under a profile; raises InvalidInput for prompts that can't be sent."""
    payload = payload_of(snapshot)
    specs = render_specs(profile, registry.specs())
    settings = settings_of(payload)
    connection = gateway.connect(settings)
    opening = messages_of(payload, agent_system_prompt(profile, specs))
    conversation = Conversation(gateway, connection, opening)
    return Equipment(profile, specs, settings, connection, conversation)
