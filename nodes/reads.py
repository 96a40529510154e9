"""What the model has seen of each file in this run: the rule that it may only change text it knows.

The state is never stored: it is a function of the calls and their stored results, and `observe` is the one way it
changes, live and when a run is resumed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..graph.jsontext import Json
from ..graph.messages import ToolResult
from ..graph.paths import WorkspacePath, parse
from .lines import unnumbered

OBSERVED = frozenset({"workspace.read_file", "workspace.write_file", "workspace.apply_patch"})
"""The tools whose results change what is known."""
PATCH = "workspace.apply_patch"
"""The one whose arguments are looked at too."""

_FAILED_PATCHES = frozenset(
    {
        "workspace.patch_requires_full_read",
        "workspace.patch_stale_file",
        "workspace.patch_old_string_not_found",
        "workspace.patch_old_string_not_unique",
    }
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one file."""

    sha256: str
    """Of the file when it was last seen."""
    full: bool
    """The whole text at that hash is known."""
    observed: tuple[str, ...] = ()
    """Texts that partial reads returned at that hash; empty where `full`."""
    needs_full_read: bool = False
    """A patch that rested on partial reads failed; only a full read helps. Never together with `full`."""


@dataclass(slots=True)
class ReadState:
    seen: dict[WorkspacePath, Seen] = field(default_factory=dict[WorkspacePath, Seen])

    def of(self, path: WorkspacePath) -> Seen | None:
        return self.seen.get(path)

    def observe(self, arguments: Json, result: ToolResult, pre_sha256: str | None) -> None:
        """Take in one call and its result, in the order they were made.

        `arguments` are those of a patch, and unused otherwise. `pre_sha256` is the hash of the file before a write or
        patch (None where it was new), and unused otherwise.
        """
        match result.name:
            case "workspace.read_file" if not result.is_error:
                self._read(result)
            case "workspace.write_file" if not result.is_error:
                self._written(result, pre_sha256)
            case "workspace.apply_patch" if not result.is_error:
                self._patched(arguments, result)
            case "workspace.apply_patch" if result.error_code in _FAILED_PATCHES:
                self._not_patched(arguments)
            case _:
                pass

    def _read(self, result: ToolResult) -> None:
        told = result.structured
        path, sha256 = WorkspacePath(told["path"]), told["sha256"]
        before = self.seen.get(path)
        if told["fullRead"]:
            self.seen[path] = Seen(sha256, full=True)
        elif before is None:
            self.seen[path] = Seen(sha256, full=False, observed=(_observed(result),))
        elif before.sha256 != sha256:
            self.seen[path] = replace(before, sha256=sha256, full=False, observed=(_observed(result),))
        elif not before.full:
            text = _observed(result)
            if not any(text in known for known in before.observed):
                self.seen[path] = replace(before, observed=(*before.observed, text))

    def _written(self, result: ToolResult, pre_sha256: str | None) -> None:
        told = result.structured
        path, sha256 = WorkspacePath(told["path"]), told["sha256"]
        before = self.seen.get(path)
        knew_all = pre_sha256 is None or (before is not None and before.full and before.sha256 == pre_sha256)
        if told["mode"] == "replace" or knew_all:
            self.seen[path] = Seen(sha256, full=True)
        # After another append the known hash is stale, and the next patch says so.

    def _patched(self, arguments: Json, result: ToolResult) -> None:
        told = result.structured
        path = WorkspacePath(told["path"])
        before = self.seen[path]
        old, new = arguments["old_string"], arguments["new_string"]
        observed = tuple(text.replace(old, new, 1) for text in before.observed)
        self.seen[path] = Seen(told["sha256"], full=before.full, observed=observed)

    def _not_patched(self, arguments: Json) -> None:
        path = parse(arguments["path"].strip())  # it was parsed before: these codes come after
        before = self.seen.get(path)
        if before is not None and not before.full:
            self.seen[path] = replace(before, needs_full_read=True)


def _observed(result: ToolResult) -> str:
    """The text of the file that a partial read returned, taken from its content."""
    told = result.structured
    shown = result.content.split("\n", 1)[1]
    if not told["endLine"]:
        return shown
    more = told["endLine"] < told["totalLines"]
    return unnumbered(shown, told["endLine"]) + ("\n" if more else "")
