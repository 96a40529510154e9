"""The order that an interaction's steps keep: each call answered at once, thoughts and calls as they were sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...gateway.wire import elements, member, to_text
from ...graph.jsontext import Json, is_object, loads
from .provider import RequestRefused
from .sent import Ledger, stands_in

_OF_THE_USER = ("user_input", "function_result")


@dataclass(frozen=True, slots=True)
class _Step:
    place: int
    value: dict[str, Json]
    raw: str

    @property
    def kind(self) -> str:
        return str(self.value["type"])


class History:
    """What a server has sent, and whether the steps of a request keep the rules."""

    def __init__(self) -> None:
        self._ledger = Ledger()

    def record(self, steps: Sequence[bytes]) -> None:
        """Remember an answer; bytes that are no JSON are sent, but never known again."""
        self._ledger.record((mark for step in map(_parsed, steps) for mark in _marks(step)), steps)

    def check(self, data: bytes, body: dict[str, Json]) -> None:
        """Raises RequestRefused where the input of a body that is well formed breaks a rule."""
        if isinstance(body["input"], str):
            return
        raws = elements(member(to_text(data), "input") or "[]")
        steps = [_Step(place, value, raw) for place, (value, raw) in enumerate(zip(body["input"], raws, strict=True))]
        if steps[-1].kind not in _OF_THE_USER:
            _check_answered(_calls(steps))
            raise RequestRefused("The input must end with a step of type 'user_input' or 'function_result'.")
        _check_results(steps)
        start = max((step.place for step in steps if step.kind == "user_input"), default=0)
        self._check_sent(steps[start:])
        for step in steps:
            self._check_signature(step)

    def _check_sent(self, steps: Sequence[_Step]) -> None:
        """An answer comes back whole and byte for byte in the turn that is going on."""
        slices = [step.raw for step in steps]
        for step in steps:
            for mark in _marks(step.value):
                answer = self._ledger.answer(mark)
                if answer is not None and not stands_in(answer, slices):
                    raise _changed(step, answer, slices)

    def _check_signature(self, step: _Step) -> None:
        signature = step.value.get("signature")
        if step.kind in ("thought", "function_call") and signature is not None:
            if self._ledger.answer(signature) is None:
                raise RequestRefused(f"Invalid thought signature at 'input[{step.place}].signature'.")
            if not self._ledger.holds(step.raw):
                raise RequestRefused(f"Invalid input received: 'input[{step.place}]' is not the step that was sent.")


def _changed(step: _Step, answer: tuple[str, ...], slices: Sequence[str]) -> RequestRefused:
    thoughts = [block for block in answer if loads(block).get("type") == "thought"]
    if not set(thoughts) <= set(slices):
        return RequestRefused(
            f"Invalid input received: the thought before 'input[{step.place}]' is missing or was changed."
        )
    return RequestRefused(
        f"Invalid input received: the steps about 'input[{step.place}]' are not, byte for byte and in order, "
        "what this server sent."
    )


def _check_results(steps: Sequence[_Step]) -> None:
    """The results of an answer's calls stand right behind it: one for each, and none without a call."""
    seen: set[str] = set()
    calls: dict[str, str] = {}
    results: set[str] = set()
    for step in steps:
        if step.kind == "function_result":
            given = step.value["call_id"]
            if given not in calls:
                raise RequestRefused(
                    f"Invalid input received: 'input[{step.place}].call_id' {given!r} is of no function call before it."
                )
            if given in results:
                raise RequestRefused(f"Invalid input received: the function call {given!r} has two results.")
            if step.value["name"] != calls[given]:
                raise RequestRefused(
                    f"Invalid input received: 'input[{step.place}].name' is not that of the function call {given!r}."
                )
            results.add(given)
            continue
        if results or step.kind == "user_input":
            _check_answered([call for call in calls if call not in results])
            calls, results = {}, set()
        if step.kind == "function_call":
            if step.value["id"] in seen:
                raise RequestRefused(f"Invalid input received: two function calls have the id {step.value['id']!r}.")
            seen.add(step.value["id"])
            calls[step.value["id"]] = step.value["name"]
    _check_answered([call for call in calls if call not in results])


def _calls(steps: Sequence[_Step]) -> list[str]:
    """The calls that the input ends in, unanswered."""
    held = {step.value["id"] for step in steps if step.kind == "function_call"}
    return sorted(held - {step.value["call_id"] for step in steps if step.kind == "function_result"})


def _check_answered(unanswered: Sequence[str]) -> None:
    if unanswered:
        raise RequestRefused(
            f"Invalid input received: no function_result for the function calls {', '.join(unanswered)}."
        )


def _marks(step: Json) -> Iterator[str]:
    """What an answer is known by: the ids of its calls, and its signatures."""
    if not is_object(step):
        return
    for mark in (step.get("id") if step.get("type") == "function_call" else None, step.get("signature")):
        if isinstance(mark, str) and mark:
            yield mark


def _parsed(step: bytes) -> Json:
    try:
        return loads(step)
    except ValueError:
        return None
