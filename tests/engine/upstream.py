"""One run against one provider's simulator, in whichever format, and what must be true of the folder it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.events import Event
from treadle.graph.jsontext import Json, loads
from treadle.storage.disk import is_temporary
from treadle.storage.runs import RunRecord
from treadle.testkit.simulators.registry import Simulator, payload_for

from ..scenarios.stage import RUN, Stage, snapshot

CANARY = "canary-key-93b1"
ENDS = frozenset({"run_completed", "run_failed", "run_partial_success", "run_cancelled"})
OVER_HTTP = {"webSocket": "off"}


@dataclass(frozen=True, slots=True)
class Left:
    """A run that has ended, read back by another engine."""

    record: RunRecord
    events: tuple[Event, ...]
    turns: dict[int, Json]
    """By round, of those rounds whose answer is stored."""
    files: dict[str, bytes]
    """Of the run's folder, but the database."""

    @property
    def end(self) -> dict[str, Json]:
        payload: dict[str, Json] = self.events[-1].payload
        return payload

    def of(self, *types: str, round_number: int | None = None) -> list[dict[str, Json]]:
        """The payloads of the events of these types."""
        found = [event.payload for event in self.events if event.type in types]
        return [told for told in found if round_number is None or told["round"] == round_number]


def payload(server: Simulator, **changes: Json) -> dict[str, Json]:
    messages: Json = [{"role": "system", "content": "You are Wren."}, {"role": "user", "content": "Who is there?"}]
    return {"messages": messages, **payload_for(server, api_key=CANARY, **changes)}


def request(stage: Stage, chat_payload: dict[str, Json], **changes: Json) -> dict[str, Json]:
    made: dict[str, Json] = snapshot("")
    return stage.request(promptSnapshot={**made, "chatCompletionPayload": chat_payload}, **changes)


def engine(stage: Stage, **more: Json) -> Engine:
    return Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids, disk=stage.disk, **more)


async def played(stage: Stage, chat_payload: dict[str, Json], **more: Json) -> Left:
    """The run from start to end; `more` are arguments of the engine."""
    async with engine(stage, **more) as running:
        await running.start_run_with_prompt_snapshot(request(stage, chat_payload))
        await running.wait(RUN)
    return await left(stage)


async def left(stage: Stage, lost: int = 0) -> Left:
    """Read the run back; fails where its folder is not what a run that ended leaves. `lost`: bodies that were deleted."""
    async with Engine(stage.root) as reader:
        record = await reader.read_run(RUN)
        events: list[Event] = []
        while page := await reader.read_events(RUN, after_seq=len(events), limit=500):
            events += page
        rounds = [event.payload["round"] for event in events if event.type == "model_response_stored"]
        turns = {number: await reader.read_model_turn(RUN, number) for number in rounds}
    folder = stage.run_folder()
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("run.sqlite")]
    held = Left(
        record, tuple(events), turns, {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    )
    _check_whole(stage.root, held, lost)
    return held


def _check_whole(root: Path, held: Left, lost: int) -> None:
    types = [event.type for event in held.events]
    assert [event.seq for event in held.events] == list(range(1, len(held.events) + 1))
    assert [place for place, kind in enumerate(types, 1) if kind in ENDS] == [len(types)]
    assert f"run_{held.record.status}" == types[-1]
    for record in (held.files["run.json"], *(path.read_bytes() for path in root.glob("*/*/index/runs/*.json"))):
        assert loads(record)["status"] == held.record.status
    assert not [path for path in root.rglob("*") if is_temporary(path.name)]
    stored = [path for path in held.files if path.startswith("model-responses/")]
    assert len(stored) == 2 * len(held.turns) - lost


def hidden(held: Left, secret: str = CANARY) -> None:
    """Fails where the secret is in a file that the run wrote; the host's own payload is kept as it was given."""
    for path, data in held.files.items():
        assert path == "input/prompt_snapshot.json" or secret.encode() not in data, path
