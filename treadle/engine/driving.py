"""The runs that this process drives: each is one task over the compiled graph, and they share one heartbeat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..graph.errors import LeaseLost, RunLeft, TreadleError
from ..graph.state import RunState
from ..nodes.deps import Deps, Run, in_thread
from ..nodes.derived_state import Derived
from ..nodes.finish import end_badly
from ..views import TakenEdge
from .services import Services

HEARTBEAT_SECONDS = 0.5
CANCEL_MARK = "cancel"
_MANY_QUESTIONS = 100_000


@dataclass(slots=True)
class Active:
    """One run under way."""

    run: Run
    edges: list[TakenEdge] = field(default_factory=list[TakenEdge])
    entered: float = 0.0
    inner: float = 0.0
    """When the step inside the retry sub-graph was entered."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    failure: BaseException | None = None


class Driving:
    """The house that the engine's graph works in; see `graph.build.House`."""

    def __init__(self, services: Services, let_go: Callable[[str], None]) -> None:
        """`let_go` is told of each run that is not driven from here any more."""
        self._services = services
        self._told = let_go
        self._active: dict[str, Active] = {}
        self._opened: dict[str, Run] = {}
        self._graph: Any = None
        self._heartbeat: asyncio.Task[None] | None = None

    async def open(self, state: RunState) -> Deps:
        return Deps(clock=self._services.clock, begin=_refuse_begin, live=self._active[state.run_id].run)

    async def leave(self, state: RunState) -> None:
        """The driver lets go of the run itself, when the graph has returned."""

    def took(self, transition: Any) -> None:
        active = self._active.get(transition.run_id)
        if active is None:
            return
        now = self._services.clock.monotonic()
        inner = "/" in transition.step
        elapsed = round((now - (active.inner if inner else active.entered)) * 1000)
        active.inner = now
        if not inner:  # the sub-graph's own step lasts as long as all that is inside
            active.entered = now
        active.edges.append(TakenEdge(transition.step, transition.outcome, transition.next, elapsed))
        active.changed.set()

    def run(self, run_id: str) -> Run | None:
        active = self._active.get(run_id)
        return None if active is None else active.run

    def active(self, run_id: str) -> Active | None:
        return self._active.get(run_id)

    def begin(self, run: Run, state: RunState | None, checkpoint_id: str | None = None) -> Active:
        """Drive the run from `state`, or from a checkpoint, the last unless another is named, in a task of its own."""
        active = Active(run, entered=self._services.clock.monotonic())
        self._active[run.id] = active
        self._opened[run.id] = run
        active.task = asyncio.create_task(self._drive(active, state, checkpoint_id), name=f"treadle {run.id}")
        if self._heartbeat is None:
            self._heartbeat = asyncio.create_task(self._beat(), name="treadle heartbeat")
        return active

    async def saved(self, run: Run) -> RunState | None:
        """The state of the run's last checkpoint; raises StateIncompatible where this machine can't go on from it."""
        from ..graph.build import saved

        self._opened[run.id] = run  # the saver finds the run's database here
        found = await saved(self.graph(), run.id)
        return None if found is None else found[0]

    async def before_error(self, run: Run) -> str | None:
        """The checkpoint from which the step that went wrong is taken again."""
        from ..graph.build import last_without_error

        return await last_without_error(self.graph(), run.id)

    async def place(self, run: Run, point: Derived) -> None:
        """Let the run go on from this point, whatever its graph has saved."""
        from ..graph.build import place

        self._opened[run.id] = run
        await place(self.graph(), run.id, point.state, point.next)

    def graph(self) -> Any:
        """The compiled graph, made at first use: importing LangGraph takes long."""
        if self._graph is None:
            from ..graph.build import build, compile_graph
            from ..nodes.steps import RETRY_STEPS, STEPS
            from ..storage.saver import RunFolderSaver

            builder = build(STEPS, RETRY_STEPS, self)
            self._graph = compile_graph(builder, RunFolderSaver(self._database))
        return self._graph

    async def close(self) -> None:
        """Stop driving; runs that have not ended can be resumed."""
        tasks = [active.task for active in self._active.values() if active.task is not None]
        if self._heartbeat is not None:
            tasks.append(self._heartbeat)
            self._heartbeat = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for active in list(self._active.values()):  # a task that was cancelled before its first step let nothing go
            await self._let_go(active)

    async def _let_go(self, active: Active) -> None:
        """Close the run's folder, also where the driver is cancelled meanwhile, and tell whoever follows the run.

        Its socket goes in the background: a server that does not let go of it delays nothing.
        """
        self._services.gateway.close_session(active.run.id)
        self._services.mcp.let_go(active.run.id)
        closing = asyncio.ensure_future(in_thread(active.run.folder.close))
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await closing
            raise
        finally:
            self._active.pop(active.run.id, None)
            self._opened.pop(active.run.id, None)
            self._told(active.run.id)
            active.changed.set()

    def _database(self, thread_id: str) -> Any:
        return self._opened[thread_id].folder.database

    async def _drive(self, active: Active, state: RunState | None, checkpoint_id: str | None) -> None:
        run = active.run
        try:
            from ..graph.build import invoke

            graph = await in_thread(self.graph)  # importing LangGraph takes long
            active.entered = active.inner = self._services.clock.monotonic()
            await invoke(
                graph, state, thread_id=run.id, recursion_limit=_recursion_limit(run), checkpoint_id=checkpoint_id
            )
        except (LeaseLost, RunLeft) as error:
            active.failure = error
        except TreadleError as error:
            active.failure = error
            await _fail(run, error)
        except Exception as error:  # noqa: BLE001 - a fault in a step's own code must not leave the run without an end
            active.failure = error
            await _fail(run, TreadleError(f"{type(error).__name__}: {error}"))
        finally:
            await self._let_go(active)

    async def _beat(self) -> None:
        """Keep the leases, and obey a cancel that another process left word of."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            runs = [active.run for active in self._active.values()]
            for run in await in_thread(partial(_kept_and_cancelled, runs)):
                with suppress(TreadleError):  # the run's next effect meets the same trouble, and says so
                    await cancel_active(run)


async def cancel_active(run: Run) -> None:
    """Request, `cancelling`, signal: in this order, so that nothing is written over a terminal status."""
    await in_thread(run.folder.request_cancel)
    run.cancel.raise_()


def _kept_and_cancelled(runs: list[Run]) -> list[Run]:
    """Renew every lease that is due; the runs that another process wants cancelled."""
    return [run for run in runs if _looks_cancelled(run)]


def _looks_cancelled(run: Run) -> bool:
    try:
        run.folder.renew_if_due()
        return not run.cancel.is_raised and run.folder.marked(CANCEL_MARK) is not None
    except TreadleError:
        return False  # the next effect meets the same trouble, and says so


async def _fail(run: Run, error: TreadleError) -> None:
    """An error that no step could turn into an outcome: the run ends badly, if its folder still takes it."""
    if not run.folder.record.status.is_terminal:
        with suppress(TreadleError):
            await end_badly(run, error.report())


def _recursion_limit(run: Run) -> int:
    """A backstop far above what the profile allows; the rounds are counted by the machine.

    Calls that a person denies are not counted, so of these there may be as many as a person cares to deny.
    """
    try:
        profile = run.profile
    except TreadleError:
        return 100
    questions = _MANY_QUESTIONS if profile.approval else 0
    return 100 + 4 * (profile.max_rounds + profile.max_calls_per_run) + questions


async def _refuse_begin(start: Any) -> Run:
    raise LeaseLost(f"a run that an engine drives is not begun inside its graph: {start!r}")
