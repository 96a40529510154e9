"""Calls made one after another in one run, as a model makes them: one call an answer, over the real wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json
from treadle.testkit.replies import Call, Reply, calls

from .driving import conclude, drive, start
from .faults import CaseFault, a_list, an_object, only
from .observed import Observed, Result
from .stage import RUN, Stage, profile

EXTERNAL_WRITE = "test.external_write"
_ROOM = 80
"""Rounds and calls that the default profile has."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of the case: a tool by its own name, or another writer's doing."""

    tool: str
    arguments: Json

    @property
    def is_external(self) -> bool:
        return self.tool == EXTERNAL_WRITE


def asked_of(value: Json) -> list[Asked]:
    """`calls`, or a script of calls: `{tool, args}` each, or a tool's bare name."""
    return [_asked(call, f"calls[{place}]") for place, call in enumerate(a_list(value, "calls"))]


def script(stage: Stage, asked: Sequence[Asked], run_id: str = RUN) -> list[Reply]:
    """An answer for each call; other writers write just before the next answer is given."""
    replies: list[Reply] = []
    waiting: dict[int, list[Asked]] = {}
    for place, call in enumerate(asked):
        if call.is_external:
            waiting.setdefault(len(replies), []).append(call)
        else:
            replies.append(calls(Call(call.tool, call.arguments, id=call_id(place))))
    first = len(stage.upstream.sent) + 1

    def on_request(number: int) -> None:
        for write in waiting.pop(number - first, []):
            _write(stage, run_id, write)

    stage.upstream.hooks.append(on_request)
    return replies


def call_id(place: int) -> str:
    return f"call_{place}"


async def run_calls(
    stage: Stage,
    asked: Sequence[Asked],
    seen: Observed,
    *,
    run_id: str = RUN,
    generation_type: str = "normal",
    snapshot: dict[str, Json] | None = None,
    engine: Engine | None = None,
) -> None:
    """Start a run that makes these calls, and fill in one result for each; `snapshot`: more keys of the prompt's."""
    room = len(asked) + 1
    request = stage.request(profile=profile(max_rounds=room, max_calls=room) if room > _ROOM else None)
    request |= {"runId": run_id, "generationType": generation_type}
    request["promptSnapshot"] |= snapshot or {}
    engine = engine or stage.engine()
    stage.upstream.load(script(stage, asked, run_id))
    if await start(engine, request, seen):
        await drive(stage, engine, seen, run_id=run_id)
    await conclude(stage, engine, seen)
    seen.calls = results(seen, asked)


def results(seen: Observed, asked: Sequence[Asked]) -> list[Result | None]:
    if seen.run is None:
        return [None for _ in asked]
    return [
        Result(call_id(place), is_error=False) if call.is_external else seen.run.result(call_id(place))
        for place, call in enumerate(asked)
    ]


def _asked(value: Json, where: str) -> Asked:
    if isinstance(value, str):
        return Asked(value, {})
    held = an_object(value, where)
    only(held, ("tool", "args"), where)
    if not isinstance(held.get("tool"), str):
        raise CaseFault(f"{where} names no tool")
    if held["tool"].startswith("test.") and held["tool"] != EXTERNAL_WRITE:
        raise CaseFault(f"{where} is {held['tool']}, which the runner does not know")
    return Asked(held["tool"], held.get("args", {}))


def _write(stage: Stage, run_id: str, call: Asked) -> None:
    only(call.arguments, ("path", "content"), EXTERNAL_WRITE)
    target = stage.folder(run_id) / call.arguments["path"]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(call.arguments["content"].encode("utf-8", "surrogatepass"))
