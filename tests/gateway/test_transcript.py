"""Each call answered exactly once, before anything else is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway import transcript
from treadle.gateway.outgoing import Fragment
from treadle.graph.errors import ModelFailed
from treadle.graph.messages import Role

SYSTEM = Fragment(Role.SYSTEM, (b"s",))
USER = Fragment(Role.USER, (b"u",))


def asks(*calls: str) -> Fragment:
    return Fragment(Role.ASSISTANT, (b"a",), calls=calls)


def answers(call: str | None) -> Fragment:
    return Fragment(Role.TOOL, (b"t",), answers=call)


def refusal(*fragments: Fragment) -> ModelFailed:
    with pytest.raises(ModelFailed) as refused:
        transcript.check(fragments)
    return refused.value


@pytest.mark.parametrize(
    "fragments",
    [
        (),
        (SYSTEM, USER),
        (USER, asks("a"), answers("a")),
        (USER, asks("a", "b"), answers("a"), answers("b"), asks("c"), answers("c"), USER),
        (USER, asks("a", "b"), answers("b"), answers("a")),
        (USER, asks(), USER, asks(), asks("a"), answers("a")),
        (USER, asks("call_0"), answers("call_0"), asks("call_0"), answers("call_0")),
        (USER, asks(" a "), answers(" a ")),
    ],
    ids=["empty", "prompt", "one", "several", "out of order", "drift", "an id again in a later turn", "spaces"],
)
def test_a_transcript_whose_calls_are_all_answered_may_be_sent(fragments: tuple[Fragment, ...]) -> None:
    transcript.check(fragments)


@pytest.mark.parametrize(
    ("fragments", "call"),
    [
        ((USER, asks("a")), "a"),
        ((USER, asks("a", "b"), answers("a")), "b"),
        ((USER, asks("a"), USER, answers("a")), "a"),
        ((USER, asks("a"), SYSTEM, answers("a")), "a"),
        ((USER, asks("a"), asks("b"), answers("a"), answers("b")), "a"),
        ((USER, asks("a"), answers("a"), answers("a")), "a"),
        ((USER, asks("a"), answers("b")), "b"),
        ((USER, asks("a"), answers("A")), "A"),
        ((USER, asks("a"), answers(" a")), " a"),
        ((USER, asks("a"), answers(None)), None),
        ((answers("a"),), "a"),
        ((USER, answers("a"), asks("a")), "a"),
        ((USER, asks("a"), answers("a"), USER, answers("a")), "a"),
        ((USER, asks("a", "a"), answers("a")), "a"),
        ((USER, asks("a", "a"), answers("a"), answers("a")), "a"),
    ],
)
def test_a_call_without_its_one_answer_and_an_answer_without_its_call_stop_everything(
    fragments: tuple[Fragment, ...], call: str | None
) -> None:
    refused = refusal(*fragments)

    assert (refused.error_code, refused.retryable) == ("chat_completion.invalid_tool_transcript", False)
    assert refused.details == {"callId": call}


def test_the_message_at_fault_is_named_by_its_place() -> None:
    assert "message 3 " in refusal(USER, asks("a"), USER).message
    assert "message 2 " in refusal(USER, answers("a")).message
    assert "message 2 " in refusal(USER, asks("a", "a")).message


_TURN = st.lists(st.sampled_from("abcdef"), unique=True, max_size=4).flatmap(
    lambda ids: st.permutations(ids).map(lambda order: [asks(*ids), *map(answers, order)])
)
_TRANSCRIPTS = st.lists(st.one_of(_TURN, st.sampled_from([[USER], [SYSTEM]])), max_size=6).map(
    lambda turns: [fragment for turn in turns for fragment in turn]
)


@given(_TRANSCRIPTS)
def test_any_order_of_the_answers_to_one_turn_will_do(fragments: list[Fragment]) -> None:
    transcript.check(fragments)


@given(_TRANSCRIPTS.filter(lambda held: any(one.role is Role.TOOL for one in held)), st.data())
def test_one_answer_lost_doubled_renamed_or_late_is_always_found(
    fragments: list[Fragment], data: st.DataObject
) -> None:
    place = data.draw(st.sampled_from([at for at, held in enumerate(fragments) if held.role is Role.TOOL]))
    held, before, after = fragments[place], fragments[:place], fragments[place + 1 :]
    changed = data.draw(
        st.sampled_from(
            [
                [*before, *after],
                [*before, held, held, *after],
                [*before, answers("z"), *after],
                [*before, USER, held, *after],
            ]
        )
    )

    assert refusal(*changed).error_code == "chat_completion.invalid_tool_transcript"


def test_ten_thousand_parallel_calls_are_checked_at_once() -> None:
    ids = [f"c{number}" for number in range(10_000)]

    transcript.check([USER, asks(*ids), *map(answers, ids)])
    assert refusal(USER, asks(*ids), *map(answers, ids[:-1])).details == {"callId": ids[-1]}
