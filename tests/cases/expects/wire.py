"""Expectations of what was sent to the model's server, and of what its answer became."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treadle.graph.jsontext import Json, dumps, is_list, is_object, loads

from ..faults import CaseFault, a_list, an_object, only, shown
from ..observed import Observed, RunSeen
from ..upstream import Sent
from .spelling import is_within, loads_spelled, same, slice_at

Faults = Iterator[str]

_ABSENT = "<absent>"
_CHECKS = (
    "equals", "key_order", "length", "type", "contains", "one_of", "absent", "parses_as_json", "raw_contains",
    "raw_absent", "raw_count",
)  # fmt: skip
_PROVIDERS = {"claude": "claude_messages", "responses": "openai_responses", "openai": "openai_compatible"}
"""Other words for a format, as cases use them for whose native parts they are."""


def next_request(value: Json, seen: Observed) -> Faults:
    yield from _request(value, seen, seen.next_sent + 1)


def numbered_request(number: int, value: Json, seen: Observed) -> Faults:
    yield from _request(value, seen, number)


def request(value: Json, seen: Observed) -> Faults:
    """Of the one request there is: conditions on all its texts, or a list of checks by path."""
    if is_list(value):
        yield from _request(value, seen, 1)
        return
    only(value, ("no_blank_text_blocks", "must_contain_text", "checks"), "request")
    body = loads(_sent(seen, 1).body)
    texts = list(_texts(body))
    if value.get("no_blank_text_blocks"):
        yield from (f"a text block is blank: {text!r}" for text in texts if not text.strip())
    for wanted in value.get("must_contain_text", []):
        if not any(wanted in text for text in texts):
            yield f"no text block holds {wanted!r}"
    yield from _request(value.get("checks", []), seen, 1)


def absent_keys(value: Json, seen: Observed) -> Faults:
    body = loads(_sent(seen, 1).body)
    yield from (f"the request has the key {key!r}" for key in value if key in body)


def decoded(value: Json, seen: Observed) -> Faults:
    only(value, ("text", "reasoning_count", "tool_calls", "native_provider"), "decoded")
    response = seen.the_run().json("model-responses/round-001.json")["response"]
    parts = response["message"]["parts"]
    if "text" in value and response["text"] != value["text"]:
        yield f"the text is {response['text']!r}"
    if "reasoning_count" in value:
        count = sum(part["type"] == "reasoning" for part in parts)
        if count != value["reasoning_count"]:
            yield f"there are {count} reasoning parts"
    for place, wanted in enumerate(value.get("tool_calls", [])):
        held = response["toolCalls"]
        if place >= len(held) or not is_within(wanted, held[place]):
            yield f"call {place} is {shown(held[place] if place < len(held) else None)}, not one with {shown(wanted)}"
    if "native_provider" in value:
        named = {part["provider"] for part in parts if part["type"] == "native"}
        wanted = value["native_provider"]
        if not named & {wanted, _PROVIDERS.get(wanted, wanted)}:
            yield f"the native parts are of {sorted(named)}"


def provider_state(value: Json, seen: Observed) -> Faults:
    told = seen.the_run().of_type("provider_state_updated")
    state: Json = told[-1]["providerState"] if told else {}
    for key, wanted in value.items():
        path = key.removesuffix("_min")
        held = _dotted(state, path)
        if key == path and held != wanted:
            yield f"{path} is {held!r}, not {wanted!r}"
        elif key != path and not (isinstance(held, int) and held >= wanted):
            yield f"{path} is {held!r}, not at least {wanted}"


def read_model_turn(value: Json, seen: Observed) -> Faults:
    only(value, ("assistant_text", "reasoning_count", "must_not_contain"), "read_model_turn")
    turn = seen.fact("model_turn")
    if "assistant_text" in value and turn["assistant"]["text"] != value["assistant_text"]:
        yield f"the turn's text is {turn['assistant']['text']!r}"
    if "reasoning_count" in value and len(turn["reasoning"]) != value["reasoning_count"]:
        yield f"the turn has {len(turn['reasoning'])} reasoning texts"
    whole = dumps(turn).decode()
    yield from (f"the turn holds {word!r}" for word in value.get("must_not_contain", []) if word in whole)


def calls_total(value: Json, seen: Observed) -> Faults:
    if len(seen.requests()) != value:
        yield f"{len(seen.requests())} requests were sent"


def attempts(value: Json, seen: Observed) -> Faults:
    made = [told for told in seen.the_run().of_type("model_call_attempt_started") if told["round"] == 1]
    if len(made) != value:
        yield f"{len(made)} attempts were made in the first round"


def attempt_error_code(value: Json, seen: Observed) -> Faults:
    failed = seen.the_run().of_type("model_call_attempt_failed")
    if not failed:
        yield "no attempt failed"
    codes = [told.get("code") or str(told["message"]).split(":", 1)[0] for told in failed]
    yield from (f"an attempt failed with {code}" for code in codes if code != value)


def min_wait_ms(value: Json, seen: Observed) -> Faults:
    sent = seen.requests()
    if len(sent) < 2:
        yield "there was no second attempt"
        return
    waited = (sent[1].at - sent[0].at) * 1000
    if waited < value - 0.5:
        yield f"the second attempt came after {waited:.0f} ms"


def _request(checks: Json, seen: Observed, number: int) -> Faults:
    sent = _sent(seen, number) if a_list(checks, "the checks of a request") else None
    for check in checks:
        only(check, ("path", *_CHECKS), "a check of a request")
        for fault in _checked(an_object(check, "a check"), sent.body if sent else b""):
            yield f"at {check['path']} of request {number}: {fault}"


def _sent(seen: Observed, number: int) -> Sent:
    sent = seen.requests()
    if len(sent) < number:
        raise CaseFault(f"there is no request {number}; {len(sent)} were sent, and {_end(seen.run)}")
    return sent[number - 1]


def _end(run: RunSeen | None) -> str:
    return "no run was started" if run is None else f"the run stands at {run.status}: {shown(run.error)}"


def _checked(check: dict[str, Json], body: bytes) -> Faults:
    raw = slice_at(body.decode("utf-8", "surrogatepass"), check["path"])
    ordered = bool(check.get("key_order"))
    for name in [key for key in check if key in _CHECKS and key != "key_order"]:
        yield from _one(name, check[name], raw, ordered=ordered)


def _one(name: str, wanted: Json, raw: str | None, *, ordered: bool) -> Faults:
    if name == "absent":
        if (raw is None) != bool(wanted):
            yield "it is there" if wanted else "it is missing"
        return
    held = None if raw is None else loads_spelled(raw.encode("utf-8", "surrogatepass"))
    if name == "one_of":
        if not any(raw is None if option == _ABSENT else raw is not None and same(held, option) for option in wanted):
            yield f"it is {_shown(raw)}, none of {shown(wanted)}"
    elif raw is None:
        yield f"there is nothing, but {name} was to be checked"
    elif name.startswith("raw_"):
        yield from _one_raw(name, wanted, _without_space(raw))
    elif name == "contains":
        yield from _contains(wanted, held)
    elif name == "equals":
        if not same(held, wanted, ordered=ordered):
            yield f"it is {_shown(raw)}, not {shown(wanted)}"
    elif name == "length":
        if _length(held) != wanted:
            yield f"its length is not {wanted}: {_shown(raw)}"
    elif name == "type":
        if _type_of(held) != wanted and not (wanted == "number" and _type_of(held) == "integer"):
            yield f"it is no {wanted}: {_shown(raw)}"
    elif _is_object_text(held) != bool(wanted):
        yield f"it is {'no' if wanted else 'a'} text of a JSON object: {_shown(raw)}"


def _one_raw(name: str, wanted: Json, compact: str) -> Faults:
    match name, wanted:
        case "raw_contains", _:
            yield from (f"{text!r} is not in it" for text in _texts_of(wanted) if text not in compact)
        case "raw_absent", _:
            yield from (f"{text!r} is in it" for text in _texts_of(wanted) if text in compact)
        case _, ([str() as text, count] | {"text": str() as text, "count": count}):
            yield from _counted(compact, text, count)
        case _:
            for text, count in an_object(wanted, "raw_count").items():
                yield from _counted(compact, text, count)


def _counted(compact: str, text: str, wanted: Json) -> Faults:
    if compact.count(text) != wanted:
        yield f"{text!r} is in it {compact.count(text)} times, not {wanted}"


def _length(held: Json) -> int | None:
    return len(held) if isinstance(held, str) or is_list(held) or is_object(held) else None


def _type_of(held: Json) -> str:
    match held:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _contains(wanted: Json, held: Json) -> Faults:
    """A part of a text, an element of a list, or members of an object."""
    if is_list(held):
        if not any(same(item, wanted) or (is_object(wanted) and is_within(wanted, item)) for item in held):
            yield f"no element is {shown(wanted)}: {shown(held)}"
    elif isinstance(held, str):
        yield from (f"{text!r} is not in {shown(held)}" for text in _texts_of(wanted) if text not in held)
    elif not is_within(wanted, held):
        yield f"it has no {shown(wanted)}: {shown(held)}"


def _texts_of(wanted: Json) -> list[str]:
    return [wanted] if isinstance(wanted, str) else wanted


def _without_space(raw: str) -> str:
    """The text without the white space that JSON does not mean: strings, numbers and escapes stay as they are."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|\s+', lambda found: found.group(1) or "", raw, flags=re.DOTALL)


def _dotted(value: Json, path: str) -> Json:
    for step in path.split("."):
        value = value.get(step) if is_object(value) else None
    return value


def _is_object_text(held: Json) -> bool:
    try:
        return isinstance(held, str) and is_object(loads(held))
    except ValueError:
        return False


def _texts(body: Json) -> Iterator[str]:
    """Every text block of a request: parts that say so, and contents that are texts."""
    if is_object(body):
        for key, member in body.items():
            if isinstance(member, str) and (key == "text" or (key == "content" and "tool_call_id" not in body)):
                yield member
            elif key not in ("tools", "arguments", "input", "args") or is_list(member):
                yield from _texts(member)
    elif is_list(body):
        for member in body:
            yield from _texts(member)


def _shown(raw: str | None) -> str:
    return "nothing" if raw is None else shown(raw)
