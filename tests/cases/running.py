"""A unit is run by the room of its kind, and judged by what is expected of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from treadle.graph.jsontext import Json

from .checks import what_is_wrong
from .expects.measured import paths_went_well
from .faults import CaseFault, only
from .kinds import (
    chat_file,
    commit,
    encode_only,
    events,
    journal_bytes,
    journal_fault,
    journal_write,
    model_turns,
    paths,
    render_all_builtin_tools,
    run_growth,
    run_script,
    schema_render,
    skill_archive,
    skill_md,
    skill_store,
    start_run,
    state_roundtrip,
    tool_calls,
    workspace_id,
    world_info,
)
from .loading import Folder, Together, Unit
from .observed import Observed

KINDS: Mapping[str, ModuleType] = {
    room.__name__.rpartition(".")[2]: room
    for room in (
        chat_file, commit, encode_only, events, journal_bytes, journal_fault, journal_write, model_turns, paths,
        render_all_builtin_tools, run_growth, run_script, schema_render, skill_archive, skill_md,
        skill_store, start_run, state_roundtrip, tool_calls,
        workspace_id, world_info,
    )
}  # fmt: skip


def observe(given: dict[str, Json]) -> Observed:
    """Run it; raises CaseFault for a kind or key that the runner does not know, and whatever the product raises."""
    kind = given["kind"]
    if kind not in KINDS:
        raise CaseFault(f"the runner has no room for the kind {kind}")
    room = KINDS[kind]
    only(given, {"kind", *room.KEYS}, f"given of kind {kind}")
    run: Callable[[dict[str, Json]], Observed] = room.run
    return run(given)


def judge(unit: Unit) -> list[str]:
    """What is wrong with the unit, in words; an empty list is a pass."""
    if not any(unit.expects):
        raise CaseFault(f"{unit.name} expects nothing, so it can't fail")
    seen = observe(unit.given)
    wrong = [fault for expect in unit.expects for fault in what_is_wrong(expect, seen)]
    return [*wrong, *paths_went_well(seen)]


def judge_together(together: Together) -> list[str]:
    """Whether the named fact is the same in all of the units."""
    values = {unit.name: observe(unit.given).fact(together.key) for unit in together.units}
    first, *rest = values.values()
    return [] if all(value == first for value in rest) else [f"{together.key} differs: {values}"]


def is_needed(line: str, folder: Folder) -> bool:
    """Whether a case under this line of what is unsupported does not pass."""
    return any(not passes(unit) for unit in folder.under(line))


def passes(unit: Unit) -> bool:
    """Whether the unit would pass; whatever goes wrong with a unit that is not supported is a no."""
    try:
        return not judge(unit)
    except Exception:  # noqa: BLE001 - what is not built may fail in any way, and that is what is asked here
        return False
