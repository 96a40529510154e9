"""Runs that nobody interrupts: how they end well, and how they end badly."""

from __future__ import annotations

from treadle.testkit.replies import Reply, call, calls, error

from ..storage.chats.samples import QUESTION, chat_bytes
from . import words
from .stage import RUN, Played, Stage
from .words import corrections, profile, retries


async def happy_path(stage: Stage) -> Played:
    """Write in round 1, commit and finish in round 2: the happy path."""
    return await stage.play(words.WRITE, words.COMMIT_AND_FINISH, over_http=True)


async def append_commits(stage: Stage) -> Played:
    return await stage.play(words.WRITE, words.COMMIT, words.WRITE_CODA, words.COMMIT_CODA, words.FINISH)


async def several_calls_in_one_answer(stage: Stage) -> Played:
    together = calls(
        call("workspace.write_file", path="output/main.md", content=words.DRAFT),
        call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup"),
        call("workspace.read_file", path="output/main.md"),
        call("workspace.commit"),
    )
    return await stage.play(together, words.FINISH)


async def background_without_commit(stage: Stage) -> Played:
    return await stage.play(words.WRITE, words.FINISH, presentation="background")


async def background_with_commit(stage: Stage) -> Played:
    return await stage.play(words.WRITE, words.COMMIT_AND_FINISH, presentation="background")


async def persistent_files(stage: Stage) -> Played:
    return await stage.play(words.WRITE_NOTES, words.FINISH, presentation="background")


async def remote_host(stage: Stage) -> Played:
    """No host here: somebody else saves the text and says so."""
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH, remote=True) as show:
        await show.start()
        asked = await show.until("chat_commit_requested")
        await show.engine.resolve_agent_chat_commit(RUN, asked.payload["commitId"], message_id="2")
        asked = await show.until("persistent_state_metadata_update_requested")
        await show.engine.resolve_persistent_state_metadata_update(RUN, asked.payload["updateId"])
        return await show.end()


async def retry_then_success(stage: Stage) -> Played:
    return await stage.play(words.BUSY, words.BUSY, words.WRITE, words.COMMIT_AND_FINISH, over_http=True)


async def retries_exhausted(stage: Stage) -> Played:
    busy = [words.BUSY] * 3
    return await stage.play(*busy, over_http=True, profile=profile(**retries(2)))


async def server_says_when_to_retry(stage: Stage) -> Played:
    busy = error(429, "Slow down.", retry_after="7")
    return await stage.play(busy, words.WRITE, words.COMMIT_AND_FINISH)


async def server_wants_too_long_a_wait(stage: Stage) -> Played:
    return await stage.play(error(429, "Come back tomorrow.", retry_after="86400"))


async def retry_then_refused(stage: Stage) -> Played:
    return await stage.play(words.BUSY, words.NO_SUCH_MODEL)


async def recoverable_tool_error(stage: Stage) -> Played:
    misremembered = calls(call("workspace.apply_patch", path="output/main.md", old_string="pot", new_string="cup"))
    mended = calls(call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup"))
    return await stage.play(words.WRITE, misremembered, mended, words.COMMIT_AND_FINISH, over_http=True)


async def unknown_tool(stage: Stage) -> Played:
    return await stage.play(calls(call("workspace.burn")), words.WRITE, words.COMMIT_AND_FINISH)


async def calls_beyond_the_budget(stage: Stage) -> Played:
    """Refused calls don't count; the run goes on until its rounds are spent."""
    asked = profile(max_rounds=2)
    asked["tools"]["maxCallsPerTool"] = {"workspace.write_file": 1}
    return await stage.play(words.WRITE, words.WRITE_CODA, profile=asked)


async def hidden_tool(stage: Stage) -> Played:
    asked = profile()
    asked["tools"]["deny"] = ["workspace.list_files"]
    return await stage.play(words.LIST, words.WRITE, words.COMMIT_AND_FINISH, profile=asked)


async def fatal_model_error(stage: Stage) -> Played:
    return await stage.play(words.NO_SUCH_MODEL, over_http=True)


async def fatal_tool_error(stage: Stage) -> Played:
    """Somebody puts a link into the workspace, and the model reads it."""

    async def linked() -> Reply:
        (stage.run_folder() / "output" / "main.md").symlink_to(stage.chat)
        return words.READ

    return await stage.play(linked)


async def call_after_finish(stage: Stage) -> Played:
    late = calls(call("workspace.finish"), call("workspace.list_files"))
    return await stage.play(words.WRITE, late, presentation="background")


async def text_without_tool(stage: Stage) -> Played:
    return await stage.play(words.TALK, over_http=True)


async def text_after_a_retry(stage: Stage) -> Played:
    return await stage.play(words.BUSY, words.TALK)


async def drift_corrected(stage: Stage) -> Played:
    steps = words.TALK, words.WRITE, words.COMMIT_AND_FINISH
    return await stage.play(*steps, over_http=True, profile=profile(**corrections(1)))


async def drift_corrected_after_a_retry(stage: Stage) -> Played:
    steps = words.BUSY, words.TALK, words.WRITE, words.COMMIT_AND_FINISH
    return await stage.play(*steps, profile=profile(**corrections(1)))


async def drift_corrections_spent(stage: Stage) -> Played:
    steps = words.TALK, words.WRITE, words.TALK
    return await stage.play(*steps, profile=profile(**corrections(1)))


async def rounds_spent(stage: Stage) -> Played:
    return await stage.play(words.WRITE, words.LIST, profile=profile(max_rounds=2))


async def rounds_spent_by_a_write(stage: Stage) -> Played:
    return await stage.play(words.WRITE, profile=profile(max_rounds=1))


async def finish_before_commit(stage: Stage) -> Played:
    hasty = calls(call("workspace.finish"), call("workspace.list_files"))
    return await stage.play(words.WRITE, hasty, words.COMMIT_AND_FINISH)


async def commit_of_a_missing_file(stage: Stage) -> Played:
    return await stage.play(words.COMMIT, words.WRITE, words.COMMIT_AND_FINISH)


async def partial_success(stage: Stage) -> Played:
    return await stage.play(words.WRITE, words.COMMIT, words.TALK)


async def persist_metadata_refused_by_host(stage: Stage) -> Played:
    """The run's message is gone when it is to learn its persist state."""
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH, remote=True) as show:
        await show.start()
        asked = await show.until("chat_commit_requested")
        await show.engine.resolve_agent_chat_commit(RUN, asked.payload["commitId"], message_id="2")
        asked = await show.until("persistent_state_metadata_update_requested")
        refusal = {"error": " the message was deleted "}
        await show.engine.resolve_persistent_state_metadata_update(RUN, asked.payload["updateId"], **refusal)
        return await show.end()


async def commit_without_a_message(stage: Stage) -> Played:
    """A remote host says yes, but not where the text stands."""
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH, remote=True) as show:
        await show.start()
        asked = await show.until("chat_commit_requested")
        await show.engine.resolve_agent_chat_commit(RUN, asked.payload["commitId"])
        return await show.end()


async def commit_refused_by_host(stage: Stage) -> Played:
    """Somebody edits the chat's last message while the run works."""

    async def edited() -> Reply:
        stage.chat.write_bytes(stage.chat.read_bytes().replace(b"Who is at", b"What is at"))
        return words.COMMIT_AND_FINISH

    return await stage.play(words.WRITE, edited)


async def second_commit_refused_by_host(stage: Stage) -> Played:
    """Somebody answers in the chat after the run's first commit."""

    async def answered() -> Reply:
        with stage.chat.open("ab") as chat:
            chat.write(chat_bytes(QUESTION).partition(b"\n")[2])
        return words.COMMIT_CODA

    return await stage.play(words.WRITE, words.COMMIT, words.WRITE_CODA, answered)


async def promotion_conflict(stage: Stage) -> Played:
    """Two runs write the same persistent file; the first to finish wins."""

    async def other_run() -> Reply:
        await show.start(runId="run_2", presentation="background")
        await show.engine.wait("run_2")
        return words.FINISH

    async with stage.show(words.WRITE_NOTES, other_run, words.WRITE_OTHER_NOTES, words.FINISH) as show:
        await show.start(presentation="background")
        return await show.end()
