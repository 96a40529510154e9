"""The gateway beside libraries that do the same work: what they send back of an answer, and how long they take."""

from __future__ import annotations

import gc
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from traceback import walk_tb
from typing import Any, ClassVar

from answers import written
from conversation import round_of
from costs import Size, best
from grid import markdown
from litellm_talks import LITELLM
from loopback import Loopback, loopback
from own_talks import OWN
from probes import Probe, outcome, probes
from pydantic_talks import PYDANTIC_AI
from sdk_talks import SDKS
from talks import Library, Talk

LIBRARIES: tuple[Library, ...] = (OWN, *SDKS, PYDANTIC_AI, LITELLM)
"""In the order of the tables."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What became of one thing in one library's next request."""

    name: str
    format: str
    what: str
    outcome: str

    def to_json(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Timed:
    """The last request of a long conversation, from the call until it arrives, and its answer until it is returned."""

    HEAD: ClassVar[tuple[str, ...]] = ("format", "library", "bytes", "join ms", "request ms", "ratio", "answer ms")
    format: str
    name: str
    bytes: int
    join_ms: float
    request_ms: float
    answer_ms: float

    @property
    def ratio(self) -> float:
        return self.request_ms / self.join_ms

    def row(self) -> tuple[str, ...]:
        times = f"{self.join_ms:.2f}", f"{self.request_ms:.1f}", f"{self.ratio:,.0f}", f"{self.answer_ms:.1f}"
        return self.format, self.name, f"{self.bytes:,}", *times

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "ratio": round(self.ratio, 2)}


def missing(libraries: Sequence[Library]) -> list[str]:
    return [library.name for library in libraries if library.packages and _version(library) is None]


def replays(absent: Sequence[str]) -> list[Replay]:
    """Each probe through each library that is there: asked, answered, and asked again."""
    _quiet()
    found: list[Replay] = []
    with loopback() as server:
        for library in _present(absent):
            for probe in probes():
                if probe.talk in library.talks:
                    told = _replayed(library, probe, server)
                    found.append(Replay(library.name, probe.format, probe.what, told))
    return found


def fidelity(found: Sequence[Replay]) -> list[str]:
    """The table: a row for each thing, a column for each library, and one for the provider's own."""
    own = {library.name for library in SDKS}
    columns = list(dict.fromkeys("provider's own" if each.name in own else each.name for each in found))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for each in found:
        column = "provider's own" if each.name in own else each.name
        rows.setdefault((each.format, each.what), {})[column] = each.outcome
    shown = [(*key, *(told.get(column, "-") for column in columns)) for key, told in rows.items()]
    return markdown(("format", "what", *columns), shown)


def timings(size: Size, absent: Sequence[str]) -> list[Timed]:
    _quiet()
    with loopback() as server:
        return [
            _timed(library, name, size, server)
            for name in ("claude_messages", "gemini", "openai_responses", "openai_compatible")
            for library in _present(absent)
            if name in library.talks
        ]


def _replayed(library: Library, probe: Probe, server: Loopback) -> str:
    """The outcome, or the error that the library ended in."""
    server.reply = probe.reply.encode()
    talk = library.talks[probe.talk](server.url)
    sent = len(server.bodies)
    try:
        history = talk.opening()
        history += talk.turn(talk.ask(history), "done")
        talk.ask(history)
    except Exception as error:  # libraries of others fail in ways of their own, and which way is what is told
        if _is_ours(error):
            raise
        return f"fails: {type(error).__name__}"
    finally:
        _close(talk)
    assert len(server.bodies) == sent + 2
    return outcome(probe, server.bodies[-1])


def _is_ours(error: BaseException) -> bool:
    """Whether a script of this folder raised it, and no library: such a fault must not be told as a library's."""
    *_, last = walk_tb(error.__traceback__)
    return Path(last[0].f_code.co_filename).parent == Path(__file__).parent


def _timed(library: Library, name: str, size: Size, server: Loopback) -> Timed:
    talk = library.talks[name](server.url)
    opening = talk.opening()
    history, each = list(opening), size.transcript // size.rounds
    for number in range(1, size.rounds + 1):
        server.reply = written(name, round_of(number, each))
        history += talk.turn(talk.ask(opening), "x" * (each // 10))
    request = answer = float("inf")
    for _ in range(max(size.repeat // 10, 2)):
        gc.collect()
        began = time.perf_counter()
        talk.ask(history)
        ended = time.perf_counter()
        request, answer = min(request, server.came - began), min(answer, ended - server.left)
        del server.bodies[:-1]
    _close(talk)
    (body,) = server.bodies
    (join,) = best([partial(b"".join, _pieces(body, 3 * size.rounds))], size.repeat)
    return Timed(name, library.name, len(body), join, request * 1e3, answer * 1e3)


def _pieces(body: bytes, count: int) -> list[bytes]:
    """The body in so many pieces, as those who keep earlier messages encoded would have it."""
    step = len(body) // count + 1
    return [body[at : at + step] for at in range(0, len(body), step)]


def _present(absent: Sequence[str]) -> list[Library]:
    return [library for library in LIBRARIES if library.name not in absent or not library.packages]


def _version(library: Library) -> str | None:
    try:
        return version(library.packages[0])
    except PackageNotFoundError:
        return None


def _close(talk: Talk) -> None:
    close: Any = getattr(talk, "close", None)
    if close is not None:
        close()


def _quiet() -> None:
    """Libraries must neither look for anything on the network nor write beside the tables."""
    os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "CRITICAL"}
    logging.disable(logging.WARNING)
