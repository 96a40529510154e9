"""`skill_store`: an index and folders that may not agree, and what listing, reading and importing make of them."""

from __future__ import annotations

from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json, dumps, is_list
from treadle.storage.skills.index import entry_of, index_bytes
from treadle.storage.skills.manifest import MANIFEST
from treadle.storage.skills.package import packaged

from ..faults import CaseFault, a_list, only, step_of
from ..observed import Observed
from ..skilled import SkillStage, inline, skill_md, skill_stage, tell

KEYS = frozenset({"index", "installed", "then"})


def run(given: dict[str, Json]) -> Observed:
    seen = Observed()
    named: list[str] = [*(given.get("index") or []), *given.get("installed", [])]
    with skill_stage() as stage:
        _lay_out(stage, given)
        for place, step in enumerate(a_list(given.get("then", ["list"]), "then")):
            name, asked = step_of(step, f"then[{place}]")
            try:
                _take(stage, name, _named(asked, named), seen)
            except TreadleError as error:
                tell(seen, error)
        staging = stage.store.root / ".staging"
        seen.facts["staging_empty"] = not staging.exists() or not list(staging.iterdir())
        try:
            seen.facts["installed"] = stage.names()
        except TreadleError as error:
            tell(seen, error)
            seen.facts["installed"] = []
    return seen


def _lay_out(stage: SkillStage, given: dict[str, Json]) -> None:
    """`index` is a list of names, the file's text, a document, or null where there is none."""
    for name in given.get("installed", []):
        (stage.installed / name).mkdir(parents=True)
        (stage.installed / name / MANIFEST).write_bytes(skill_md(name).encode())
    index = given.get("index")
    if index is None:
        return
    stage.index.parent.mkdir(parents=True, exist_ok=True)
    if is_list(index):
        packages = [packaged([(MANIFEST, skill_md(name).encode())]) for name in dict.fromkeys(index)]
        stage.index.write_bytes(index_bytes(entry_of(package, "2026-01-01T00:00:00.000Z") for package in packages))
    else:
        stage.index.write_bytes(index.encode() if isinstance(index, str) else dumps(index))


def _named(asked: Json, named: list[str]) -> dict[str, Json]:
    """What a step is about: a name, an object with one, or the first that the case names."""
    if isinstance(asked, str):
        return {"name": asked}
    return {"name": named[0] if named else "demo-skill", **asked}


def _take(stage: SkillStage, step: str, asked: dict[str, Json], seen: Observed) -> None:
    match step:
        case "list":
            seen.facts["listed"] = [entry["name"] for entry in stage.requests.listing()["skills"]]
        case "read":
            seen.facts["read"] = stage.requests.read_file(asked)["text"]
        case "import":
            only(asked, ("name", "text", "conflictStrategy"), "import")
            text = asked.get("text", skill_md(asked["name"]))
            done = stage.requests.install(
                {"input": inline(text.encode()), "conflictStrategy": asked.get("conflictStrategy")}
            )
            seen.facts["name"], seen.facts["action"] = done["name"], done["action"]
        case _:
            raise CaseFault(f"the runner knows no step {step} of a store")
