"""`worldinfo.read_activated`: the lore that was active when the run began, first as an index, then entry by entry."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import InvalidData, ToolRefused
from ...graph.jsontext import Json, is_object
from ...graph.messages import Annotations, ToolSpec
from ...graph.text import count_chars, count_words
from ..activation import ActivatedEntry, Activation, activation
from ..arguments.given import Given, array, given, refused, schema, shown, string
from ..files import counted
from ..ranges import FIELDS, MOST_ITEMS, Part, Range, asked_range, check_total, part
from ..tool import Answer, Bench

SPEC = ToolSpec(
    name="worldinfo.read_activated",
    title="Read activated lore",
    description=(
        "Read the lore entries that were active for this run. Without arguments: an index of all entries with their "
        "refs. With entries: the texts of those refs."
    ),
    input_schema=schema(
        {
            "entries": array(
                f"Entries to read: 1 to {MOST_ITEMS}. Leave it out for the index.",
                schema({"ref": string("The entry's ref as the index shows it."), **FIELDS}, required=("ref",)),
            )
        }
    ),
    annotations=Annotations(read_only=True, source_kind="worldInfo"),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    ref: str
    range: Range


@dataclass(frozen=True, slots=True)
class _Shown:
    entry: ActivatedEntry
    part: Part


def run(arguments: Json, bench: Bench) -> Answer:
    wanted = _asked(arguments)
    active = _active(bench)
    return _index(active) if wanted is None else _contents(active, [_shown(one, active) for one in wanted])


def _asked(arguments: Json) -> list[Wanted] | None:
    """None: the index."""
    fields = given(arguments)
    _check_keys(fields, "entries")
    if "entries" not in fields.fields:
        return None
    return [_wanted(item) for item in fields.items("entries", MOST_ITEMS)]


def _wanted(item: Given) -> Wanted:
    _check_keys(item, "ref", *FIELDS)
    return Wanted(item.text("ref"), asked_range(item))


def _check_keys(fields: Given, *known: str) -> None:
    for key in fields.fields:
        if key not in known:
            raise refused(f"{fields.where}{shown(key)} is not known here; take it out. Known: {', '.join(known)}.")


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


def _shown(wanted: Wanted, active: Activation) -> _Shown:
    entry = active.find(wanted.ref)
    if entry is None:
        raise ToolRefused(
            "worldinfo.entry_not_found",
            f"No active entry has the ref {shown(wanted.ref)}; call worldinfo_read_activated without arguments for "
            "those there are.",
        )
    return _Shown(entry, part(entry.content, wanted.range, name=entry.ref, code="worldinfo.invalid_entry_range"))


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
        f"world={entry.world_label}",
        f"chars={count_chars(entry.content)}",
        f"words={count_words(entry.content)}",
    ]
    if entry.position_label is not None:
        fields.append(f"position={entry.position_label}")
    if entry.constant:
        fields.append("constant")
    return " | ".join(fields)


def _contents(active: Activation, parts: list[_Shown]) -> Answer:
    check_total((one.part for one in parts), code="worldinfo.read_too_large")
    return Answer(
        "\n\n".join([f"{counted(len(parts), 'part')} of the active lore:", *map(_block, parts)]),
        {**_head("content", active), "entries": [_read(one) for one in parts]},
        tuple(one.entry.ref for one in parts),
    )


def _block(one: _Shown) -> str:
    entry, cut = one.entry, one.part
    fields = [
        entry.ref,
        entry.label,
        f"world={entry.world_label}",
        f"chars {cut.start_char}-{cut.end_char} of {cut.total_chars}",
        f"words {cut.words} of {cut.total_words}",
    ]
    if entry.position_label is not None:
        fields.append(f"position={entry.position_label}")
    if cut.truncated:
        fields.append("truncated")
    return f"{' | '.join(fields)}\n{cut.text}"


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


def _read(one: _Shown) -> dict[str, Json]:
    return {**_named(one.entry), **one.part.to_json(), "content": one.part.text, "ref": one.entry.ref}
