"""Paths inside a workspace: parsed here, before any disk is touched.

The same text is refused on every system, because a workspace is portable: drive prefixes, names that Windows can't
hold and characters that mean something there are refused on Linux too.
"""

from __future__ import annotations

import re
from typing import NewType

from .errors import ToolRefused

WorkspacePath = NewType("WorkspacePath", str)
"""Relative, `/`-separated, without `.`, `..` or empty segments."""

ROOTS = ("output", "scratch", "plan", "summaries", "persist")

LONGEST_BYTES = 1024
"""Of a whole path: what is longer, some system refuses."""

_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICES = re.compile(r"(?i)(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?")
_UNPORTABLE = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')


def parse(text: str) -> WorkspacePath:
    """The path in its one spelling; raises ToolRefused `workspace.invalid_path` with the reason."""
    reason = fault(text, "the workspace", "output/main.md")
    if reason:
        raise ToolRefused("workspace.invalid_path", f"The path {_shown(text)} {reason}.")
    return WorkspacePath(spelled(text))


def spelled(text: str) -> str:
    """The one spelling of a path that has no fault."""
    return "/".join(_segments(text))


def fault(text: str, home: str, example: str) -> str | None:
    """Why the text is no path below `home` ("the workspace"), to be read on after the path; None where it is one."""
    if not text.strip():
        return "is empty"
    if "\x00" in text:
        return "contains a NUL character"
    if text[0] in "/\\":
        return f"is absolute; give a path relative to {home}, such as {example}"
    if _DRIVE.match(text):
        return f"has a drive prefix; give a path relative to {home}"
    if len(text.encode("utf-8", "surrogatepass")) > LONGEST_BYTES:
        return f"is longer than {LONGEST_BYTES} bytes"
    parts = _segments(text)
    if ".." in parts:
        return f"leaves {home} with '..'"
    if not parts:
        return "names no file"
    return next((found for part in parts if (found := _part_fault(part))), None)


def root_of(path: WorkspacePath) -> str:
    return path.split("/", 1)[0]


def is_visible(path: WorkspacePath, roots: tuple[str, ...]) -> bool:
    """The path is a visible root, or lies under one (whole segments)."""
    return root_of(path) in roots


def is_writable(path: WorkspacePath, roots: tuple[str, ...]) -> bool:
    """The path lies strictly under a writable root: the root itself is not writable."""
    return "/" in path and root_of(path) in roots


def _segments(text: str) -> list[str]:
    return [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]


def _part_fault(part: str) -> str | None:
    if any(0xD800 <= ord(char) <= 0xDFFF for char in part):
        return "contains half of a character (a lone surrogate)"
    if _UNPORTABLE.search(part):
        return f"has a character in {part!r} that not every system can hold"
    if part[-1] in " .":
        return f"has a name that ends in a space or a dot: {part!r}"
    if _DEVICES.fullmatch(part):
        return f"has a name that some systems keep for devices: {part!r}"
    if len(part.encode("utf-8")) > 255:
        return "has a name longer than 255 bytes"
    return None


def _shown(text: str) -> str:
    shown = text if len(text) <= 120 else text[:120] + "…"
    return repr(shown)
