"""A run of many rounds that goes on: the model hears what it would have heard, and the folder is read once."""

from __future__ import annotations

from collections import Counter

from treadle.engine.opening import open_run
from treadle.engine.services import Services
from treadle.graph.events import EventType
from treadle.graph.jsontext import Json
from treadle.graph.ports import Ask
from treadle.nodes.deps import Run
from treadle.nodes.rounds import close_rounds
from treadle.testkit.replies import Reply, call, calls

from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.people import WRITE, asking
from ..scenarios.stage import RUN, Stage

ROUNDS = 12
CHANGED: dict[str, Json] = {"path": "output/main.md", "content": "It is the postman."}


def _writes(count: int) -> list[Reply]:
    return [
        calls(call("workspace.write_file", path="output/main.md", content=f"Draft {number}."))
        for number in range(1, count + 1)
    ]


async def _left(stage: Stage, count: int) -> bytes:
    """A run of so many rounds, left at the next; the request that it was left with."""
    async with stage.show(*_writes(count), never) as show:
        await show.start()
        await show.asked(count + 1)
        return show.model.requests[-1].body


async def test_a_run_that_goes_on_asks_for_the_next_round_as_it_did_and_tells_nothing_again(stage: Stage) -> None:
    before = await _left(stage, ROUNDS)
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        await show.resume()
        await show.asked(1)
        again = show.model.requests[0].body
        played = await show.end()

    assert again == before
    hydrated = [event.payload["round"] for event in played.events if event.type == "context_tool_result_hydrated"]
    assert hydrated == [1, 2, 3, 4, 5]


async def test_what_a_person_changed_rounds_ago_is_still_told_after_a_resume(stage: Stage) -> None:
    async with stage.show(calls(WRITE), words.LIST, words.LIST, words.LIST, never) as show:
        await show.start(profile=asking(["workspace.write_file"]))
        await show.until("tool_call_awaiting_approval")
        await show.engine.approve_tool_call(RUN, "write", approved=True, edited_arguments=CHANGED)
        await show.asked(5)
        before = show.model.requests[-1].body
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        await show.resume()
        await show.asked(1)
        again = show.model.requests[0].body
        await show.end()

    assert b"It ran with" in before
    assert again == before


async def test_opening_a_run_reads_its_journal_once_and_each_result_once(stage: Stage) -> None:
    await _left(stage, ROUNDS)
    read: Counter[str] = Counter()
    before = len(stage.disk.log)
    run = _opened(stage)
    close_rounds(run, ROUNDS)
    run.folder.close()
    for touch in stage.disk.log[before:]:
        read[touch.path.name if touch.path.name == "events.jsonl" else touch.path.parent.name] += 1

    assert read["events.jsonl"] == 1
    assert read["tool-results"] == ROUNDS
    assert read["tool-args"] == 0
    assert read["model-responses"] == 2 * ROUNDS  # what is told of the answer, and its bytes


async def test_the_ledger_of_a_run_holds_two_rounds_however_many_there_were(stage: Stage) -> None:
    sizes: list[int] = []
    for count in (6, ROUNDS):  # results of the first five carry more
        played = Stage(stage.root.parent / str(count))
        await _left(played, count)
        run = _opened(played)
        close_rounds(run, count)
        sizes.append(len(run.folder.ledger))
        assert [event.payload["round"] for event in run.folder.told_of(EventType.TOOL_CALL_STARTED)] == [count]
        run.folder.close()

    assert sizes[0] == sizes[1]


def _opened(stage: Stage) -> Run:
    services = Services(stage.root, stage.host, clock=stage.clock, ids=stage.ids, disk=stage.disk)
    return open_run(services, services.store.load(RUN), _asks_nobody)


def _asks_nobody(_run: Run) -> Ask:
    async def ask(kind: str, payload: dict[str, Json]) -> dict[str, Json]:
        raise AssertionError(f"{kind} of {payload} is not asked for here")

    return ask
