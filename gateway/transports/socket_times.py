"""How long a WebSocket may take, and how long it may live."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SocketTimes:
    """Seconds."""

    connect: float = 180.0
    idle: float = 600.0
    """Between two frames of a turn."""
    write: float = 600.0
    close: float = 2.0
    """For the closing handshake; then the connection is cut off."""
    ping: float = 20.0
    pong: float = 120.0
    """A ping without an answer for so long is a lost connection."""
    max_age: float = 55 * 60.0
    """Servers end a socket after an hour, mid-turn too: before that a new one is opened."""
    max_unused: float = 60 * 60.0
    """A socket that no turn has used for so long is closed when another is opened."""
