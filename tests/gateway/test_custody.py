"""Native blocks go back as they came, or nothing is sent."""

from __future__ import annotations

import pytest

from treadle.gateway import custody
from treadle.graph.errors import NativeMetadataLost
from treadle.graph.messages import Message, NativePart, Role, TextPart

BLOCK = NativePart("openai_compatible", b'{"role":"assistant","content":"hi"}')
ANSWER = Message(Role.ASSISTANT, (TextPart("hi"), BLOCK))


def test_an_answer_that_is_as_it_was_born_passes() -> None:
    custody.check(ANSWER, custody.born(ANSWER))


@pytest.mark.parametrize(
    "parts",
    [
        (TextPart("hi"),),
        (NativePart("openai_compatible", BLOCK.value + b" "),),
        (BLOCK, BLOCK),
    ],
    ids=["lost", "altered", "doubled"],
)
def test_a_block_that_is_lost_altered_or_doubled_stops_everything(parts: tuple[TextPart | NativePart, ...]) -> None:
    with pytest.raises(NativeMetadataLost) as lost:
        custody.check(Message(Role.ASSISTANT, parts), custody.born(ANSWER))

    assert (lost.value.error_code, lost.value.retryable) == ("model.native_metadata_lost", False)


def test_a_stored_reply_must_be_the_one_received() -> None:
    with pytest.raises(NativeMetadataLost):
        custody.check_body(b"{}", "0" * 64)
