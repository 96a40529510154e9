"""Runs that break off: a disk that refuses, an input file that is damaged."""

from __future__ import annotations

import errno

from treadle.testkit.replies import error

from . import words
from .hosts import never
from .stage import Played, Stage


async def profile_unreadable(stage: Stage) -> Played:
    stage.disk.fail("read", when="resolved_profile.json", error=errno.EIO)
    return await stage.play()


async def profile_damaged_between_two_engines(stage: Stage) -> Played:
    async with stage.show(never) as show:
        await show.start()
        await show.asked(1)
    (stage.run_folder() / "input" / "resolved_profile.json").write_text("{}")
    async with stage.show() as show:
        await show.resume(force=True)
        return await show.end()


async def no_room_for_the_workspace(stage: Stage) -> Played:
    stage.disk.fail("make_folder", when="scratch")
    return await stage.play()


async def no_room_for_the_manifest(stage: Stage) -> Played:
    stage.disk.fail("replace", when="manifest.json")
    return await stage.play()


async def no_room_for_the_answer(stage: Stage) -> Played:
    stage.disk.fail("replace", when="round-001.body")
    return await stage.play(words.WRITE)


async def no_room_for_the_retry(stage: Stage) -> Played:
    stage.disk.fail("append", containing=b"model_call_retry_scheduled", times=1)
    return await stage.play(error(503, "Busy."))


async def no_room_for_the_arguments(stage: Stage) -> Played:
    stage.disk.fail("replace", when="tool-args/*.json")
    return await stage.play(words.WRITE)


async def no_room_for_the_file(stage: Stage) -> Played:
    stage.disk.fail("replace", when="output/main.md")
    return await stage.play(words.WRITE)


async def no_room_for_the_checkpoint(stage: Stage) -> Played:
    stage.disk.fail("replace", when="content/*")
    return await stage.play(words.WRITE)


async def no_room_for_the_chat(stage: Stage) -> Played:
    stage.disk.fail("append", when="tea.jsonl")
    stage.disk.fail("replace", when="tea.jsonl")
    return await stage.play(words.WRITE, words.COMMIT_AND_FINISH)


async def no_room_for_the_promotion(stage: Stage) -> Played:
    stage.disk.fail("replace", when="persistent-states/promotion.json")
    return await stage.play(words.WRITE_NOTES, words.WRITE, words.COMMIT_AND_FINISH)
