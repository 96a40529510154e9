"""Content parts of a prompt as blocks of the Interactions API."""

from __future__ import annotations

import json

import pytest

from treadle.gateway.calls import CONTENT_PART
from treadle.gateway.formats import gemini_interactions as shape
from treadle.gateway.interactions.media import block_of
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json, dumps
from treadle.graph.messages import MediaPart, Message, NativePart, ReasoningPart, Role, TextPart

from .words import connect

PNG = "data:image/png;base64,AA=="


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ({"type": "text", "text": "hi \ud83d"}, {"type": "text", "text": "hi \ud83d"}),
        ({"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
         {"type": "image", "mime_type": "image/png", "data": "AA=="}),
        ({"type": "image_url", "image_url": PNG}, {"type": "image", "mime_type": "image/png", "data": "AA=="}),
        ({"type": "image_url", "image_url": {"url": "https://h/a.png"}}, {"type": "image", "uri": "https://h/a.png"}),
        ({"type": "video_url", "video_url": {"url": "data:video/mp4;codecs=x;base64,AA"}},
         {"type": "video", "mime_type": "video/mp4", "data": "AA"}),
        ({"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
         {"type": "audio", "mime_type": "audio/wav", "data": "AA"}),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
         {"type": "document", "mime_type": "application/pdf", "data": "AA"}),
    ],
)  # fmt: skip
def test_each_kind_has_its_block_however_it_came(part: Json, block: Json) -> None:
    for given in (MediaPart("", part), NativePart(CONTENT_PART, dumps(part))):
        assert json.loads(block_of(given) or b"null") == block


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
        {"type": "image_url", "image_url": {"url": "data:image/png,AA"}},
        {"type": "image_url"},
        {"type": "image_url", "image_url": 7},
        {"type": "input_audio", "input_audio": {"data": "AA"}},
        {"type": "input_audio", "input_audio": "AA"},
        {"type": "file", "file": {"file_id": "f"}},
        {"type": "file", "file": {"file_data": "https://h/a.pdf"}},
        {"type": "text"},
        {"type": "hologram"},
        {"type": []},
        [],
        None,
    ],
)
def test_what_the_api_can_not_take_is_refused_with_what_it_can(part: Json) -> None:
    with pytest.raises(ModelFailed, match="image_url") as refused:
        block_of(NativePart(CONTENT_PART, dumps(part)))
    assert refused.value.error_code == "model.request_build_failed"


def test_what_says_nothing_has_no_block() -> None:
    assert block_of(TextPart("")) is None
    assert block_of(ReasoningPart("r", "x")) is None
    assert block_of(NativePart("claude", b"{}")) is None


def test_a_system_message_takes_text_only() -> None:
    media = MediaPart("image/png", {"type": "image_url", "image_url": {"url": PNG}})
    at = connect(custom_api_format="gemini_interactions")

    with pytest.raises(ModelFailed, match="system"):
        shape.encode_message(Message(Role.SYSTEM, (TextPart(""), media)), at)
