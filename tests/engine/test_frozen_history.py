"""What a run may see of its chat is settled at its start, whatever happens to the chat afterwards."""

from __future__ import annotations

import pytest

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.text import sha256_bytes
from treadle.storage.chats.file import Message

from ..nodes.test_frozen_input import FROZEN, SNAKE
from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.stage import RUN, Stage
from ..storage.chats.samples import GREETING, QUESTION, chat_bytes

SYSTEM: Message = {**GREETING, "is_system": True, "mes": "A note."}


@pytest.mark.parametrize(
    ("messages", "generation_type", "seen"),
    [
        ((), "normal", 0),
        ((), "swipe", 0),
        ((), "regenerate", 0),
        ((GREETING,), "normal", 1),
        ((GREETING,), "swipe", 0),
        ((GREETING,), "regenerate", 0),
        ((GREETING, QUESTION), "normal", 2),
        ((GREETING, QUESTION), "regenerate", 2),
        ((GREETING, QUESTION), "continue", 2),
        ((GREETING, QUESTION), "append", 2),
        ((GREETING, QUESTION), "quiet", 2),
        ((QUESTION, GREETING), "normal", 2),
        ((QUESTION, GREETING), "swipe", 1),
        ((QUESTION, GREETING), "regenerate", 1),
        ((QUESTION, GREETING), "continue", 2),
        ((QUESTION, SYSTEM), "regenerate", 1),
        ((QUESTION, SYSTEM), "append", 2),
    ],
)
async def test_a_run_sees_the_chat_up_to_what_it_replaces(
    stage: Stage, messages: tuple[Message, ...], generation_type: str, seen: int
) -> None:
    stage.chat.write_bytes(chat_bytes(*messages))
    async with stage.show(never) as show:
        await show.start(generationType=generation_type)
        stage.chat.write_bytes(chat_bytes(*messages, QUESTION, QUESTION))
        await show.asked(1)
        record = loads((stage.run_folder() / "run.json").read_bytes())

    last = sha256_bytes(dumps(messages[seen - 1])) if seen else None
    assert (record["generationType"], record["inputMessageCount"]) == (generation_type, seen)
    assert record["chatHead"] == {"messageCount": seen, "lastSha256": last}


@pytest.mark.parametrize("last", [QUESTION, SYSTEM])
async def test_only_a_reply_can_be_swiped(stage: Stage, last: Message) -> None:
    stage.chat.write_bytes(chat_bytes(GREETING, last))
    async with stage.show() as show:
        with pytest.raises(InvalidInput) as caught:
            await show.start(generationType="swipe")

    assert caught.value.error_code == "agent.swipe_target_invalid"
    assert not stage.root.exists()


@pytest.mark.parametrize("frozen", [FROZEN, SNAKE], ids=["camel", "snake"])
async def test_the_frozen_input_is_kept_beside_the_prompt_in_one_spelling(stage: Stage, frozen: Json) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH, frozenRunInputSnapshot=frozen)
    kept = loads((stage.run_folder() / "input" / "frozen_run_input_snapshot.json").read_bytes())

    assert kept.keys() == FROZEN.keys()
    assert kept["promptInputs"] == frozen.get("promptInputs", frozen.get("prompt_inputs"))


async def test_a_prompt_that_brings_its_frozen_input_along_is_kept_as_it_came(stage: Stage) -> None:
    snapshot = {**stage.request()["promptSnapshot"], "frozenRunInputSnapshot": SNAKE}

    await stage.play(words.WRITE, words.COMMIT_AND_FINISH, promptSnapshot=snapshot)

    folder = stage.run_folder() / "input"
    assert loads((folder / "prompt_snapshot.json").read_bytes()) == snapshot
    assert loads((folder / "frozen_run_input_snapshot.json").read_bytes())["schemaVersion"] == 1


async def test_without_a_frozen_input_there_is_no_file_of_it(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)

    assert not (stage.run_folder() / "input" / "frozen_run_input_snapshot.json").exists()


async def test_the_lore_is_that_of_the_runs_own_prompt_and_not_of_another_run(stage: Stage) -> None:
    def prompt(text: str) -> Json:
        entry = {"world": "Eldoria", "uid": 1, "content": text}
        return {**stage.request()["promptSnapshot"], "worldInfoActivation": {"entries": [entry]}}

    async with stage.show(never, words.READ_LORE, words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.start(promptSnapshot=prompt("of the other"), runId="other")
        await show.asked(1)
        await show.start(promptSnapshot=prompt("of its own"))
        await show.engine.wait(RUN)

    [path] = [
        path
        for path in (stage.run_folder() / "tool-results").iterdir()
        if loads(path.read_bytes())["name"] == "worldinfo.read_activated"
    ]
    assert loads(path.read_bytes())["structured"]["entries"][0]["content"] == "of its own"
