"""What an engine, or a graph built for somebody else's, works with: the data root and the ports."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from ..gateway.connections.deployment import deployment
from ..gateway.connections.retention import Retention
from ..gateway.gateway import ModelGateway
from ..gateway.transports.faults import MAX_REPLY_BYTES
from ..gateway.transports.http import HttpTransport
from ..gateway.transports.websocket import WebSocketTransport
from ..graph.errors import InvalidInput
from ..graph.jsontext import Json
from ..graph.ports import ChatHost, Clock, Ids, ModelSockets, ModelTransport, PresetStore, PromptAssembler, SecretStore
from ..nodes.assembly.plain import PlainAssembler
from ..nodes.profile_rules import checked_profile
from ..storage.connections import ConnectionFiles
from ..storage.database import Connect, plain_connection
from ..storage.disk import Disk, RealDisk
from ..storage.lasting_disk import DURABILITIES, Durability, LastingDisk
from ..storage.mcp_servers import McpServersFile
from ..storage.presets import PresetFiles
from ..storage.profiles import ProfileFiles
from ..storage.run_index import RunIndex
from ..storage.run_summaries import RunSummaries
from ..storage.runs import RunStore
from ..storage.secrets import secrets_below
from ..storage.skills.store import SkillStore
from ..storage.wire_log import LEVELS, WireLevel
from .mcp.sessions import McpSessions


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RandomIds:
    def new(self) -> str:
        return uuid.uuid4().hex


@dataclass(frozen=True)
class Services:
    """Every port has a real thing behind it unless you give another."""

    data_root: Path
    host: ChatHost | None = None
    """None: commits wait for `resolve_agent_chat_commit` (engine) or interrupt (bare graph)."""
    transport: ModelTransport | None = None
    """None: an HttpTransport."""
    sockets: ModelSockets | None = None
    """None: real ones beside an HttpTransport; beside a transport of your own, everything goes over that."""
    secrets: SecretStore | None = None
    """None: the environment, the system's keyring, and the data root's file of secrets."""
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=RandomIds)
    disk: Disk = field(default_factory=RealDisk)
    durability: Durability | None = None
    """What a change on disk must outlast. "process": the death of the process; only what others may see next waits for
    the platter. "power": every change waits for it. None: as the data root's settings file says, else "process"."""
    connect: Connect = plain_connection
    """How the `run.sqlite` of a run is opened."""
    wire_log: WireLevel | None = None
    """What is kept of the calls to the model: nothing, all but the bodies, or the bodies too. None: as the data root's
    settings file says, else all but the bodies."""
    reply_limit: int | None = None
    """How many bytes an answer may have, over HTTP or in a turn of a WebSocket; None: 64 MiB.

    Transports of your own have their own limits; that of an HttpTransport, `max_reply_bytes`, holds for the sockets too.
    """
    presets: PresetStore | None = None
    """Which presets profiles may refer to; None: the files of the data root."""
    assembler: PromptAssembler = field(default_factory=PlainAssembler)
    holder: str = field(default_factory=lambda: f"{os.getpid()}-{uuid.uuid4().hex[:8]}")
    """Who holds the leases: one name for each living engine."""
    store: RunStore = field(init=False)
    index: RunIndex = field(init=False)
    summaries: RunSummaries = field(init=False)
    connections: ConnectionFiles = field(init=False)
    profiles: ProfileFiles = field(init=False)
    skills: SkillStore = field(init=False)
    gateway: ModelGateway = field(init=False)
    mcp: McpSessions = field(init=False)

    def __post_init__(self) -> None:
        if self.wire_log is not None and self.wire_log not in LEVELS:
            raise InvalidInput(f"wire_log must be one of {', '.join(LEVELS)}, not {self.wire_log!r}")
        if self.durability is not None and self.durability not in DURABILITIES:
            raise InvalidInput(f"durability must be one of {', '.join(DURABILITIES)}, not {self.durability!r}")
        limit = _limit(self)
        object.__setattr__(self, "disk", LastingDisk(self.disk, self.outlasts_power_loss))
        store = RunStore(self.data_root, self.disk)
        object.__setattr__(self, "store", store)
        object.__setattr__(self, "index", RunIndex(store.root, self.disk))
        object.__setattr__(self, "summaries", RunSummaries(store, self.disk))
        transport, sockets = self.transport or HttpTransport(max_reply_bytes=limit), self.sockets
        if sockets is None and isinstance(transport, HttpTransport):
            sockets = WebSocketTransport(self.clock, max_size=transport.max_reply_bytes)
        connections = ConnectionFiles(self.data_root, self.disk)
        object.__setattr__(self, "connections", connections)
        object.__setattr__(self, "profiles", ProfileFiles(self.data_root, self.disk, self.ids, checked_profile))
        object.__setattr__(self, "skills", SkillStore(self.data_root, self.disk, self.clock))
        secrets = self.secrets or secrets_below(self.data_root)
        gateway = ModelGateway(transport, secrets, self.clock, sockets=sockets, connections=connections)
        object.__setattr__(self, "gateway", gateway)
        object.__setattr__(self, "mcp", McpSessions(McpServersFile(self.data_root, self.disk), secrets))

    def preset(self, api_id: str, name: str) -> Json | None:
        """Blocking; None where there is none of that name."""
        return (self.presets or PresetFiles(self.data_root, self.disk)).get(api_id, name)

    def preset_exists(self, api_id: str, name: str) -> bool:
        """Blocking."""
        return self.preset(api_id, name) is not None

    def outlasts_power_loss(self) -> bool:
        """Whether every change waits for the platter. Blocking; raises InvalidInput for a bad settings file."""
        return (self.durability or deployment(self.connections).durability) == "power"

    def retention(self) -> Retention:
        """How many ended runs the data root's settings say to keep. Blocking; raises InvalidInput for a bad file."""
        return deployment(self.connections).retention

    def wire_level(self) -> WireLevel:
        """What is kept of the calls to the model. Blocking; raises InvalidInput for a bad settings file."""
        return self.wire_log or deployment(self.connections).wire_log


def _limit(services: Services) -> int:
    limit = services.reply_limit
    if limit is None:
        return MAX_REPLY_BYTES
    if services.transport is not None or services.sockets is not None:
        raise InvalidInput(
            "reply_limit is for the engine's own transports; give yours its limit: HttpTransport(max_reply_bytes=…)"
        )
    if isinstance(limit, bool) or limit < 1:
        raise InvalidInput(f"reply_limit must be a number of bytes from 1, not {limit!r}")
    return limit
