"""One question to the runs below a data root, for a command that drives none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..engine.engine import Engine

T = TypeVar("T")


def read(root: Path, ask: Callable[[Engine], Awaitable[T]]) -> T:
    """The answer of an engine that drives nothing."""
    from ..engine.engine import Engine

    async def answer() -> T:
        async with Engine(root) as engine:
            return await ask(engine)

    return asyncio.run(answer())
