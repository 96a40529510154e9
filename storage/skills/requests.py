"""What people and programs ask of the skills, as JSON in and out: the words of `api.skill`. Blocking."""

from __future__ import annotations

import base64

from ...graph.jsontext import Json, is_object
from ...graph.text import sha256_bytes
from ..disk import Disk
from .archive import packed
from .fields import Fields, refused
from .imports import imported
from .manifest import MANIFEST, checked_name
from .package import file_ref, skill_path
from .ranges import MOST_CHARS, Range, part_of
from .store import STRATEGIES, SkillStore

_ANY_SCOPE = ("global", "all")


class SkillRequests:
    """Every method raises SkillRefused for a bad request, naming the field, and what the store raises.

    There is one scope, `{"kind": "global"}`; it may be named or left out.
    """

    def __init__(self, store: SkillStore, disk: Disk) -> None:
        self._store = store
        self._disk = disk

    def listing(self, request: Json = None) -> dict[str, Json]:
        """`{scope?}` to `{skills: [entry], repairs: [text]}`: what was mended is told."""
        fields = Fields({} if request is None else request, "", ("scope",))
        _check_scope(fields, "scope", _ANY_SCOPE)
        found = self._store.listing()
        return {"skills": [entry.to_json() for entry in found.skills], "repairs": list(found.repairs)}

    def preview(self, request: Json) -> dict[str, Json]:
        """`{input, targetScope?}`, or the input alone, to `{skill, files, conflict, warnings, source}`."""
        bare = is_object(request) and "kind" in request and "input" not in request
        fields = Fields({"input": request} if bare else request, "", ("input", "targetScope"))
        _check_scope(fields, "targetScope")
        found = imported(fields.any("input"), self._disk)
        conflict = self._store.conflict(found.package)
        told: dict[str, Json] = {"kind": conflict.kind}
        if conflict.installed_hash is not None:
            told["installedHash"] = conflict.installed_hash
        return {
            "skill": self._store.entry_for(found).to_json(),
            "files": [file_ref(path, data) for path, data in found.package.files.items()],
            "conflict": told,
            "warnings": list(found.warnings),
            "source": found.source,
        }

    def install(self, request: Json) -> dict[str, Json]:
        """`{input, targetScope?, conflictStrategy?: "skip" | "replace"}` to `{scope, name, action, skill?}`."""
        fields = Fields(request, "", ("input", "targetScope", "conflictStrategy"))
        _check_scope(fields, "targetScope")
        strategy = fields.choice("conflictStrategy", STRATEGIES)
        found = imported(fields.any("input"), self._disk)
        done = self._store.install(found, next((each for each in STRATEGIES if each == strategy), None))
        told: dict[str, Json] = {"scope": {"kind": "global"}, "name": found.package.name, "action": done.action}
        return told if done.skill is None else {**told, "skill": done.skill.to_json()}

    def read_file(self, request: Json) -> dict[str, Json]:
        """`{name, path?, startLine?, lineCount?, startChar?, maxChars?}` to the text, its measures and `resourceRef`."""
        known = ("name", "path", "scope", "startLine", "lineCount", "startChar", "maxChars")
        fields = Fields(request, "", known)
        _check_scope(fields, "scope")
        asked = Range(
            fields.integer("startLine", 1),
            fields.integer("lineCount", 1),
            fields.integer("startChar", 0),
            fields.integer("maxChars", 1, MOST_CHARS) or MOST_CHARS,
        )
        name, path = checked_name(fields.text("name")), skill_path(fields.optional_text("path") or MANIFEST)
        return part_of(name, path, self._store.read(name, path), asked)

    def list_files(self, request: Json) -> list[dict[str, Json]]:
        """`{name}` to `[{path, kind, mediaType, sizeBytes, sha256}]`."""
        return [file_ref(path, data) for path, data in self._store.contents(_name(request)).items()]

    def write_file(self, request: Json) -> dict[str, Json]:
        """`{name, path, content, expectedSha256?}` to `{name, file, skill}`."""
        fields = Fields(request, "", ("name", "path", "scope", "content", "expectedSha256"))
        _check_scope(fields, "scope")
        name, path = checked_name(fields.text("name")), skill_path(fields.text("path"))
        text = fields.content("content")
        entry = self._store.write_file(name, path, text, fields.optional_text("expectedSha256"))
        return {"name": name, "file": file_ref(path, text.encode("utf-8")), "skill": entry.to_json()}

    def export(self, request: Json) -> dict[str, Json]:
        """`{name}` to `{fileName, contentBase64, sha256}`: a zip of the files alone, so it imports with the same hash."""
        name = _name(request)
        data = packed(self._store.contents(name))
        return {
            "fileName": f"{name}.zip",
            "contentBase64": base64.b64encode(data).decode("ascii"),
            "sha256": sha256_bytes(data),
        }

    def delete(self, request: Json) -> dict[str, Json]:
        """`{name}` to `{name}`."""
        name = _name(request)
        self._store.delete(name)
        return {"name": name}

    def repair(self) -> dict[str, Json]:
        """The index anew from the folders: `{skills, repairs}`; a damaged one is kept aside."""
        found = self._store.repair()
        return {"skills": [entry.to_json() for entry in found.skills], "repairs": list(found.repairs)}


def _name(request: Json) -> str:
    fields = Fields(request, "", ("name", "scope"))
    _check_scope(fields, "scope")
    return checked_name(fields.text("name"))


def _check_scope(fields: Fields, key: str, kinds: tuple[str, ...] = ("global",)) -> None:
    if fields.any(key) is None:
        return
    kind = Fields(fields.any(key), fields.path(key), ("kind",)).any("kind")
    if kind not in kinds:
        raise refused(f"{fields.path(key)}.kind", f"must be {' or '.join(kinds)}; there are no other scopes here")
