"""At which events of a journal a step was begun and not ended."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from treadle.engine.rewinding.steps import begun_step
from treadle.testkit.replies import call, calls

from ...scenarios import words
from ...scenarios.stage import Stage


async def test_a_step_lasts_until_nothing_of_it_is_left_to_do(stage: Stage, snapshot: SnapshotAssertion) -> None:
    lost = call("workspace.read_file", path="output/lost.md")
    patch = call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup")
    played = await stage.play(words.WRITE, calls(patch, lost), words.COMMIT_AND_FINISH)
    events = [event for event in played.events if event.type != "status_changed"]

    assert [
        f"{event.type}: {begun_step(events[:place]) or '-'}" for place, event in enumerate(events, start=1)
    ] == snapshot
