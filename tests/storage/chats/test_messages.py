"""A message and the swipe it shows stay in step, and nothing that was written before is lost."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import HostFailed
from treadle.graph.jsontext import Json
from treadle.storage.chats.file import Message
from treadle.storage.chats.messages import (
    add_swipe,
    agent_notes,
    merge_agent_notes,
    new_reply,
    send_date,
    set_text,
    shown_agent_notes,
)

from .samples import DATE, GREETING

LATER = "2025-11-23T10:00:00.000Z"


def in_step(message: Message) -> bool:
    shown = message["swipe_id"]
    info = message["swipe_info"][shown]
    return bool(
        message["swipes"][shown] == message["mes"]
        and info["send_date"] == message["send_date"]
        and info["extra"] == message["extra"]
        and len(message["swipes"]) == len(message["swipe_info"])
    )


def test_dates_are_written_as_sillytavern_does() -> None:
    assert send_date(1763890200.1239) == "2025-11-23T09:30:00.123Z"


def test_a_new_reply_has_the_real_shape() -> None:
    assert new_reply("Wren", "Hello", DATE) == {
        "name": "Wren",
        "is_user": False,
        "is_system": False,
        "send_date": DATE,
        "mes": "Hello",
        "extra": {},
        "swipe_id": 0,
        "swipes": ["Hello"],
        "swipe_info": [{"send_date": DATE, "extra": {}}],
    }


def test_a_swipe_puts_the_shown_text_away_whole() -> None:
    message: Message = {
        **copy.deepcopy(GREETING),
        "gen_started": "a",
        "gen_finished": "b",
        "extra": {"bookmark_link": "tea - 2", "reasoning": "hm", "display_text": "Der Kessel singt."},
    }
    before = copy.deepcopy(message)

    swipe_id = add_swipe(message, "The kettle is silent.", LATER)

    assert swipe_id == 1
    assert in_step(message)
    assert message["swipes"] == ["The kettle sings.", "The kettle is silent."]
    assert message["swipe_info"][0] == {
        "send_date": DATE,
        "gen_started": "a",
        "gen_finished": "b",
        "extra": before["extra"],
    }
    assert message["extra"] == {"bookmark_link": "tea - 2"}
    assert "gen_started" not in message


def test_a_swipe_of_another_runs_reply_does_not_inherit_its_notes() -> None:
    message = new_reply("Wren", "one", DATE)
    merge_agent_notes(message, {"runId": "run_a"})
    message["extra"]["tauritavern"]["other"] = 1

    add_swipe(message, "two", LATER)

    assert shown_agent_notes(message) is None
    assert message["extra"] == {"tauritavern": {"other": 1}}
    assert [notes["runId"] for notes in agent_notes(message)] == ["run_a"]


def test_a_new_text_replaces_the_shown_swipe_only() -> None:
    message = new_reply("Wren", "one", DATE)
    add_swipe(message, "two", DATE)
    message["extra"] |= {"display_text": "zwei", "bookmark_link": "b"}

    set_text(message, "three", LATER)

    assert in_step(message)
    assert message["swipes"] == ["one", "three"]
    assert message["extra"] == {"bookmark_link": "b"}


def test_notes_are_merged_deep_into_message_and_swipe() -> None:
    message = new_reply("Wren", "one", DATE)
    message["extra"] = {"model": "m", "tauritavern": {"agent": {"mine": 1, "commits": [1]}, "other": 2}}

    merge_agent_notes(message, {"commits": [1, 2]})

    assert message["extra"] == {"model": "m", "tauritavern": {"agent": {"mine": 1, "commits": [1, 2]}, "other": 2}}
    assert message["swipe_info"][0]["extra"] == {"tauritavern": {"agent": {"commits": [1, 2]}}}


@pytest.mark.parametrize(
    "holes",
    [
        {"swipes": None, "swipe_id": None, "swipe_info": None},
        {"swipes": ["older", "The kettle sings."], "swipe_info": [None]},
        {"swipes": ["The kettle sings."], "swipe_id": 0, "swipe_info": []},
    ],
)
def test_holes_in_the_swipes_are_filled(holes: Message) -> None:
    message = {**copy.deepcopy(GREETING), **copy.deepcopy(holes)}

    add_swipe(message, "new", LATER)

    assert in_step(message)
    assert message["swipes"] == [*(holes["swipes"] or ["The kettle sings."]), "new"]


@pytest.mark.parametrize(
    "broken",
    [
        {"swipes": "text"},
        {"swipe_info": {}},
        {"swipes": ["a"], "swipe_id": 1},
        {"swipes": ["a"], "swipe_id": "0"},
        {"swipes": ["other text"]},
        {"mes": None},
        {"extra": "text"},
    ],
)
def test_a_message_of_another_shape_is_refused(broken: Message) -> None:
    with pytest.raises(HostFailed) as refused:
        add_swipe({**copy.deepcopy(GREETING), **broken}, "new", LATER)

    assert refused.value.error_code == "agent.chat_commit_message_invalid"


@given(
    texts=st.lists(st.text(), min_size=1, max_size=4),
    extra=st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(), max_size=3),
    data=st.data(),
)
def test_swiping_loses_no_text(texts: list[str], extra: dict[str, Json], data: st.DataObject) -> None:
    shown = data.draw(st.integers(0, len(texts) - 1))
    message: Message = {**GREETING, "mes": texts[shown], "swipes": list(texts), "swipe_id": shown, "extra": extra}

    add_swipe(message, "new", LATER)

    assert message["swipes"] == [*texts, "new"]
    assert message["swipe_info"][shown]["extra"] == extra
    assert in_step(message)
