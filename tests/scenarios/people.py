"""A profile that lets calls run only with a person's word, calls with ids to speak of, and the person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treadle.graph.jsontext import Json
from treadle.graph.profiles.resolved import default_writer
from treadle.graph.table import Step as GraphStep
from treadle.testkit.replies import Call, calls

from . import words
from .script import Step
from .stage import RUN, Played, Show, Stage

WRITE: Final = Call("workspace.write_file", {"path": "output/main.md", "content": words.DRAFT}, id="write")
CODA: Final = Call("workspace.write_file", {"path": "output/coda.md", "content": words.CODA}, id="coda")
COMMIT: Final = Call("workspace.commit", {}, id="commit")
FINISH: Final = Call("workspace.finish", {}, id="finish")
END: Final = calls(COMMIT, FINISH)


def asking(approval: Json) -> Json:
    """The built-in profile with these tools waiting for a person."""
    changed = default_writer().to_json()
    changed["tools"]["approval"] = approval
    return changed


WRITES: Final = ("workspace.write_file",)


async def begin(show: Show, approval: Json = None) -> None:
    """Start the run, and come to its first question; unless told otherwise, writing files is asked about."""
    await show.start(profile=asking(list(WRITES) if approval is None else approval))
    await show.until("tool_call_awaiting_approval")
    await show.stands_at(GraphStep.AWAIT_APPROVAL)


async def decide(
    stage: Stage, steps: Sequence[Step], *answers: tuple[str, bool, str | None, dict[str, Json] | None]
) -> Played:
    """A run whose questions are answered, one after the other."""
    async with stage.show(*steps) as show:
        await begin(show)
        for number, answer in enumerate(answers, start=1):
            await show.until("tool_call_awaiting_approval", nth=number)
            await show.engine.approve_tool_call(RUN, *answer)
        return await show.end()
