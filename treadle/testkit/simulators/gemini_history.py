"""The order that Gemini's contents keep: calls and their results side by side, signatures as they were sent."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...gateway.wire import elements, member, to_text
from ...graph.jsontext import Json, loads
from .provider import RequestRefused
from .sent import Ledger

_DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""What is taken in place of a signature on a call that the model never made."""

_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)


@dataclass(frozen=True, slots=True)
class _Content:
    place: int
    role: str
    parts: list[dict[str, Json]]
    raw: str

    @property
    def calls(self) -> list[dict[str, Json]]:
        return [part["functionCall"] for part in self.parts if "functionCall" in part]

    @property
    def results(self) -> list[dict[str, Json]]:
        return [part["functionResponse"] for part in self.parts if "functionResponse" in part]

    def signatures(self) -> Iterator[tuple[int, Json]]:
        return ((at, part["thoughtSignature"]) for at, part in enumerate(self.parts) if "thoughtSignature" in part)


class History:
    """What a server has sent, and whether a conversation keeps the rules."""

    def __init__(self, *, call_ids: bool) -> None:
        self._call_ids = call_ids
        self._ledger = Ledger()

    def record(self, content: bytes) -> None:
        """Remember an answer's content; one that is no JSON is sent, but never known again."""
        try:
            parts = loads(content)["parts"]
        except ValueError:
            return
        self._ledger.record(_marks(parts), (content,))

    def check(self, data: bytes, body: dict[str, Json], *, signed: bool) -> None:
        """Raises RequestRefused where the contents of a body that is well formed break a rule.

        `signed`: the model is one that demands the signatures of the turn that is going on.
        """
        raws = elements(member(to_text(data), "contents") or "[]")
        contents = [
            _Content(place, content.get("role", "user"), content["parts"], raw)
            for place, (content, raw) in enumerate(zip(body["contents"], raws, strict=True))
        ]
        self._check_order(contents)
        start = _turn_start(contents)
        for content in contents[start:]:
            self._check_sent(content)
        for content in contents:
            self._check_signatures(content)
        if signed:
            _check_signed(contents[start:])

    def _check_order(self, contents: Sequence[_Content]) -> None:
        for before, after in pairwise([None, *contents, None]):
            calls = [] if before is None else before.calls
            if after is None:
                if calls or (before is not None and before.role == "model"):
                    raise RequestRefused(
                        "Please ensure that single turn requests end with a user role or the role field is empty."
                    )
                return
            if after.calls and (before is None or before.role != "user"):
                raise RequestRefused(
                    "Please ensure that function call turn comes immediately after a user turn or after a function "
                    "response turn."
                )
            if after.results and not calls:
                raise RequestRefused(
                    "Please ensure that function response turn comes immediately after a function call turn."
                )
            if calls:
                self._check_answers(calls, after)

    def _check_answers(self, calls: Sequence[dict[str, Json]], content: _Content) -> None:
        if len(content.results) != len(calls) or len(content.parts) != len(calls):
            raise RequestRefused(_COUNT)
        for place, (call, result) in enumerate(zip(calls, content.results, strict=True)):
            where = f"contents[{content.place}].parts[{place}].function_response"
            if result["name"] != call["name"]:
                raise RequestRefused(
                    f"Please ensure that the function response parts match the function call parts: {where}.name is "
                    f"{result['name']!r}, the function call's is {call['name']!r}."
                )
            if result.get("id") != call.get("id"):
                raise RequestRefused(
                    f"Please ensure that the function response parts match the function call parts: {where}.id is "
                    f"{result.get('id')!r}, the function call's is {call.get('id')!r}."
                )

    def _check_sent(self, content: _Content) -> None:
        """An answer of this server comes back whole and byte for byte in the turn that is going on."""
        for mark in _marks(content.parts):
            answer = self._ledger.answer(mark)
            if answer is not None and answer != (content.raw,):
                raise _changed(content, loads(answer[0])["parts"])

    def _check_signatures(self, content: _Content) -> None:
        for at, signature in content.signatures():
            where = f"contents[{content.place}].parts[{at}].thought_signature"
            if signature in _DUMMIES:
                continue
            if not _is_base64(signature):
                raise RequestRefused(
                    f"Invalid value at '{where}' (TYPE_BYTES), Base64 decoding failed for \"{signature}\""
                )
            if self._ledger.answer(signature) is None:
                raise RequestRefused("Corrupted thought signature.")


def _marks(parts: Sequence[dict[str, Json]]) -> Iterator[str]:
    """What an answer is known by: the ids of its calls, and its signatures."""
    for part in parts:
        for mark in (part.get("functionCall", {}).get("id"), part.get("thoughtSignature")):
            if isinstance(mark, str):
                yield mark


def _turn_start(contents: Sequence[_Content]) -> int:
    """Where the turn that is going on begins: behind the last thing that a user said."""
    said = [content.place for content in contents if content.role == "user" and not content.results]
    return said[-1] if said else 0


def _check_signed(contents: Sequence[_Content]) -> None:
    for content in contents:
        at = next((at for at, part in enumerate(content.parts) if "functionCall" in part), None)
        if at is not None and not content.parts[at].get("thoughtSignature"):
            raise _missing(content, at)


def _missing(content: _Content, at: int) -> RequestRefused:
    name = content.parts[at]["functionCall"]["name"]
    return RequestRefused(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        f"call `default_api:{name}` , position {content.place + 1}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )


def _changed(content: _Content, sent: list[dict[str, Json]]) -> RequestRefused:
    """In the provider's words where a signature is missing or another; else in words of this server's own."""
    if len(sent) == len(content.parts):
        for at, (given, held) in enumerate(zip(content.parts, sent, strict=True)):
            if "functionCall" in given and "thoughtSignature" in held and "thoughtSignature" not in given:
                return _missing(content, at)
            if given.get("thoughtSignature") != held.get("thoughtSignature"):
                return RequestRefused("Corrupted thought signature.")
    return RequestRefused(f"contents[{content.place}] is not, byte for byte, the content that this server sent.")


def _is_base64(text: Json) -> bool:
    try:
        return isinstance(text, str) and bool(base64.b64decode(text, validate=True))
    except binascii.Error:
        return False
