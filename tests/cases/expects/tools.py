"""Expectations of calls: whether they ran, and what the model was told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from treadle.graph.jsontext import Json, dumps, is_list, is_object

from ..faults import CaseFault, an_object, only, shown
from ..observed import NOT_EXECUTED, Observed, Result

Faults = Iterator[str]

_RESULT = (
    "is_error", "recoverable", "executed", "error_code_any_of", "error_code_none_of", "content_mentions_any",
    "content_mentions", "content_absent", "text_absent", "resource_refs_contain", "count", "count_one_of", "hits",
    "deterministic", "messages",
)  # fmt: skip


def tools(value: Json, seen: Observed) -> Faults:
    run = seen.the_run()
    for wanted in value:
        only(wanted, ("call_id", *_RESULT), "an entry of tools")
        call_id = wanted["call_id"]
        found = run.result(call_id)
        yield from _judged(wanted, found, f"call {call_id}", partial(_call_again, seen, call_id))


def results(value: Json, seen: Observed) -> Faults:
    if seen.calls is None:
        raise CaseFault("this kind of case has no calls of its own")
    if len(value) > len(seen.calls):
        yield f"there are {len(seen.calls)} calls, but {len(value)} results are expected"
        return
    for place, wanted in enumerate(value):
        only(an_object(wanted, f"results[{place}]"), _RESULT, f"results[{place}]")
        yield from _judged(wanted, seen.calls[place], f"call {place}", partial(_place_again, seen, place))


def tools_executed(value: Json, seen: Observed) -> Faults:
    """The calls whose tool's own code ran: how many, or which."""
    run = seen.the_run()
    ran = [call_id for call_id in run.call_ids if run.executed(call_id)]
    if (ran if is_list(value) else len(ran)) != value:
        yield f"executed were {ran}"


def tools_executed_total(value: Json, seen: Observed) -> Faults:
    """Every time that a tool's own code ran, resumes included."""
    run = seen.the_run()
    refused = {
        (told["round"], told["callId"])
        for told in run.of_type("tool_call_failed")
        if told.get("errorCode") == NOT_EXECUTED
    }
    ran = [told for told in run.of_type("tool_call_started") if (told["round"], told["callId"]) not in refused]
    if len(ran) != value:
        yield f"tools ran {len(ran)} times"


def tool_start_count(value: Json, seen: Observed) -> Faults:
    started = [told["callId"] for told in seen.the_run().of_type("tool_call_started")]
    for call_id, count in value.items():
        if started.count(call_id) != count:
            yield f"call {call_id} was started {started.count(call_id)} times, not {count}"


def model_text_must_not_contain(value: Json, seen: Observed) -> Faults:
    for result in seen.all_results():
        told = _whole(result)
        yield from (f"the result of {result.call_id} holds {text!r}" for text in value if text in told)


def results_mark_damage(value: Json, seen: Observed) -> Faults:
    """A result says which line is damaged."""
    marked = any(
        "line" in result.content.lower() and "damage" in result.content.lower() for result in seen.all_results()
    )
    if marked != bool(value):
        yield "no result says which line is damaged" if value else "a result tells of damage"


def _judged(wanted: dict[str, Json], found: Result | None, where: str, repeat: Callable[[], Result | None]) -> Faults:
    if found is None:
        yield f"{where}: it was never answered"
        return
    for key, value in wanted.items():
        if key == "deterministic":
            if (_whole(found) == _whole_of(repeat())) != bool(value):
                yield f"{where}: {key}: repeated, it is {'another' if value else 'the same'} result"
        elif key != "call_id":
            yield from (f"{where}: {key}: {fault}" for fault in _of_result(key, value, found))


def _of_result(key: str, wanted: Json, found: Result) -> Faults:
    content = shown(found.content)
    match key:
        case "is_error" | "recoverable" | "executed":
            if getattr(found, key) is not bool(wanted):
                yield f"it is not so ({found.error_code}: {content})"
        case "error_code_any_of" | "error_code_none_of":
            if (found.error_code in wanted) != (key == "error_code_any_of"):
                yield f"the code is {found.error_code}: {content}"
        case "content_mentions_any":
            if not any(text.lower() in found.content.lower() for text in wanted):
                yield f"none is mentioned: {content}"
        case "content_mentions":
            yield from (f"{text!r} is not: {content}" for text in wanted if text.lower() not in found.content.lower())
        case "content_absent" | "text_absent":
            held = found.content if key == "content_absent" else _whole(found)
            yield from (f"{text!r} is there: {content}" for text in _list(wanted) if text in held)
        case "resource_refs_contain":
            refs = found.resource_refs
            yield from (f"{ref!r} is not among {list(refs)}" for ref in _list(wanted) if ref not in refs)
        case "messages":
            yield from _messages(wanted, found)
        case _:
            counted = _count(found) if key != "hits" else len(_held(found, "hits"))
            if counted not in (wanted if key == "count_one_of" else [wanted]):
                yield f"it is {counted}"


def _messages(wanted: Json, found: Result) -> Faults:
    held = _held(found, "messages")
    if len(held) != len(wanted):
        yield f"there are {len(held)}: {shown(held)}"
        return
    for place, (one, other) in enumerate(zip(held, wanted, strict=True)):
        only(other, ("index", "text"), f"messages[{place}]")
        yield from (f"messages[{place}].{key} is {shown(one[key])}" for key in other if one[key] != other[key])


def _count(found: Result) -> int:
    """Of what the result lists: entries, files, hits, messages, skills or matches."""
    lists = [value for value in found.structured.values() if is_list(value)] if is_object(found.structured) else []
    if len(lists) != 1:
        raise CaseFault(f"it is not clear what is counted in {shown(found.structured)}")
    return len(lists[0])


def _held(found: Result, key: str) -> list[Json]:
    held = found.structured.get(key) if is_object(found.structured) else None
    if not is_list(held):
        raise CaseFault(f"the result has no list of {key}: {shown(found.structured)}")
    return held


def _whole(result: Result) -> str:
    """All that the model sees of a result."""
    structured = dumps(result.structured).decode("utf-8", "replace")
    return "\n".join([result.content, structured, str(result.error_code), *result.resource_refs])


def _whole_of(result: Result | None) -> str | None:
    return None if result is None else _whole(result)


def _call_again(seen: Observed, call_id: str) -> Result | None:
    return _again(seen).the_run().result(call_id)


def _place_again(seen: Observed, place: int) -> Result | None:
    calls = _again(seen).calls
    return calls[place] if calls is not None else None


def _again(seen: Observed) -> Observed:
    if seen.again is None:
        raise CaseFault("this kind of case can't be repeated")
    return seen.again()


def _list(value: Json) -> list[Json]:
    return value if is_list(value) else [value]
