"""`workspace.write_file`: a whole file, or more at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...graph.errors import ToolRefused
from ...graph.events import EventType
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.paths import WorkspacePath
from ...graph.text import count_chars, count_words, sha256_bytes
from ..arguments.given import Given, given, schema, shown, string
from ..files import check_can_hold, read, size, writable
from ..tool import Answer, Bench, FileChange

Mode = Literal["replace", "append"]

SPEC = ToolSpec(
    name="workspace.write_file",
    title="Write a workspace file",
    description=(
        "Write a text file. Mode replace (the default) makes the file or replaces all of it; append adds the content "
        "at its end as it is, without a line break in between. To change a part, use workspace_apply_patch."
    ),
    input_schema=schema(
        {
            "path": string("File to write, relative to the workspace, such as output/main.md; folders are made."),
            "content": string("The text to write, exactly; may be empty."),
            "mode": string("replace or append; default replace.", one_of=("replace", "append")),
        },
        required=("path", "content"),
    ),
    annotations=Annotations(mutating=True),
)

JUDGES = frozenset({"mode"})
"""It has a code of its own."""


@dataclass(frozen=True, slots=True)
class Arguments:
    path: str
    content: str
    mode: Mode = "replace"


def run(arguments: Json, bench: Bench) -> FileChange:
    asked = _asked(given(arguments))
    path = writable(asked.path, bench)
    exists = check_can_hold(bench.workspace, path)
    text, pre_sha256 = asked.content, None
    if exists and asked.mode == "append":
        before = read(bench.workspace, path)
        text, pre_sha256 = before.text + asked.content, before.sha256
    elif exists:
        pre_sha256 = bench.workspace.sha256(path)
        _check_guard(path, pre_sha256, bench)
    return _change(path, asked.mode, text, pre_sha256)


def _asked(fields: Given) -> Arguments:
    path, content = fields.text("path"), fields.raw("content")
    match fields.fields.get("mode", "replace"):
        case "replace":
            return Arguments(path, content)
        case "append":
            return Arguments(path, content, "append")
        case other:
            raise ToolRefused(
                "workspace.write_mode_invalid", f'mode must be "replace" or "append", not {shown(other)}.'
            )


def _check_guard(path: WorkspacePath, sha256: str | None, bench: Bench) -> None:
    """Where the profile says so, a file is only replaced by who knows what it holds."""
    if not bench.profile.write_guard:
        return
    seen = bench.reads.of(path)
    if seen is None:
        raise ToolRefused("workspace.write_requires_read", f"{path} exists; read it before you replace it.")
    if seen.sha256 != sha256:
        raise ToolRefused("workspace.write_stale_file", f"{path} has changed since you saw it; read it again first.")


def _change(path: WorkspacePath, mode: Mode, text: str, pre_sha256: str | None) -> FileChange:
    data = text.encode()
    told: dict[str, Json] = {
        "path": path, "mode": mode, "chars": count_chars(text), "words": count_words(text),
        "sha256": sha256_bytes(data),
    }  # fmt: skip
    verb = "Wrote" if mode == "replace" else "Appended to"
    return FileChange(
        path=path,
        pre_sha256=pre_sha256,
        post_sha256=told["sha256"],
        data=data,
        event=EventType.WORKSPACE_FILE_WRITTEN,
        payload=told,
        answer=Answer(f"{verb} {path}; the file now has {size(told['chars'], told['words'])}.", dict(told), (path,)),
    )
