# pyright: standard
"""Contestant (s): a loop of two LangGraph nodes with no saver: empty ones, and the same two with the floor's work in them.

Empty nodes show a super-step at its cheapest: nothing else runs, so the processor's caches hold all of it. Between real
work a super-step costs more, as all code does there; that is what the second loop shows, by what it takes beyond the
floor that blocks the loop too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from floor import in_place, open_loop
from langgraph.graph import END, StateGraph
from langgraph.types import Command
from measuring import Disk, Measured, folder_figures, measured
from work import Laps

from treadle.graph.messages import ModelResponse


class Counter(TypedDict):
    n: int


async def run_bare(super_steps: int) -> Measured:
    """So many super-steps of empty nodes, one lap each."""
    laps = Laps()

    async def ping(state: Counter) -> Command[str]:
        laps.mark()
        return Command(update={"n": state["n"] + 1}, goto="pong")

    async def pong(state: Counter) -> Command[str]:
        laps.mark()
        return Command(update={"n": state["n"] + 1}, goto="ping" if state["n"] + 1 < super_steps else END)

    await _drive({"ping": ping, "pong": pong}, super_steps)
    return measured(laps, super_steps - 1, Disk())


async def run_working(folder: Path, rounds: int) -> Measured:
    """So many rounds of the floor's work below `folder`, in two nodes; a lap is a round."""
    laps = Laps()
    loop = await open_loop(folder, rounds, laps, in_place)
    answers: list[ModelResponse] = []

    async def ask(state: Counter) -> Command[str]:
        answers.append(await loop.ask(state["n"] + 1))
        return Command(update={"n": state["n"] + 1}, goto="write")

    async def write(state: Counter) -> Command[str]:
        await loop.write(state["n"], answers.pop())
        return Command(goto="ask" if state["n"] < rounds else END)

    await _drive({"ask": ask, "write": write}, 2 * rounds)
    await loop.last_call()
    return measured(laps, rounds, folder_figures(loop.path))


async def _drive(nodes: dict[str, Any], super_steps: int) -> None:
    builder: Any = StateGraph(Counter)
    first, second = nodes
    builder.add_node(first, nodes[first], destinations=(second,))
    builder.add_node(second, nodes[second], destinations=(first, END))
    builder.set_entry_point(first)
    await builder.compile().ainvoke({"n": 0}, {"recursion_limit": super_steps + 10})
