"""Runs that are cancelled: one for each phase that a run can be in."""

from __future__ import annotations

from functools import partial

from treadle.testkit.replies import Reply, call, calls

from . import words
from .hosts import SlowHost, never
from .people import WRITE, begin
from .stage import RUN, Played, Stage

_AT_ONCE = "st(cancelling) st(cancelled) run_cancelled"

TAILS = {
    "cancel_at_the_start": ("st(cancelling) profile_resolved generation_intent_recorded st(cancelled) run_cancelled"),
    "cancel_while_the_workspace_is_laid_out": _AT_ONCE,
    "cancel_while_the_context_is_assembled": _AT_ONCE,
    "cancel_during_a_model_call": "st(cancelling) model_call_attempt_failed st(cancelled) run_cancelled",
    "cancel_during_a_second_attempt": "st(cancelling) model_call_attempt_failed st(cancelled) run_cancelled",
    "cancel_while_waiting_to_retry": _AT_ONCE,
    "cancel_while_a_file_is_written": (
        "st(cancelling) workspace_file_written checkpoint_created st(cancelled) run_cancelled"
    ),
    "cancel_while_a_file_is_read": (
        "st(cancelling) tool_result_stored tool_call_completed st(cancelled) run_cancelled"
    ),
    "cancel_while_the_second_call_is_planned": _AT_ONCE,
    "cancel_while_a_person_is_asked": _AT_ONCE,
    "cancel_between_two_calls": _AT_ONCE,
    "cancel_after_the_last_call_of_a_round": _AT_ONCE,
    "cancel_after_a_checkpoint": _AT_ONCE,
    "cancel_while_waiting_for_the_commit": _AT_ONCE,
    "cancel_after_a_commit": _AT_ONCE,
    "cancel_while_finishing": "st(cancelling) st(completed) run_completed",
    "cancel_while_waiting_for_the_persist_metadata": _AT_ONCE,
    "cancel_of_a_run_that_nobody_drives": "st(cancelled) run_cancelled",
}
"""By scenario, what is written after `run_cancel_requested`; `st(x)` is a `status_changed`."""


async def cancel_at_the_start(stage: Stage) -> Played:
    """Before the first step has looked at anything."""
    async with stage.show() as show:
        stage.wires.at_read("generation_intent.json", show.cancel_now)
        await show.start()
        return await show.end()


async def cancel_while_the_workspace_is_laid_out(stage: Stage) -> Played:
    return await _at_event(stage, "workspace_initialized")


async def cancel_while_the_context_is_assembled(stage: Stage) -> Played:
    return await _at_event(stage, "context_assembled")


async def cancel_during_a_model_call(stage: Stage) -> Played:
    async with stage.show(words.WRITE.after(60), over_http=True) as show:
        await show.start()
        await show.asked(1)
        await show.engine.cancel(RUN)
        return await show.end()


async def cancel_during_a_second_attempt(stage: Stage) -> Played:
    async with stage.show(words.BUSY, never) as show:
        await show.start()
        await show.asked(2)
        await show.engine.cancel(RUN)
        return await show.end()


async def cancel_while_waiting_to_retry(stage: Stage) -> Played:
    """The clock stands still: only the cancel ends the wait."""
    stage = Stage(stage.root.parent / "waiting", sleepers_wait=True)
    async with stage.show(words.BUSY) as show:
        await show.start()
        await show.until("model_call_retry_scheduled")
        await stage.asleep()
        await show.engine.cancel(RUN)
        return await show.end()


async def cancel_while_a_file_is_written(stage: Stage) -> Played:
    """The file, its result and its checkpoint are journalled first."""
    return await _at_event(stage, "tool_call_started", words.WRITE)


async def cancel_while_a_file_is_read(stage: Stage) -> Played:
    async with stage.show(words.WRITE, words.READ) as show:
        reading = partial(stage.wires.at_read, "main.md", show.cancel_now)
        stage.wires.at_event("context_tool_result_hydrated", reading)
        await show.start()
        return await show.end()


async def cancel_while_the_second_call_is_planned(stage: Stage) -> Played:
    """It looks at its file when the cancel is accepted; from then on it may not be begun."""
    patch = call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup")
    async with stage.show(calls(WRITE), calls(call("workspace.list_files"), patch)) as show:
        looking = partial(stage.wires.at_read, "main.md", show.cancel_now)
        stage.wires.at_event("tool_call_completed", looking, nth=2)
        await show.start()
        return await show.end()


async def cancel_while_a_person_is_asked(stage: Stage) -> Played:
    async with stage.show(calls(WRITE)) as show:
        await begin(show)
        await show.engine.cancel(RUN)
        return await show.end()


async def cancel_between_two_calls(stage: Stage) -> Played:
    """The first call is answered, the commit that follows it is never begun."""
    return await _at_event(stage, "tool_call_completed", words.LIST_AND_COMMIT)


async def cancel_after_the_last_call_of_a_round(stage: Stage) -> Played:
    """The round is over, the model is not asked again."""
    return await _at_event(stage, "context_tool_result_hydrated", words.WRITE)


async def cancel_after_a_checkpoint(stage: Stage) -> Played:
    return await _at_event(stage, "checkpoint_created", words.WRITE)


async def cancel_while_waiting_for_the_commit(stage: Stage) -> Played:
    host = SlowHost(stage.host, commit=never)
    async with stage.show(words.WRITE, words.COMMIT, host=host) as show:
        await show.start()
        await host.reached.wait()
        await show.engine.cancel(RUN)
        return await show.end()


async def cancel_after_a_commit(stage: Stage) -> Played:
    """What was committed stays; cancelled wins over partial success."""
    return await _at_event(stage, "chat_commit_recorded", words.WRITE, words.COMMIT)


async def cancel_while_finishing(stage: Stage) -> Played:
    """Too late: nothing is waited for any more, so the run completes."""
    return await _at_event(stage, "persistent_changes_committed", words.WRITE, words.FINISH, presentation="background")


async def cancel_while_waiting_for_the_persist_metadata(stage: Stage) -> Played:
    host = SlowHost(stage.host, metadata=never)
    async with stage.show(words.WRITE_NOTES, words.WRITE, words.COMMIT_AND_FINISH, host=host) as show:
        await show.start()
        await host.reached.wait()
        await show.engine.cancel(RUN)
        return await show.end()


async def cancel_of_a_run_that_nobody_drives(stage: Stage) -> Played:
    """Its engine was closed while the model was asked; another one cancels it."""
    async with stage.show(never) as show:
        await show.start()
        await show.asked(1)
    async with stage.show() as show:
        await show.engine.cancel(RUN)
        return await show.end()


async def _at_event(stage: Stage, event_type: str, *steps: Reply, **request: str) -> Played:
    async with stage.show(*steps) as show:
        stage.wires.at_event(event_type, show.cancel_now)
        await show.start(**request)
        return await show.end()
