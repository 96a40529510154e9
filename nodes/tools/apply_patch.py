"""`workspace.apply_patch`: one exact text in a file, replaced by another."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import ToolRefused
from ...graph.events import EventType
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.paths import WorkspacePath
from ...graph.text import count_chars, count_words, sha256_bytes
from ..arguments.given import boolean, given, schema, string
from ..files import FileText, counted, read, size, writable
from ..matching import missed, places
from ..tool import Answer, Bench, FileChange

SPEC = ToolSpec(
    name="workspace.apply_patch",
    title="Patch a workspace file",
    description=(
        "Replace one exact text in a file by another; spaces and line ends count. Read the file before you patch it, "
        "and read it again after a patch that failed."
    ),
    input_schema=schema(
        {
            "path": string("File to change, relative to the workspace, such as output/main.md."),
            "old_string": string("The text to replace, exactly as it stands in the file; not empty."),
            "new_string": string("The text to put in its place; may be empty, and must differ."),
            "replace_all": boolean("Replace every place where old_string stands; default false."),
        },
        required=("path", "old_string", "new_string"),
    ),
    annotations=Annotations(mutating=True),
)


@dataclass(frozen=True, slots=True)
class Arguments:
    path: str
    old_string: str
    new_string: str
    replace_all: bool = False


def run(arguments: Json, bench: Bench) -> FileChange:
    asked = _asked(arguments)
    path = writable(asked.path, bench)
    seen_sha256 = _check_knowledge(path, asked, bench)
    file = read(bench.workspace, path)
    if file.sha256 != seen_sha256:
        raise ToolRefused("workspace.patch_stale_file", f"{path} has changed since you saw it; read all of it again.")
    return _change(path, asked, file, _count(path, asked, file.text))


def _asked(arguments: Json) -> Arguments:
    fields = given(arguments)
    asked = Arguments(
        path=fields.text("path"),
        old_string=fields.raw("old_string"),
        new_string=fields.raw("new_string"),
        replace_all=fields.flag("replace_all", False),
    )
    if not asked.old_string:
        message = "old_string must not be empty; workspace_write_file writes a whole file or adds to its end."
        raise ToolRefused("workspace.patch_empty_old_string", message)
    if asked.old_string == asked.new_string:
        raise ToolRefused("workspace.patch_no_change", "new_string must differ from old_string.")
    return asked


def _check_knowledge(path: WorkspacePath, asked: Arguments, bench: Bench) -> str:
    """The hash of the file as the model knows it; raises unless it knows what it wants to change."""
    seen = bench.reads.of(path)
    if seen is None:
        raise ToolRefused("workspace.patch_requires_read", f"Read {path} before you patch it.")
    if seen.full:
        return seen.sha256
    if not bench.profile.patch_after_partial_read:
        reason = f"Only a part of {path} was read"
    elif seen.needs_full_read:
        reason = f"The last patch of {path} failed"
    elif asked.replace_all:
        reason = f"replace_all needs all of {path} to be known"
    elif not any(asked.old_string in text for text in seen.observed):
        reason = f"old_string is not in what was read of {path}"
    else:
        return seen.sha256
    raise ToolRefused("workspace.patch_requires_full_read", f"{reason}; read the whole file before you patch it.")


def _count(path: WorkspacePath, asked: Arguments, text: str) -> int:
    count = text.count(asked.old_string)
    if count == 0:
        message = f"old_string is not in {path}: {missed(text, asked.old_string)}"
        raise ToolRefused("workspace.patch_old_string_not_found", message)
    if count > 1 and not asked.replace_all:
        raise ToolRefused(
            "workspace.patch_old_string_not_unique",
            f"old_string stands in {count} places of {path}, {places(text, asked.old_string)}; give more of the text "
            "around the one you mean, or set replace_all to true.",
        )
    return count


def _change(path: WorkspacePath, asked: Arguments, file: FileText, count: int) -> FileChange:
    text = file.text.replace(asked.old_string, asked.new_string)
    data = text.encode()
    told: dict[str, Json] = {
        "path": path, "chars": count_chars(text), "words": count_words(text), "oldSha256": file.sha256,
        "sha256": sha256_bytes(data), "replacements": count,
    }  # fmt: skip
    size_now = size(told["chars"], told["words"])
    return FileChange(
        path=path,
        pre_sha256=file.sha256,
        post_sha256=told["sha256"],
        data=data,
        event=EventType.WORKSPACE_PATCH_APPLIED,
        payload=told,
        answer=Answer(
            f"Patched {path} in {counted(count, 'place')}; the file now has {size_now}.", dict(told), (path,)
        ),
    )
