"""The parts of the pages that are made from the code's tables: each function gives the lines of one of them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import profile_faults

from treadle.gateway.gateway import FORMATS
from treadle.graph.events import EventType, level_of
from treadle.graph.jsontext import Json
from treadle.graph.profiles.fields import FieldRow, fields, type_in_words
from treadle.graph.profiles.resolved import default_writer
from treadle.graph.status import FOLLOWERS, RunStatus
from treadle.graph.table import RETRY_TRANSITIONS, TRANSITIONS, Outcome, inside
from treadle.host.profile_starter import starter
from treadle.storage.skills import (
    archive as skill_archive,
)
from treadle.storage.skills import (
    manifest as skill_manifest,
)
from treadle.storage.skills import (
    package as skill_package,
)
from treadle.storage.skills import (
    ranges as skill_ranges,
)
from treadle.testkit.simulators.registry import SIMULATORS

NOTES: dict[str, Json] = tomllib.loads(Path(__file__).with_name("notes.toml").read_text("utf-8"))

_OWN_LEVELS = {
    EventType.MODEL_CALL_ATTEMPT_FAILED: "warn, error",
    EventType.TOOL_CALL_FAILED: "warn, error",
}
"""Of the events whose writers choose a level."""


def transitions() -> list[str]:
    return _edges({str(step): row for step, row in TRANSITIONS.items()})


def retry_transitions() -> list[str]:
    return _edges(
        {
            inside(step): {outcome: inside(after) for outcome, after in row.items()}
            for step, row in RETRY_TRANSITIONS.items()
        }
    )


def outcomes() -> list[str]:
    notes = _noted("outcomes", Outcome)
    return table(("outcome", "what happened"), ((_code(each), notes[each]) for each in Outcome))


def statuses() -> list[str]:
    notes = _noted("statuses", RunStatus)
    rows = ((_code(each), notes[each], _followers(each)) for each in RunStatus)
    return table(("status", "the run", "may be followed by"), rows)


def events() -> list[str]:
    notes = _noted("events", EventType)
    rows = ((_code(each), _level(each), notes[each]["when"], _payload(notes[each])) for each in EventType)
    return table(("event", "level", "when", "payload"), rows)


def formats() -> list[str]:
    rows = (
        (
            _code(name),
            _code(shape.NATIVE),
            *("yes" if mark else "" for mark in (shape.COUNTED, shape.CONTINUES, shape.STREAMS, name in SIMULATORS)),
        )
        for name, shape in sorted(FORMATS.items())
    )
    return table(("format", "native", "counted", "continues", "streams", "simulator"), rows)


def default_profile() -> list[str]:
    return fenced("json", json.dumps(default_writer().to_json(), indent=2, ensure_ascii=False))


def profile_fields() -> list[str]:
    return table(
        ("field", "type", "default", "meaning"),
        ((_code(row.path), row.type, _default(row), row.meaning) for row in fields()),
    )


def profile_codes() -> list[str]:
    return table(
        ("group", "code", "told at", "what must be so"),
        ((rule.group, _code(rule.code), _code(rule.path), rule.must) for rule in profile_faults.rules()),
    )


def profile_starter() -> list[str]:
    return fenced("jsonc", starter("night-writer"))


def skill_limits() -> list[str]:
    rows = (
        ("name", f"1 to {skill_manifest.NAME_BYTES} of `a-z 0-9 _ -`"),
        (_code(skill_manifest.MANIFEST), _size(skill_manifest.MOST_BYTES)),
        ("its front matter", _size(skill_manifest.MOST_FRONT_BYTES)),
        ("files", f"1 to {skill_package.MOST_FILES}"),
        ("a file", _size(skill_package.MOST_FILE_BYTES)),
        ("all files together", _size(skill_package.MOST_BYTES)),
        ("steps that no path may have", ", ".join(map(_code, skill_package.FORBIDDEN))),
        ("archives", " or ".join(map(_code, skill_archive.EXTENSIONS))),
        ("entries of an archive", str(skill_archive.MOST_ENTRIES)),
        ("an archived file", f"at most {skill_archive.MOST_RATIO} times as long as it is compressed"),
        ("characters read at once from outside a run", str(skill_ranges.MOST_CHARS)),
    )
    return table(("what", "limit"), rows)


def check_payloads(seen: Mapping[str, Sequence[Json]]) -> None:
    """Every payload that real runs wrote has the keys of its note, and every event that is not reserved was written."""
    for event, note in NOTES["events"].items():
        required = {key for key in note["payload"] if not key.endswith("?")}
        allowed = {key.removesuffix("?") for key in note["payload"]}
        payloads = [set(payload or {}) for payload in seen.get(event, ())]
        if bool(payloads) is note.get("reserved", False):
            raise SystemExit(f"{event}: reserved, yet written" if payloads else f"{event}: no sample run writes it")
        wrong = [keys for keys in payloads if not required <= keys <= allowed]
        if wrong and note["payload"] != ["…"]:
            raise SystemExit(f"{event}: the note says {note['payload']}, a run wrote {sorted(wrong[0])}")


def _noted(group: str, members: Iterable[str]) -> dict[str, Json]:
    notes: dict[str, Json] = NOTES[group]
    different = notes.keys() ^ {str(member) for member in members}
    if different:
        raise SystemExit(f"docs/notes.toml [{group}] and the code differ in: {', '.join(sorted(different))}")
    return notes


def _edges(rows: Mapping[str, Mapping[Outcome, str]]) -> list[str]:
    return table(
        ("step", "outcome", "next"),
        (
            (_code(step), _code(outcome), "the end" if after.endswith("__end__") else _code(after))
            for step, row in rows.items()
            for outcome, after in row.items()
        ),
    )


def _followers(status: RunStatus) -> str:
    after = FOLLOWERS[status]
    return ", ".join(_code(each) for each in RunStatus if each in after) or "nothing: the run has ended"


def _level(event: EventType) -> str:
    return _OWN_LEVELS.get(event) or str(level_of(event))


def _payload(note: Json) -> str:
    keys = note["payload"]
    return "as given" if keys == ["…"] else ", ".join(_code(key) for key in keys) or "null"


def argument_rows(schema: Json, above: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Argument, type, required and meaning; those of a list's items stand below it, as `messages[].index`."""
    required = schema.get("required", ())
    for name, given in schema["properties"].items():
        path = f"{above}{name}"
        yield _code(path), type_in_words(given, schema), "yes" if name in required else "", given["description"]
        if "properties" in given.get("items", ()):
            yield from argument_rows(given["items"], f"{path}[].")


def _default(row: FieldRow) -> str:
    if row.required:
        return "required"
    return "" if row.default is None else _code(json.dumps(row.default))


def fenced(language: str, text: str) -> list[str]:
    return [f"```{language}", *text.splitlines(), "```"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _size(count: int) -> str:
    whole, unit = (count // 1024**2, "MiB") if count >= 1024**2 else (count // 1024, "KiB")
    return f"{whole} {unit}"


def _code(text: str) -> str:
    return f"`{text}`"
