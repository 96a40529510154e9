"""A run with all that can happen in one, forked at every point where it stood: each fork comes to the same end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from treadle.engine.rewinding.journal_state import settled_points, state_fault
from treadle.graph.jsontext import Json, loads
from treadle.graph.ports import WireReply, WireRequest
from treadle.testkit.replies import Reply, call, calls

from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.script import Script
from ...scenarios.stage import FORK, RUN, Played, Stage
from .test_forking import whole
from .test_journal_state import journal

ROUNDS: Sequence[Reply] = (
    calls(call("workspace.list_files"), call("workspace.write_file", path="persist/threads.md", content="A kettle.\n")),
    calls(
        call("workspace.write_file", path="output/main.md", content=words.DRAFT),
        call("workspace.read_file", path="output/main.md"),
    ),
    words.TALK,
    calls(
        call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup"),
        call("workspace.read_file", path="output/lost.md"),
        call("workspace.write_file", path="output/coda.md", content=words.CODA),
    ),
    calls(call("workspace.commit"), call("workspace.list_files")),
    words.COMMIT_CODA,
    words.FINISH,
    words.COMMIT_AND_FINISH,  # of a fork that has committed nothing of its own yet
)
PROFILE = words.profile(**words.corrections(1))
_POINTS = 17


class Rounds(Script):
    """The answer of a round is the same whoever asks for it; the second round's first attempt is refused."""

    def __init__(self, *, stops_at: int | None = None) -> None:
        super().__init__()
        self._stops_at = stops_at
        self._busy = True

    async def send(self, request: WireRequest) -> WireReply:
        self.requests.append(request)
        said = [message for message in loads(request.body)["messages"] if message["role"] == "assistant"]
        number = len(said)  # the prompt ends with one of its own
        if number == self._stops_at:
            await never()
        reply = ROUNDS[number - 1]
        if number == 2 and self._busy:
            self._busy, reply = False, words.BUSY
        return WireReply(reply.status, reply.headers, reply.body)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(_POINTS))
async def test_every_fork_comes_to_the_end_of_its_origin(tmp_path: Path, place: int) -> None:
    whole_run = await _play(Stage(tmp_path / "reference"), Rounds())
    origin = Stage(tmp_path / "origin")
    await _leave(origin, Rounds(stops_at=7))
    points = settled_points(origin.run_folder(), journal(origin), origin.disk)
    before = whole(origin.run_folder())
    assert len(points) == _POINTS

    forked, fault = await _forked(origin, points[place].seq)

    assert forked.files == whole_run.files
    assert forked.types[-1] == "run_completed"
    assert [event.seq for event in forked.events] == list(range(1, len(forked.events) + 1))
    assert {event.run_id for event in forked.events} == {FORK}
    assert _written_by(forked, FORK) == 1
    assert whole(origin.run_folder()) == before
    assert fault is None


async def _play(stage: Stage, model: Script) -> Played:
    async with stage.engine(model, stage.host) as engine:
        await engine.start_run_with_prompt_snapshot(stage.request(profile=PROFILE))
        await engine.wait(RUN)
        return await stage.played(engine)


async def _leave(stage: Stage, model: Script) -> None:
    async with stage.engine(model, stage.host) as engine:
        await engine.start_run_with_prompt_snapshot(stage.request(profile=PROFILE))
        async with asyncio.timeout(30):
            while len(model.requests) < 8:
                await asyncio.sleep(0.002)


async def _forked(origin: Stage, at_seq: int) -> tuple[Played, str | None]:
    """The fork at its end; and what its saved state says against its journal."""
    async with origin.engine(Rounds(), origin.host) as engine:
        await engine.fork_run(RUN, at_seq=at_seq, new_run_id=FORK)
        await engine.wait(FORK)
        played = await origin.played(engine, FORK)
    folder = origin.run_folder(FORK)
    return played, state_fault(folder, FORK, played.events, origin.disk, origin.clock)


def _written_by(played: Played, run_id: str) -> int:
    notes: list[Json] = [message["extra"].get("tauritavern", {}).get("agent", {}) for message in played.messages]
    return sum(each.get("runId") == run_id for each in notes)
