"""Expectations of the run itself: how it ended, what its journal tells, what its folder holds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treadle.graph.jsontext import Json, dumps, is_list, is_object, loads

from ..faults import CaseFault, an_object, only, shown
from ..observed import Observed

Faults = Iterator[str]

_RUN = (
    "status", "status_not", "error_code_any_of", "error_code_none_of", "error_code_prefix", "retryable",
    "message_contains", "upstream_calls", "started",
)  # fmt: skip


def run(value: Json, seen: Observed) -> Faults:
    only(value, _RUN, "run")
    for key, wanted in value.items():
        yield from (f"{key}: {fault}" for fault in _of_run(key, wanted, seen))


def error_code_any_of(value: Json, seen: Observed) -> Faults:
    """A commit's own code, else that of the run, else that of the start."""
    codes = _failed_commits(seen) + _codes(seen)
    if not set(codes) & set(value):
        yield f"the codes are {codes}"


def events_contain(value: Json, seen: Observed) -> Faults:
    types = seen.the_run().types
    yield from (f"no {event} is in the journal" for event in value if event not in types)


def events_absent(value: Json, seen: Observed) -> Faults:
    types = seen.the_run().types
    yield from (f"{event} is in the journal" for event in value if event in types)


def event_counts(value: Json, seen: Observed) -> Faults:
    types = seen.the_run().types
    for event, count in value.items():
        if types.count(event) != count:
            yield f"{event} is {types.count(event)} times in the journal, not {count}"


def last_event(value: Json, seen: Observed) -> Faults:
    last = seen.the_run().types[-1:]
    if last != [value]:
        yield f"the last event is {last}"


def event_payload_absent(value: Json, seen: Observed) -> Faults:
    """Texts that no payload holds; or such texts by the type of the event."""
    by_type = value if is_object(value) else {"": value}
    for event_type, texts in by_type.items():
        for event in seen.the_run().events:
            if event_type in ("", event["type"]):
                payload = dumps(event.get("payload")).decode("utf-8", "replace")
                yield from (f"{event['type']} holds {text!r}" for text in _list(texts) if text in payload)


def journal_must_not_contain(value: Json, seen: Observed) -> Faults:
    journal = seen.the_run().journal.decode("utf-8", "replace")
    yield from (f"the journal holds {text!r}" for text in value if text in journal)


def every_line_parses(value: Json, seen: Observed) -> Faults:
    *lines, rest = seen.the_run().journal.split(b"\n")
    whole = not rest and all(is_object(_value(line)) for line in lines)
    if whole != bool(value):
        yield "every line parses" if whole else "a line of the journal is no object, or the last has no end"


def torn_tail_reported(value: Json, seen: Observed) -> Faults:
    if ("journal_tail_repaired" in seen.the_run().types) != bool(value):
        yield "the torn tail is not reported" if value else "a torn tail is reported"


def files(value: Json, seen: Observed) -> Faults:
    yield from _files(value, seen, "text")


def files_hex(value: Json, seen: Observed) -> Faults:
    yield from _files(value, seen, "hex")


def error_mentions(value: Json, seen: Observed) -> Faults:
    told = "\n".join(seen.error_texts()).lower()
    yield from (f"no error mentions {text!r}: {shown(told)}" for text in _list(value) if text.lower() not in told)


def error_mentions_any(value: Json, seen: Observed) -> Faults:
    told = "\n".join(seen.error_texts()).lower()
    if not any(text.lower() in told for text in value):
        yield f"no error mentions any of {shown(value)}: {shown(told)}"


def fatal(value: Json, seen: Observed) -> Faults:
    if _is_fatal(seen) != bool(value):
        yield "the run did not fail" if value else f"it failed: {seen.error_texts()}"


def no_crash(value: Json, seen: Observed) -> Faults:
    crashed = "agent.internal_error" in _codes(seen)
    if crashed == bool(value):
        yield f"an internal error came: {seen.error_texts()}" if crashed else "no internal error came"


def rejected_at_start_or_tool_error(value: Json, seen: Observed) -> Faults:
    failed = _is_fatal(seen) or any(result.is_error for result in seen.all_results())
    if failed != bool(value):
        yield "nothing failed" if value else "something failed"


def run_dirs_created(value: Json, seen: Observed) -> Faults:
    if seen.fact("run_dirs_created") != value:
        yield f"{seen.fact('run_dirs_created')} run folders were made"


def audit(value: Json, seen: Observed) -> Faults:
    only(value, ("file_name_regex", "json_contains_id", "args_recoverable_per_round"), "audit")
    run = seen.the_run()
    held = {path.removeprefix("tool-args/"): data for path, data in run.files.items() if path.startswith("tool-args/")}
    if not held:
        yield "there is no audit file"
    if "file_name_regex" in value:
        yield from (f"a file is named {name!r}" for name in held if not re.search(value["file_name_regex"], name))
    for wanted in _list(value.get("json_contains_id", [])):
        spelled = dumps(wanted)[1:-1]
        if not any(spelled in data for data in (run.journal, *held.values())):
            yield f"neither the journal nor a file holds the id {wanted!r}"
    if "args_recoverable_per_round" in value:
        yield from _recoverable(value["args_recoverable_per_round"], seen)


def _recoverable(wanted: Json, seen: Observed) -> Faults:
    """The arguments of each call can be read back by its round; `wanted`: true, or what they are, round by round."""
    run = seen.the_run()
    asked = run.of_type("tool_call_requested")
    for told in asked:
        stored = run.json(f"model-responses/round-{told['round']:03d}.json")["response"]["toolCalls"]
        sent = [call["arguments"] for call in stored if call["id"] == told["callId"]]
        if run.json(told["argumentsRef"]) not in sent:
            yield f"{told['argumentsRef']} does not hold the arguments of {told['callId']!r} in round {told['round']}"
    if wanted is True:
        return
    by_round = wanted if is_object(wanted) else {str(place + 1): held for place, held in enumerate(wanted)}
    for number, arguments in by_round.items():
        held = [run.json(told["argumentsRef"]) for told in asked if str(told["round"]) == number]
        if arguments not in (held, *held):
            yield f"the arguments of round {number} are {shown(held)}"


def _of_run(key: str, wanted: Json, seen: Observed) -> Faults:
    codes, error = _codes(seen), seen.run.error if seen.run is not None else None
    match key:
        case "started":
            if (seen.run is not None) != bool(wanted):
                yield f"the run was {'started' if seen.run else f'refused: {seen.errors}'}"
        case "status":
            if _status(seen) != wanted:
                yield f"it is {_status(seen)}: {shown(error)}"
        case "status_not":
            if _status(seen) == wanted:
                yield f"it is {wanted}: {shown(error)}"
        case "error_code_any_of":
            if not set(codes) & set(wanted):
                yield f"the codes are {codes}"
        case "error_code_none_of":
            yield from (f"the code is {code}" for code in codes if code in wanted)
        case "error_code_prefix":
            if not any(code.startswith(wanted) for code in codes):
                yield f"the codes are {codes}"
        case "retryable":
            if error is None or error.get("retryable") is not wanted:
                yield f"the error is {shown(error)}"
        case "message_contains":
            told = "\n".join(seen.error_texts())
            yield from (f"no error says {text!r}: {shown(told)}" for text in _list(wanted) if text not in told)
        case _:
            if len(seen.requests()) != wanted:
                yield f"{len(seen.requests())} requests were sent"


def _status(seen: Observed) -> str:
    if seen.run is None:
        raise CaseFault(f"no run was started, so it has no status: {seen.errors}")
    return seen.run.status


def _codes(seen: Observed) -> list[str]:
    error = seen.run.error if seen.run is not None else None
    return ([error["code"]] if error is not None else []) + seen.codes


def _failed_commits(seen: Observed) -> list[str]:
    """The code that the host gave; it stands in front of the event's message."""
    failed = seen.run.of_type("chat_commit_failed") if seen.run is not None else []
    return [str(told["message"]).split(":", 1)[0] for told in failed]


def _is_fatal(seen: Observed) -> bool:
    return bool(seen.errors) or (seen.run is not None and seen.run.error is not None)


def _files(value: Json, seen: Observed, spelled: str) -> Faults:
    held = seen.the_run().files
    for path, wanted in an_object(value, "files").items():
        data = held.get(path)
        if wanted is None:
            if data is not None:
                yield f"{path} exists"
        elif data is None:
            yield f"{path} does not exist"
        else:
            shows = data.hex() if spelled == "hex" else data.decode("utf-8", "backslashreplace")
            if shows != (wanted.lower() if spelled == "hex" else wanted):
                yield f"{path} holds {shown(shows)!r}"


def _value(line: bytes) -> Json:
    try:
        return loads(line)
    except ValueError:
        return None


def _list(value: Json) -> list[Json]:
    return value if is_list(value) else [value]
