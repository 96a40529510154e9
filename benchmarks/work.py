"""The work that every contestant does: an instant model that asks for one 2 KB file a round, and the clock beside it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from treadle.gateway.formats import openai_compatible
from treadle.gateway.gateway import FORMATS
from treadle.gateway.outgoing import Outgoing
from treadle.graph.jsontext import Json
from treadle.graph.ports import WireReply, WireRequest
from treadle.graph.profiles.resolved import default_writer

PATHS = 10
CONTENT_BYTES = 2048

_SENTENCE = "The lamp burned low, and nobody in the house spoke of the letter. "


@dataclass(slots=True)
class Laps:
    """What the clocks said at each model call; a round lies between two of them."""

    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    encoded: list[float] = field(default_factory=list[float])
    encoding: float = 0.0
    """Seconds spent so far on joining the old turns into a request's body."""

    def mark(self) -> None:
        self.wall.append(time.perf_counter())
        self.cpu.append(time.process_time())
        self.encoded.append(self.encoding)


class InstantModel:
    """A transport that answers at once, from replies made beforehand; nothing is sent."""

    def __init__(self, rounds: int, laps: Laps) -> None:
        self._replies = [_reply(number, _write(number)) for number in range(1, rounds + 1)]
        self._replies.append(_reply(rounds + 1, ("workspace_finish", {})))
        self._laps = laps
        self._asked = 0

    async def send(self, request: WireRequest) -> WireReply:
        self._laps.mark()
        self._asked += 1
        return WireReply(200, {}, self._replies[self._asked - 1])

    async def close(self) -> None:
        pass


class TimedFormat:
    """Chat completions, with the encoding of requests timed: it copies every old turn, so it grows with the run."""

    NAME = openai_compatible.NAME
    NATIVE = openai_compatible.NATIVE
    COUNTED = openai_compatible.COUNTED
    CONTINUES = openai_compatible.CONTINUES
    STREAMS = openai_compatible.STREAMS
    endpoint = staticmethod(openai_compatible.endpoint)
    encode_message = staticmethod(openai_compatible.encode_message)
    read = staticmethod(openai_compatible.read)
    error_in = staticmethod(openai_compatible.error_in)
    decode = staticmethod(openai_compatible.decode)
    mended = staticmethod(openai_compatible.mended)

    def __init__(self, laps: Laps) -> None:
        self._laps = laps

    def encode(self, outgoing: Outgoing) -> list[bytes]:
        """The body in one piece, so that joining it is timed too."""
        began = time.perf_counter()
        body = b"".join(openai_compatible.encode(outgoing))
        self._laps.encoding += time.perf_counter() - began
        return [body]


def instant_model(rounds: int, laps: Laps) -> InstantModel:
    """The model for one run; requests are encoded under the same clock."""
    FORMATS[TimedFormat.NAME] = TimedFormat(laps)
    return InstantModel(rounds, laps)


def start_request(rounds: int) -> dict[str, Json]:
    """A start in the background (no commit is asked for), its limits above what the rounds need.

    Hydration is off: it would make the first five rounds dearer than the others.
    """
    profile: dict[str, Json] = default_writer().to_json()
    profile["id"] = "rounds"
    profile["tools"] |= {"maxRounds": rounds + 1, "maxCallsPerRun": rounds + 1}
    profile["run"] |= {"presentation": "background", "hydrateRounds": 0}
    return {
        "stableChatId": "rounds",
        "profile": profile,
        "chatRef": {"kind": "character", "characterId": "Rounds", "fileName": "rounds"},
        "promptSnapshot": {
            "messages": [{"role": "user", "content": "Write."}],
            "chat_completion_source": "custom",
            "custom_url": "http://model.invalid/v1",
            "model": "instant",
            "contextPolicy": {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True},
        },
    }


def path_of(number: int) -> str:
    return f"output/part-{number % PATHS}.md"


def content_of(number: int) -> str:
    """2,048 bytes that no other round writes."""
    text = f"Round {number}. " + _SENTENCE * (CONTENT_BYTES // len(_SENTENCE) + 1)
    return text[: CONTENT_BYTES - 1] + "\n"


def call_id(number: int) -> str:
    return f"call-{number}"


def _write(number: int) -> tuple[str, dict[str, Json]]:
    return "workspace_write_file", {"path": path_of(number), "content": content_of(number)}


def _reply(number: int, call: tuple[str, dict[str, Json]]) -> bytes:
    name, arguments = call
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id(number), "type": "function", "function": function}],
    }
    reply: Json = {
        "id": f"reply-{number}",
        "model": "instant",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
    }
    return json.dumps(reply).encode()
