"""`skill_md`: a SKILL.md by itself, imported beside another skill."""

from __future__ import annotations

from treadle.graph.jsontext import Json
from treadle.storage.skills.manifest import MANIFEST

from ..observed import Observed
from ..skilled import inline, see_import

KEYS = frozenset({"text"})


def run(given: dict[str, Json]) -> Observed:
    data = given["text"].encode("utf-8", "surrogatepass")
    seen = see_import(inline(data))
    if "exported" in seen.facts:
        seen.facts["export_bytes_equal_import"] = seen.facts["exported"] == {MANIFEST: data}
    return seen
