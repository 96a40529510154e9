"""What an engine, or a graph built for somebody else's, works with: the data root and the ports."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from ..gateway.gateway import ModelGateway
from ..gateway.transports.http import HttpTransport
from ..gateway.transports.websocket import WebSocketTransport
from ..graph.errors import InvalidInput
from ..graph.ports import ChatHost, Clock, Ids, ModelSockets, ModelTransport, SecretStore
from ..storage.disk import Disk, RealDisk
from ..storage.runs import RunStore
from ..storage.secrets import EnvironmentSecrets
from ..storage.wire_log import LEVELS, WireLevel


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
    transport: ModelTransport = field(default_factory=HttpTransport)
    sockets: ModelSockets | None = None
    """None: real ones beside an HttpTransport; beside a transport of your own, everything goes over that."""
    secrets: SecretStore = field(default_factory=EnvironmentSecrets)
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=RandomIds)
    disk: Disk = field(default_factory=RealDisk)
    wire_log: WireLevel = "metadata"
    """What is kept of the calls to the model: nothing, all but the bodies, or the bodies too."""
    holder: str = field(default_factory=lambda: f"{os.getpid()}-{uuid.uuid4().hex[:8]}")
    """Who holds the leases: one name for each living engine."""
    store: RunStore = field(init=False)
    gateway: ModelGateway = field(init=False)

    def __post_init__(self) -> None:
        if self.wire_log not in LEVELS:
            raise InvalidInput(f"wire_log must be one of {', '.join(LEVELS)}, not {self.wire_log!r}")
        object.__setattr__(self, "store", RunStore(self.data_root, self.disk))
        sockets = self.sockets
        if sockets is None and isinstance(self.transport, HttpTransport):
            sockets = WebSocketTransport(self.clock)
        gateway = ModelGateway(self.transport, self.secrets, self.clock, sockets=sockets)
        object.__setattr__(self, "gateway", gateway)
