"""What a run is equipped with, read from the input files that its start froze; blocking."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from ..gateway.connections.dialects import KEY as DIALECT
from ..gateway.connections.sources import RECORD
from ..gateway.gateway import ModelGateway
from ..gateway.schemas.rules import RULES, tool_parameters
from ..graph.errors import InvalidInput, NotFound
from ..graph.jsontext import Json
from ..graph.mcp_tools import McpTool, thawed
from ..graph.profiles.resolved import ResolvedProfile, resolved_profile
from ..storage.folder import RunFolder
from ..storage.runs import MCP_TOOLS, PROMPT_SNAPSHOT, RESOLVED_PROFILE
from . import registry
from .conversation import Conversation
from .deps import Equipment
from .mcp_tool import mcp_tools
from .prompt import agent_system_prompt, render_specs
from .snapshot import payload_of
from .snapshot_messages import messages_of, settings_of
from .tool import Tool


def load(folder: RunFolder, gateway: ModelGateway) -> Equipment:
    """Raises InvalidData where an input file is missing or damaged."""
    profile = resolved_profile(folder.read_json(RESOLVED_PROFILE))
    outside = _outside(folder.read_json(MCP_TOOLS) if folder.has(MCP_TOOLS) else None)
    return equip(profile, folder.read_json(PROMPT_SNAPSHOT), gateway, outside)


def equip(
    profile: ResolvedProfile, snapshot: Json, gateway: ModelGateway, outside: Sequence[McpTool] = ()
) -> Equipment:
    """The equipment for a snapshot under a profile; raises InvalidInput for prompts that can't be sent.

    Raises NotFound or InvalidInput for a stored connection that is missing or wrong, and ModelFailed
    `model.provider_denied` where the policy does not allow what was chosen.
    """
    payload = payload_of(snapshot)
    tools = _with(outside)
    specs = render_specs(profile, tuple(tool.spec for tool in tools.values()))
    settings = _settings(profile, payload, gateway)
    connection = gateway.connect(settings)
    for tool in outside:  # a schema that can't be sent is told before anything is
        tool_parameters(tool.spec, RULES[connection.format])
    opening = messages_of(payload, agent_system_prompt(profile, specs))
    conversation = Conversation(gateway, connection, opening)
    return Equipment(profile, tools, specs, settings, connection, conversation)


def tools_of(frozen: Json) -> Mapping[str, Tool]:
    """Every tool of a run, by name; `frozen` is its `input/mcp_tools.json`, None where it has none."""
    return _with(_outside(frozen))


def _outside(frozen: Json) -> Sequence[McpTool]:
    return () if frozen is None else thawed(frozen)


def _with(outside: Sequence[McpTool]) -> Mapping[str, Tool]:
    return {**registry.TOOLS, **mcp_tools(outside)}


@contextmanager
def of_the_profile() -> Generator[None]:
    """What is wrong with a stored connection, told as a fault of the profile that names it."""
    try:
        yield
    except NotFound as missing:
        raise NotFound(
            f"the profile's model.connectionRef: {missing.message}", code="agent.profile_model_connection_missing"
        ) from None
    except InvalidInput as wrong:
        raise InvalidInput(
            f"the profile's model.connectionRef: {wrong.message}", code="agent.profile_model_connection_invalid"
        ) from None


def _settings(profile: ResolvedProfile, payload: dict[str, Json], gateway: ModelGateway) -> dict[str, Json]:
    """The payload's settings with the stored connection in place: the profile's, where it names one, else its own."""
    model = profile.definition.model
    settings = settings_of(payload)
    if model.mode != "connectionRef":
        return gateway.selected(settings)
    settings = {key: value for key, value in settings.items() if key != DIALECT}
    with of_the_profile():
        return gateway.selected({**settings, RECORD: {"id": model.connection_ref, "model": model.model_id}})
