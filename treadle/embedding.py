"""The run as a graph of your own: the uncompiled builder, to be compiled with any checkpointer, or put into a bigger graph.

Input is a `RunState`'s `start` (the start request as JSON) or the `run_id` of a run that is to go on; the output is the
state that the run ended in. Where no chat host is given, a commit interrupts the graph with its request as payload,
and `Command(resume={"messageId": …})` or `{"error": …}` is the answer. The later question, whether the message has
learned its persistent state, is answered by `True` (LangGraph takes an empty dict for no answer at all) or an error.
A call that waits for a person interrupts the graph too: `Command(resume={"approved": True, "reason": …,
"editedArguments": …})` answers it.

A run that goes on in a graph is not held against the machine and the profile that it began with, as `Engine.resume_run`
holds it: the machine is the graph that you compiled, the thread's state is your checkpointer's, and the profile is the
one in the run folder.
"""

from __future__ import annotations

from langgraph.types import interrupt

from .engine.asking import answered_by
from .engine.opening import open_run
from .engine.services import Services
from .engine.starting import attach_or_begin
from .graph.build import Builder, Transition, build
from .graph.errors import InvalidInput
from .graph.jsontext import Json, is_object
from .graph.ports import Ask, AskKind
from .graph.state import RunState
from .nodes.approval import arguments_ref, decision_of
from .nodes.deps import Deps, Run, in_thread
from .nodes.start_request import start_request
from .nodes.steps import RETRY_STEPS, STEPS


def build_run_graph(services: Services) -> Builder:
    """The uncompiled run graph over `RunState`; compile it with the checkpointer you like, or with none.

    One driver a run: two graphs that drive the same run id at once are refused with `agent.run_busy`.
    """
    return build(STEPS, RETRY_STEPS, _GraphHouse(services))


class _GraphHouse:
    """Opens a run when the graph comes to it, and lets go of it when it ends or waits for an answer from outside."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._open: dict[str, Run] = {}

    async def open(self, state: RunState) -> Deps:
        return Deps(clock=self._services.clock, begin=self._begin, live=await self._run(state.run_id))

    async def leave(self, state: RunState) -> None:
        run = self._open.pop(state.run_id, None)
        if run is not None:
            self._services.gateway.close_session(run.id)
            self._services.mcp.let_go(run.id)
            await in_thread(run.folder.close)

    def took(self, transition: Transition) -> None:
        """The graph's own stream tells it."""

    async def _run(self, run_id: str) -> Run | None:
        if not run_id:
            return None
        if run_id not in self._open:
            run = await in_thread(lambda: self._opened(run_id))
            if run.is_fork and not run.folder.record.status.is_terminal:
                await in_thread(run.folder.close)
                raise InvalidInput(
                    f"run {run_id} is a fork, which begins in the middle of a run; a graph of your own begins at the first "
                    "step, so go on with it by engine.resume_run"
                )
            run.folder.resumed = True
            self._open[run_id] = run
        return self._open[run_id]

    def _opened(self, run_id: str) -> Run:
        return open_run(self._services, self._services.store.load(run_id), self._ask_for)

    async def _begin(self, start: Json) -> Run:
        run = await attach_or_begin(self._services, start_request(start), self._ask_for)
        self._open[run.id] = run
        return run

    def _ask_for(self, run: Run) -> Ask:
        async def ask(kind: AskKind, payload: dict[str, Json]) -> dict[str, Json]:
            if self._services.host is not None and kind != "approval":
                return await answered_by(self._services.host, run, kind, payload)
            if kind == "approval":
                return _decision(run, payload)
            return _answer(interrupt({"kind": kind, **payload}))

        return ask


def _decision(run: Run, payload: dict[str, Json]) -> dict[str, Json]:
    """A person's answer; one that can't be taken is asked for again, and the question says what was wrong with it."""
    asked = {"kind": "approval", "runId": run.id, **payload, "argumentsRef": arguments_ref(run, payload)}
    tool, told = run.tools[payload["name"]], asked
    while True:
        try:
            return decision_of(interrupt(told), tool).to_json()
        except InvalidInput as wrong:
            told = {**asked, "error": {"code": wrong.error_code, "message": wrong.message}}


def _answer(given: Json) -> dict[str, Json]:
    if given is True:
        return {}
    if not is_object(given):
        raise InvalidInput(
            f"the answer to an interrupt is an object {{messageId}} or {{error}}, or true, not {given!r}"
        )
    return given
