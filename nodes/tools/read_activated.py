"""`worldinfo.read_activated`: the lore that was active when the run began, first as an index, then entry by entry."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import InvalidData, ToolRefused
from ...graph.jsontext import Json, is_list, is_object
from ...graph.messages import Annotations, ToolSpec
from ...graph.text import count_chars, count_words
from ..activation import ActivatedEntry, Activation, activation
from ..arguments import Given, given, integer, refused, schema, shown, string
from ..files import counted
from ..tool import Answer, Bench

MOST_ENTRIES = 20
MOST_CHARS = 8_000
MOST_TOTAL_CHARS = 20_000

SPEC = ToolSpec(
    name="worldinfo.read_activated",
    title="Read activated lore",
    description=(
        "Read the lore entries that were active for this run. Without arguments: an index of all entries with their "
        "refs. With entries: the texts of those refs."
    ),
    input_schema=schema(
        {
            "entries": {
                "type": "array",
                "description": f"Entries to read: 1 to {MOST_ENTRIES}. Leave it out for the index.",
                "items": schema(
                    {
                        "ref": string("The entry's ref as the index shows it."),
                        "start_char": integer("First character to read, counted from 0; default 0."),
                        "max_chars": integer(
                            f"Most characters to read: 1 to {MOST_CHARS}. An entry longer than {MOST_CHARS} needs it."
                        ),
                    },
                    required=("ref",),
                ),
            }
        }
    ),
    annotations=Annotations(read_only=True),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    ref: str
    start_char: int = 0
    max_chars: int | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """What is shown of an entry."""

    entry: ActivatedEntry
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + count_chars(self.text)

    @property
    def truncated(self) -> bool:
        return count_chars(self.text) < count_chars(self.entry.content)


def run(arguments: Json, bench: Bench) -> Answer:
    wanted = _asked(arguments)
    active = _active(bench)
    return _index(active) if wanted is None else _contents(active, [_part(one, active) for one in wanted])


def _asked(arguments: Json) -> list[Wanted] | None:
    """None: the index."""
    fields = given(arguments)
    _check_keys(fields, ("entries",))
    if "entries" not in fields.fields:
        return None
    items = fields.fields["entries"]
    if not is_list(items):
        raise refused(f"entries must be a list, not {shown(items)}; leave it out for the index.")
    if not 1 <= len(items) <= MOST_ENTRIES:
        raise refused(f"entries must hold 1 to {MOST_ENTRIES} entries, not {len(items)}; leave it out for the index.")
    return [_wanted(item, f"entries[{place}]") for place, item in enumerate(items)]


def _wanted(item: Json, where: str) -> Wanted:
    if not is_object(item):
        raise refused(f"{where} must be an object with a ref, not {shown(item)}.")
    fields = Given(item)
    try:
        _check_keys(fields, ("ref", "start_char", "max_chars"))
        wanted = Wanted(fields.text("ref"), fields.number("start_char", 0), fields.optional_number("max_chars"))
        if wanted.max_chars is not None and not 1 <= wanted.max_chars <= MOST_CHARS:
            raise refused(f"max_chars must be 1 to {MOST_CHARS}, not {wanted.max_chars}.")
    except ToolRefused as refusal:
        raise ToolRefused(refusal.code, f"{where}.{refusal.message}") from refusal
    return wanted


def _check_keys(fields: Given, known: tuple[str, ...]) -> None:
    unknown = next((key for key in fields.fields if key not in known), None)
    if unknown is not None:
        raise refused(f"{shown(unknown)} is no argument of this tool; take it out. There is: {', '.join(known)}.")


def _active(bench: Bench) -> Activation:
    try:
        snapshot = bench.snapshot()
    except InvalidData as damaged:
        raise InvalidData(damaged.message, code="agent.invalid_prompt_snapshot_file") from damaged
    if not is_object(snapshot):
        raise InvalidData("the run's prompt snapshot must be an object", code="agent.invalid_prompt_snapshot_file")
    held = snapshot.get("worldInfoActivation")
    if held is None:
        raise ToolRefused(
            "worldinfo.activation_unavailable",
            "No record of activated lore came with this run's prompt; go on without it.",
        )
    return activation(held, "promptSnapshot.worldInfoActivation")


def _part(wanted: Wanted, active: Activation) -> _Part:
    entry = active.find(wanted.ref)
    if entry is None:
        raise ToolRefused(
            "worldinfo.entry_not_found",
            f"No active entry has the ref {shown(wanted.ref)}; call worldinfo_read_activated without arguments for "
            "those there are.",
        )
    total, start = count_chars(entry.content), wanted.start_char
    if start and start >= total:
        raise _bad_range(entry, f"start_char {start} is past its end: it has {counted(total, 'character')}.")
    if wanted.max_chars is None and total > MOST_CHARS:
        raise _bad_range(
            entry,
            f"it has {total} characters, more than {MOST_CHARS}; read it in parts with start_char and max_chars.",
        )
    return _Part(entry, start, entry.content[start:][: wanted.max_chars])


def _bad_range(entry: ActivatedEntry, why: str) -> ToolRefused:
    return ToolRefused("worldinfo.invalid_entry_range", f"{entry.ref}: {why}")


def _index(active: Activation) -> Answer:
    entries = active.entries
    how = "To read any of them, call worldinfo_read_activated with entries: [{ref}]."
    lines = [f"Active lore: {len(entries)} in all. {how}", *(_index_line(*one) for one in enumerate(entries, 1))]
    return Answer(
        "\n".join(lines) if entries else "No lore entry was activated for this run.",
        {**_head("index", active), "entries": [_listed(entry) for entry in entries]},
        tuple(entry.ref for entry in entries),
    )


def _index_line(number: int, entry: ActivatedEntry) -> str:
    fields = [
        f"{number}. {entry.ref}",
        entry.label,
        f"world={entry.world}",
        f"chars={count_chars(entry.content)}",
        f"words={count_words(entry.content)}",
    ]
    if entry.position is not None:
        fields.append(f"position={entry.position_label}")
    if entry.constant:
        fields.append("constant")
    return " | ".join(fields)


def _contents(active: Activation, parts: list[_Part]) -> Answer:
    total = sum(count_chars(part.text) for part in parts)
    if total > MOST_TOTAL_CHARS:
        raise ToolRefused(
            "worldinfo.read_too_large",
            f"Together that is {total} characters, more than the {MOST_TOTAL_CHARS} of one call; read fewer entries "
            "at a time, or parts of them.",
        )
    blocks = [f"{counted(len(parts), 'part')} of the active lore:", *(_block(part) for part in parts)]
    return Answer(
        "\n\n".join(blocks),
        {**_head("content", active), "entries": [_read(part) for part in parts]},
        tuple(part.entry.ref for part in parts),
    )


def _block(part: _Part) -> str:
    entry = part.entry
    fields = [
        entry.ref,
        entry.label,
        f"world={entry.world}",
        f"chars {part.start}-{part.end} of {count_chars(entry.content)}",
        f"words {count_words(part.text)} of {count_words(entry.content)}",
    ]
    if entry.position is not None:
        fields.append(f"position={entry.position_label}")
    if part.truncated:
        fields.append("truncated")
    return f"{' | '.join(fields)}\n{part.text}"


def _head(mode: str, active: Activation) -> dict[str, Json]:
    return {
        "mode": mode, "timestampMs": active.timestamp_ms, "trigger": active.trigger,
        "totalEntries": len(active.entries),
    }  # fmt: skip


def _named(entry: ActivatedEntry) -> dict[str, Json]:
    return {
        "world": entry.world, "uid": entry.uid, "displayName": entry.display_name, "constant": entry.constant,
        "position": entry.position,
    }  # fmt: skip


def _listed(entry: ActivatedEntry) -> dict[str, Json]:
    content = entry.content
    return {
        **_named(entry), "totalChars": count_chars(content), "totalWords": count_words(content), "ref": entry.ref,
    }  # fmt: skip


def _read(part: _Part) -> dict[str, Json]:
    content = part.entry.content
    return {
        **_named(part.entry), "chars": count_chars(part.text), "words": count_words(part.text),
        "totalChars": count_chars(content), "totalWords": count_words(content), "startChar": part.start,
        "endChar": part.end, "truncated": part.truncated, "content": part.text, "ref": part.entry.ref,
    }  # fmt: skip
