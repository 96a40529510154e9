"""Every provider simulator by the name of its format, and the chat payload that leads to one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from ...graph.jsontext import Json
from .chat_completions import ChatCompletionsServer
from .claude_messages import claude_messages
from .gemini import gemini
from .gemini_interactions import gemini_interactions
from .http_server import Received, Sleep
from .openai_responses import OpenAIResponsesServer
from .provider import Step

KEY = "made-up-key"


class Simulator(Protocol):
    """A scripted provider on loopback, whichever format it speaks: an async context manager."""

    @property
    def format(self) -> str: ...

    @property
    def model(self) -> str:
        """A model to ask for."""
        ...

    @property
    def base_url(self) -> str: ...

    @property
    def steps_left(self) -> int: ...

    @property
    def requests(self) -> Sequence[Received]:
        """Every request, refused ones too."""
        ...

    @property
    def refusals(self) -> Sequence[str]:
        """What was said to requests that broke a rule."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Build(Protocol):
    """What makes a simulator of one format."""

    def __call__(
        self, steps: Iterable[Step], *, api_key: str | None = None, sleep: Sleep = asyncio.sleep
    ) -> Simulator: ...


SIMULATORS: Mapping[str, Build] = {
    "openai_compatible": ChatCompletionsServer,
    "openai_responses": OpenAIResponsesServer,
    "claude_messages": claude_messages,
    "gemini": gemini,
    "gemini_interactions": gemini_interactions,
}


def payload_for(server: Simulator, *, api_key: str = KEY, **changes: Json) -> dict[str, Json]:
    """The chat payload that selects this running server; the key is its proxy's, so that no secret store is needed.

    Gemini's own format is no custom one: its source is makersuite. A change to None takes a key away.
    """
    if server.format == "gemini":
        source = {"chat_completion_source": "makersuite"}
    else:
        source = {"chat_completion_source": "custom", "custom_api_format": server.format}
    address = {"reverse_proxy": server.base_url, "proxy_password": api_key, "model": server.model}
    return {key: value for key, value in {**source, **address, **changes}.items() if value is not None}
