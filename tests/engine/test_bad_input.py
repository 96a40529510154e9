"""What no provider should answer: the run ends with a clear word, nothing is executed, and its folder is whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from treadle.gateway.calls import MAX_CALLS
from treadle.gateway.errors import PREVIEW_BYTES
from treadle.graph.jsontext import Json
from treadle.testkit.replies import Reply, call
from treadle.testkit.simulators.provider import Step
from treadle.testkit.simulators.registry import SIMULATORS
from treadle.testkit.turns import Fault, says

from ..gateway.traps import trap
from ..scenarios.stage import Stage
from .raw_answers import LIST, NAMES, spoken
from .upstream import CANARY, OVER_HTTP, Left, hidden, payload, played

INVALID = "model.upstream_invalid_response"
LOOK = says("I look.", call("workspace.list_files"), reasoning="Look first.")
PAGE = b"<!DOCTYPE html><title>Bad gateway</title>"
SAID = f"The key {CANARY} is broken: " + "sorry " * 400


@dataclass(frozen=True, slots=True)
class Line:
    """A format, and the way that its answers come."""

    form: str
    over_socket: bool = False

    @property
    def changes(self) -> dict[str, Json]:
        is_off = self.form == "openai_responses" and not self.over_socket
        return {"connection_dialect": OVER_HTTP} if is_off else {}

    def body(self, document: str, event: str = "") -> Reply:
        """The document as it is sent here: over a socket in the event that ends a turn, or as another event."""
        wrapped = event or f'{{"type":"response.completed","response":{document}}}'
        return Reply((wrapped if self.over_socket else document).encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Bad:
    """A bad answer, and what the run says of it."""

    answer: Callable[[Line], Step]
    message: str
    code: str = INVALID
    is_final: bool = False
    """Whether asking again is of no use, so that it is not done."""
    kept: str = ""
    """The provider's words that the error's details hold."""


def _raw(data: bytes) -> Callable[[Line], Step]:
    return lambda _: Reply(data)


def _broken(fault: Fault) -> Callable[[Line], Step]:
    return lambda _: says("A long answer, cut off.", call("workspace.list_files")).broken(fault)


def _error(kind: str) -> Callable[[Line], Step]:
    return _raw(json.dumps({"type": "error", "error": {"type": kind, "message": SAID}}).encode())


def _odd(text: str) -> Callable[[Line], Step]:
    return lambda line: line.body(spoken(line.form, [text]).body)


def _many(count: int) -> Callable[[Line], Step]:
    asked = [(f"c{place}", "workspace_list_files") for place in range(count)]
    return lambda line: line.body(spoken(line.form, calls=asked).body)


LINES = [*map(Line, NAMES), Line("openai_responses", over_socket=True)]

CASES = {
    "no JSON": Bad(_raw(SAID.encode()), "answered with text that is not JSON", kept="The key *** is broken"),
    "empty": Bad(_raw(b""), "answered with an empty body"),
    "blanks": Bad(_raw(b" \n \t"), "answered with an empty body"),
    "cut": Bad(_broken("truncate"), "answered with text that is not JSON", kept="{"),
    "a page": Bad(lambda _: Reply(PAGE, headers={"content-type": "text/html"}), "answered with an HTML page"),
    "a page as JSON": Bad(_raw(PAGE), "answered with an HTML page"),
    "a list": Bad(lambda line: line.body('["sorry"]'), "answered with ", kept='["sorry"]'),
    "nested too deeply": Bad(_raw(b'{"a":' * 100_000), "answered with text that is not JSON", kept='{"a":{"a":'),
    "NaN": Bad(_odd("NaN"), "answered with text that is not JSON", kept="NaN"),
    "a number past all": Bad(_odd("1e999"), "answered with text that is not JSON", kept="1e999"),
    "no UTF-8": Bad(_odd('"\udcff\udcfe"'), "answered with text that is not UTF-8", kept='"\ufffd\ufffd"'),
    "another shape": Bad(
        lambda line: line.body(json.dumps({"id": "r1", "note": SAID})),
        "answered with ", is_final=True, kept="The key *** is broken",
    ),
    "an error in a 200": Bad(
        _error("insufficient_quota"), "answered with an error: The key *** is broken", "model.request_failed", is_final=True
    ),
    "an error in a 200 that may pass": Bad(
        _error("overloaded_error"), "answered with an error: The key *** is broken", "model.request_failed"
    ),
    "one id twice": Bad(
        lambda line: line.body(spoken(line.form, calls=[LIST, LIST]).body),
        "two tool calls of one answer share an id", "model.invalid_tool_call", is_final=True,
    ),
    "ten thousand calls": Bad(
        _many(10_000), f"10000 tool calls in one answer; at most {MAX_CALLS}", "model.invalid_tool_call", is_final=True
    ),
}  # fmt: skip


@trap(51, 56)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if "thousand" in name else ()) for name in CASES]
)
@pytest.mark.parametrize("line", LINES, ids=lambda line: line.form + "-socket" * line.over_socket)
async def test_a_bad_answer_ends_the_run_and_nothing_is_done(stage: Stage, line: Line, name: str) -> None:
    bad = CASES[name]
    bad_answers = [bad.answer(line)] * 9
    async with SIMULATORS[line.form]([LOOK, *bad_answers]) as server:
        left = await played(stage, payload(server, **line.changes))
        asked, refused = len(server.requests), server.refusals

    assert (left.record.status, left.end["code"]) == ("failed", bad.code)
    assert bad.message in left.end["message"]
    assert left.end["retryable"] is not bad.is_final
    assert (asked, refused) == (2 if bad.is_final else 5, [])
    _nothing_done_in_round_2(left)
    _words_kept(left, bad)
    hidden(left)


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream", "application/octet-stream; charset=utf-16", ""])
@pytest.mark.parametrize("form", NAMES)
async def test_an_answer_under_another_content_type_is_taken_by_what_it_holds(
    stage: Stage, form: str, kind: str
) -> None:
    answer = Reply(spoken(form).body.encode(), headers={"content-type": kind})
    async with SIMULATORS[form]([answer]) as server:
        left = await played(stage, payload(server, **Line(form).changes))

    assert [told["name"] for told in left.of("tool_call_completed", round_number=1)] == ["workspace.list_files"]


def _nothing_done_in_round_2(left: Left) -> None:
    assert list(left.turns) == [1]
    assert len(left.of("tool_call_requested", round_number=1)) == 1
    done = ("tool_call_requested", "tool_call_started", "tool_result_stored", "model_completed")
    assert not left.of(*done, round_number=2)
    assert not [path for path in left.files if path.startswith(("tool-args/", "tool-results/")) and "round-002" in path]


def _words_kept(left: Left, bad: Bad) -> None:
    details = left.end["details"]
    assert bad.kept in details.get("preview", "")
    assert len(details.get("preview", "").encode()) <= PREVIEW_BYTES
    assert len(json.dumps(left.end)) < 4000
    for told in left.of("model_call_attempt_failed"):
        assert len(told["message"].encode()) < PREVIEW_BYTES + 200
