"""Expectations of what one kind of case measures: pages, chats, paths, schemas, ids."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treadle.graph.jsontext import Json, is_list, is_object

from ..faults import CaseFault, an_object, only, shown
from ..observed import Chat, Observed, Result

Faults = Iterator[str]


def fact(name: str, value: Json, seen: Observed) -> Faults:
    """The fact of this name is that value."""
    if seen.fact(name) != value:
        yield f"it is {shown(seen.fact(name))}"


def at_most(name: str, value: Json, seen: Observed) -> Faults:
    if not seen.fact(name) <= value:
        yield f"it is {seen.fact(name)}"


def read_seqs_one_of(value: Json, seen: Observed) -> Faults:
    if seen.fact("read_seqs") not in value:
        yield f"read were {shown(seen.fact('read_seqs'))}"


def seqs(value: Json, seen: Observed) -> Faults:
    yield from _sequence(value, seen.fact("seqs"))


def delivered(value: Json, seen: Observed) -> Faults:
    """How many events, which, or the sequence they make."""
    got = seen.fact("delivered")
    if is_object(value):
        yield from _sequence(value, got)
    elif (got if is_list(value) else len(got)) != value:
        yield f"delivered were {shown(got)}"


def empty_ok(value: Json, seen: Observed) -> Faults:
    for place in value:
        if seen.fact("pages")[place] != []:
            yield f"call {place} gave {shown(seen.fact('pages')[place])}"


def rejected_or_clamped(value: Json, seen: Observed) -> Faults:
    """Refused with an error of ours, or a page of a usual size; never a crash, and never all there is."""
    for place in value:
        page = seen.fact("pages")[place]
        if page is not None and len(page) > 500:
            yield f"call {place} gave {len(page)} events"


def committed(value: Json, seen: Observed) -> Faults:
    done = bool(seen.the_run().of_type("chat_commit_completed")) and bool(_chat(seen).saved)
    if done != bool(value):
        yield f"it was not: {seen.error_texts()}" if value else "it was"


def host_commits(value: Json, seen: Observed) -> Faults:
    if len(_chat(seen).saved) != value:
        yield f"the host saved {len(_chat(seen).saved)}"


def chat_messages_created(value: Json, seen: Observed) -> Faults:
    if _chat(seen).created != value:
        yield f"{_chat(seen).created} were created"


def chat_message_text(value: Json, seen: Observed) -> Faults:
    last = _chat(seen).messages[-1:]
    if not last or last[0].get("mes") != value:
        yield f"the last message is {shown(last)}"


def message_count(value: Json, seen: Observed) -> Faults:
    """As the run counts them; where there is no run, those of the file."""
    run = seen.run
    counted = run.json("run.json")["inputMessageCount"] if run is not None else len(_chat(seen).messages)
    if counted != value:
        yield f"there are {counted}: {seen.errors}"


def file_unchanged(value: Json, seen: Observed) -> Faults:
    if (_chat(seen).before == _chat(seen).after) != bool(value):
        yield "the chat file was changed" if value else "the chat file was not changed"


def reject(value: Json, seen: Observed) -> Faults:
    yield from _outcomes("reject", value, seen)


def accept(value: Json, seen: Observed) -> Faults:
    yield from _outcomes("accept", value, seen)


def host_read(value: Json, seen: Observed) -> Faults:
    only(value, ("rejected",), "host_read")
    yield from (
        f"read {place}: rejected: {rejected}"
        for place, rejected in enumerate(seen.fact("host_read"))
        if rejected != value["rejected"]
    )


def nothing_outside(value: Json, seen: Observed) -> Faults:
    strays = seen.fact("nothing_outside")
    if bool(strays) == bool(value):
        yield f"outside are {strays}"


def no_successful_access_through_link(value: Json, seen: Observed) -> Faults:
    """No call through a link succeeds, and no result at all shows what lies behind one."""
    found = [f"{shown(asked)} succeeded" for asked, went in seen.fact("through_link") if went and not went.is_error]
    told = "\n".join(f"{result.content}\n{shown(result.structured, 100_000)}" for result in seen.all_results())
    found += [f"a result shows {name!r}" for name in seen.fact("outside_names") if name in told]
    if bool(found) == bool(value):
        yield "; ".join(found) or "nothing was reached"


def rendered(value: Json, seen: Observed) -> Faults:
    only(
        value,
        (
            "pointers",
            "absent_pointers",
            "absent_keywords",
            "property_names",
            "enum_only_strings",
            "no_list_under_keyword",
        ),
        "rendered",
    )
    schema = seen.fact("rendered")
    for pointer, wanted in value.get("pointers", {}).items():
        found = _at(schema, pointer)
        if found != [wanted]:
            yield f"at {pointer} is {shown(found)}"
    yield from (f"there is a {pointer}" for pointer in value.get("absent_pointers", []) if _at(schema, pointer))
    schemas = list(_schemas(schema))
    for keyword in value.get("absent_keywords", []):
        if any(keyword in held for held in schemas):
            yield f"the keyword {keyword} is there: {shown(schema)}"
    names = value.get("property_names")
    if names is not None and set(schema.get("properties", {})) != set(names):
        yield f"the properties are {list(schema.get('properties', {}))}"
    enums = [held["enum"] for held in schemas if "enum" in held]
    if value.get("enum_only_strings") and not all(isinstance(item, str) for enum in enums for item in enum):
        yield f"an enum holds what is no string: {shown(enums)}"
    for keyword in _list(value.get("no_list_under_keyword", [])):
        if any(is_list(held.get(keyword)) for held in schemas):
            yield f"there is a list under {keyword}: {shown(schema)}"


def tool_strict_one_of(value: Json, seen: Observed) -> Faults:
    strict = an_object(seen.fact("tool"), "the tool").get("strict")
    if strict not in value:
        yield f"it is {strict!r}"


def names_match(value: Json, seen: Observed) -> Faults:
    for provider_format, names in seen.fact("names").items():
        yield from (f"{provider_format}: {name!r} does not" for name in names if not re.search(value, name))


def names_unique(value: Json, seen: Observed) -> Faults:
    for provider_format, names in seen.fact("names").items():
        if (len(set(names)) == len(names)) != bool(value):
            yield f"{provider_format}: {names}"


def count(value: Json, seen: Observed) -> Faults:
    for provider_format, names in seen.fact("names").items():
        if len(names) != value:
            yield f"{provider_format}: there are {len(names)}"


def distinct(value: Json, seen: Observed) -> Faults:
    if len(set(seen.fact("ids"))) != value:
        yield f"the ids are {seen.fact('ids')}"


def regex(value: Json, seen: Observed) -> Faults:
    yield from (f"{found!r} does not match" for found in seen.fact("ids") if not re.search(value, found))


def paths_went_well(seen: Observed) -> Faults:
    """What `accept` and `accept_or_recoverable_error` say by themselves, without an expectation."""
    for group, tolerant in (("accept", False), ("accept_or_recoverable_error", True)):
        for place, result in enumerate(seen.facts.get(group, [])):
            if result is None or (result.is_error and not (tolerant and result.recoverable)):
                yield f"{group}[{place}] was refused: {result.content if result else 'no answer'}"


def _outcomes(group: str, value: Json, seen: Observed) -> Faults:
    only(value, ("is_error", "recoverable", "error_code_any_of"), group)
    for place, result in enumerate(seen.fact(group)):
        yield from (f"path {place}: {fault}" for fault in _outcome(value, result))


def _outcome(value: dict[str, Json], result: Result | None) -> Faults:
    if result is None:
        yield "the call was never answered"
        return
    for key in ("is_error", "recoverable"):
        if key in value and getattr(result, key) is not bool(value[key]):
            yield f"{key} is {getattr(result, key)}: {result.error_code}: {result.content}"
    if "error_code_any_of" in value and result.error_code not in value["error_code_any_of"]:
        yield f"the code is {result.error_code}: {result.content}"


def _sequence(value: Json, found: list[int]) -> Faults:
    only(value, ("from", "to", "contiguous", "duplicates", "count"), "seqs")
    facts: dict[str, Json] = {
        "from": found[0] if found else None,
        "to": found[-1] if found else None,
        "contiguous": sorted(set(found)) == list(range(min(found), max(found) + 1)) and sorted(found) == found
        if found
        else False,
        "duplicates": len(found) - len(set(found)),
        "count": len(found),
    }
    yield from (f"{key} is {facts[key]}" for key in value if facts[key] != value[key])


def _chat(seen: Observed) -> Chat:
    if seen.chat is None:
        raise CaseFault("this kind of case has no chat")
    return seen.chat


def _at(schema: Json, pointer: str) -> list[Json]:
    """What is at a JSON pointer, in a list; nothing is an empty one."""
    held = schema
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if is_object(held) and name in held:
            held = held[name]
        elif is_list(held) and name.isdigit() and int(name) < len(held):
            held = held[int(name)]
        else:
            return []
    return [held]


_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "const", "default", "examples", "required", "type")


def _schemas(schema: Json) -> Iterator[dict[str, Json]]:
    """Every schema in it: names of properties are no keywords, and data is no schema."""
    if is_list(schema):
        for item in schema:
            yield from _schemas(item)
    elif is_object(schema):
        yield schema
        for keyword, value in schema.items():
            if keyword in _NAMED and is_object(value):
                yield from (found for held in value.values() for found in _schemas(held))
            elif keyword not in _DATA:
                yield from _schemas(value)


def _list(value: Json) -> list[Json]:
    return value if is_list(value) else [value]
