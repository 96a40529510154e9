"""What the gateway adds to the work that nobody can avoid: joining a body, and parsing an answer."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import orjson
from answers import WRITERS, Answer, answer, written
from conversation import STATE, TOOLS, connection, decoded, gateway, transcript

from treadle.gateway.connections.connection import Connection
from treadle.gateway.gateway import ModelGateway
from treadle.gateway.outgoing import Fragment
from treadle.graph.jsontext import Json
from treadle.graph.ports import WireRequest

FORMATS = tuple(WRITERS)
_TEXT_ARGUMENTS = ("openai_compatible", "openai_responses")
"""Formats whose calls carry their arguments as JSON text inside the JSON."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of the transcript whose last request is encoded, and of the answers that are decoded."""

    rounds: int
    transcript: int
    answer: int
    repeat: int


FULL = Size(rounds=200, transcript=4_000_000, answer=1_000_000, repeat=100)
QUICK = Size(rounds=4, transcript=40_000, answer=20_000, repeat=2)


@dataclass(frozen=True, slots=True)
class Cost:
    """The best of several times, in milliseconds, and that of the floor beside it."""

    format: str
    what: str
    bytes: int
    items: int
    """Pieces of a request, or tool calls of an answer."""
    floor_ms: float
    ms: float
    parsed_ms: float | None = None
    """Of an answer: what parsing it and the argument texts in it takes, where it has such."""

    @property
    def ratio(self) -> float:
        return self.ms / self.floor_ms

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "ratio": round(self.ratio, 2)}


def encode_costs(size: Size) -> list[Cost]:
    """The last request of a long run: every message was encoded earlier, so only `outgoing` and `build` are left."""
    return [_encode_cost(name, size) for name in FORMATS]


def decode_costs(size: Size) -> list[Cost]:
    """Answers of one big text and of many calls; the digest of the native block is custody, and not timed here."""
    calls = max(size.answer // 8000, 2)
    said = {
        "text": answer(1, text=size.answer),
        "calls": answer(1, text=1000, calls=[8000] * calls),
    }
    return [_decode_cost(name, what, one, size) for name in FORMATS for what, one in said.items()]


def _encode_cost(name: str, size: Size) -> Cost:
    made, here = gateway(), connection(name)
    fragments = transcript(made, here, size.rounds, size.transcript)
    request = _request(made, here, fragments)
    pieces = request.pieces
    assert b"".join(pieces) == request.body
    floor, ours = best([partial(b"".join, pieces), partial(_request, made, here, fragments)], size.repeat)
    return Cost(name, "request", len(request.body), len(pieces), floor, ours)


def _request(made: ModelGateway, here: Connection, fragments: Sequence[Fragment]) -> WireRequest:
    return made.build(made.outgoing(here, {}, fragments, TOOLS, STATE))


def _decode_cost(name: str, what: str, said: Answer, size: Size) -> Cost:
    data, here = written(name, said), connection(name)
    found = decoded(data, here)
    assert [call.arguments for call in found.tool_calls] == [call.arguments for call in said.calls]
    contestants: list[Callable[[], object]] = [partial(orjson.loads, data), partial(decoded, data, here)]
    if name in _TEXT_ARGUMENTS and said.calls:
        contestants.append(partial(_parsed, data))
    floor, ours, *parsed = best(contestants, size.repeat)
    return Cost(name, what, len(data), len(said.calls), floor, ours, parsed[0] if parsed else None)


def _parsed(data: bytes) -> list[Json]:
    """The answer's value, and that of each argument text: the least that anybody must do who wants to run the calls."""
    value: Json = orjson.loads(data)
    if "choices" in value:
        held = [call["function"]["arguments"] for call in value["choices"][0]["message"]["tool_calls"]]
    else:
        held = [item["arguments"] for item in value["output"] if "arguments" in item]
    return [value, [json.loads(text) for text in held]]


def best(contestants: Sequence[Callable[[], object]], repeat: int) -> list[float]:
    """The least time of each in milliseconds, one after the other in turn; collection of garbage waits meanwhile."""
    least = [float("inf")] * len(contestants)
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeat):
            for place, run in enumerate(contestants):
                began = time.perf_counter()
                kept = run()
                taken = (time.perf_counter() - began) * 1e3
                least[place] = min(least[place], taken)
                del kept
    finally:
        gc.enable()
    return least
