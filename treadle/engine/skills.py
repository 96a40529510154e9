"""`engine.skills`: the installed skills from Python, as `api.skill` has it. A run only reads them."""

from __future__ import annotations

from ..graph.jsontext import Json
from ..nodes.deps import in_thread
from ..storage.disk import Disk
from ..storage.skills.requests import SkillRequests
from ..storage.skills.store import SkillStore

Rows = list[dict[str, Json]]


class Skills:
    """Requests and answers are JSON objects in camelCase; each call is one hop to a thread.

    Raises SkillRefused (`skill.invalid_request`, `skill.conflict`) for what can't be done, naming the field or the file;
    SkillNotFound (`skill.not_found`); SkillIndexDamaged (`skill.index_damaged`), which `repair` mends; StorageFailed.
    """

    def __init__(self, store: SkillStore, disk: Disk) -> None:
        self._requests = SkillRequests(store, disk)

    async def list(self, request: Json = None) -> Rows:
        """The index entries by name."""
        found: Rows = (await self.listing(request))["skills"]
        return found

    async def listing(self, request: Json = None) -> dict[str, Json]:
        """`{skills, repairs}`: the same, with what was mended to tell so."""
        return await in_thread(lambda: self._requests.listing(request))

    async def preview_import(self, request: Json) -> dict[str, Json]:
        """`{input, targetScope?}`, or the input alone, to `{skill, files, conflict, warnings, source}`; installs nothing."""
        return await in_thread(lambda: self._requests.preview(request))

    async def install_import(self, request: Json) -> dict[str, Json]:
        """`{input, targetScope?, conflictStrategy?}` to `{scope, name, action, skill?}`."""
        return await in_thread(lambda: self._requests.install(request))

    async def read_file(self, request: Json) -> dict[str, Json]:
        """`{name, path?, startLine?, lineCount?, startChar?, maxChars?}` to the text and its measures."""
        return await in_thread(lambda: self._requests.read_file(request))

    async def list_files(self, request: Json) -> Rows:
        """`{name}` to `[{path, kind, mediaType, sizeBytes, sha256}]`."""
        return await in_thread(lambda: self._requests.list_files(request))

    async def write_file(self, request: Json) -> dict[str, Json]:
        """`{name, path, content, expectedSha256?}` to `{name, file, skill}`; a text file that is there, and no other."""
        return await in_thread(lambda: self._requests.write_file(request))

    async def export(self, request: Json) -> dict[str, Json]:
        """`{name}` to `{fileName, contentBase64, sha256}`."""
        return await in_thread(lambda: self._requests.export(request))

    async def delete(self, request: Json) -> dict[str, Json]:
        """`{name}` to `{name}`."""
        return await in_thread(lambda: self._requests.delete(request))

    async def repair(self) -> dict[str, Json]:
        """`{skills, repairs}`: the index anew from the installed folders; a damaged one is kept aside."""
        return await in_thread(self._requests.repair)

    export_skill = export
    delete_skill = delete
