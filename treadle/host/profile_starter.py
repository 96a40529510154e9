"""A profile to begin with: JSON with a comment on every field, made from the built-in profile."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..graph.jsontext import Json, is_list, is_object
from ..graph.profiles.fields import SCHEMA_KEY, fields
from ..graph.profiles.parse import checked_id
from ..graph.profiles.resolved import default_writer
from ..graph.profiles.words import MEANINGS

_EXAMPLES: dict[str, Json] = {
    "description": "Writes short scenes.",
    "preset.ref": {"apiId": "openai", "name": "My preset"},
    "model.connectionRef": "my-connection",
    "model.modelId": "my-model",
    "instructions.agentSystemPrompt": "You are the narrator. Work with the tools, and end with workspace_finish.",
    "tools.toolDescriptions": {"workspace.commit": {"description": "Publish the reply."}},
    "tools.maxCallsPerTool": {"workspace.commit": 5},
}
"""What a field may hold that the built-in profile leaves empty: shown as a comment."""

_LEFT_OUT = ("plan.beta", "plan.nodes", "delegation", "output.artifacts[*].assemblyOrder")
"""What has no effect yet."""

_ON_ONE_LINE = 5


def starter(profile_id: str) -> str:
    """The text of a file to edit: the profile as it stands does what the built-in one does.

    Raises InvalidInput for an id that breaks the rule.
    """
    document = default_writer().to_json() | {"id": checked_id(profile_id), "displayName": _title(profile_id)}
    del document["description"]
    lines = (
        "// An agent profile. Check it with: treadle profiles check FILE",
        "// Store it with: treadle profiles save FILE, or use it as it is: treadle run --profile FILE",
        "// Comments and a comma after the last member are fine here; the stored file is plain JSON.",
        "{",
        "  // For editors that complete and check as you type, after: treadle profiles schema --out profile.schema.json",
        f'  // "{SCHEMA_KEY}": "./profile.schema.json",',
        *_members("", document, "  "),
        "}",
    )
    return "\n".join(lines) + "\n"


def _members(above: str, block: dict[str, Json], indent: str) -> Iterator[str]:
    for name in _names(above):
        path = f"{above}{name}"
        if path in _LEFT_OUT or not (name in block or path in _EXAMPLES):
            continue
        if above == "":
            yield ""
        yield f"{indent}// {MEANINGS[path]}"
        if path not in _EXAMPLES:
            yield from _member(path, block[name], indent)
        else:
            yield f"{indent}// {_pair(name, _EXAMPLES[path])}"


def _member(path: str, value: Json, indent: str) -> Iterator[str]:
    name = path.rpartition(".")[2]
    if is_object(value) and _names(f"{path}."):
        yield f'{indent}"{name}": {{'
        yield from _members(f"{path}.", value, indent + "  ")
        yield f"{indent}}},"
    elif is_list(value) and any(is_object(each) for each in value):
        yield f'{indent}"{name}": ['
        for each in value:
            yield f"{indent}  {{"
            yield from _members(f"{path}[*].", each, indent + "    ")
            yield f"{indent}  }},"
        yield f"{indent}],"
    elif is_list(value) and len(value) > _ON_ONE_LINE:
        yield f'{indent}"{name}": ['
        yield from (f"{indent}  {json.dumps(each)}," for each in value)
        yield f"{indent}],"
    else:
        yield f"{indent}{_pair(name, value)}"


def _pair(name: str, value: Json) -> str:
    return f'"{name}": {json.dumps(value, ensure_ascii=False)},'


def _names(above: str) -> list[str]:
    """The fields right below a path, in order."""
    below = (row.path.removeprefix(above) for row in fields() if row.path.startswith(above))
    return [name for name in below if "." not in name and "[" not in name]


def _title(profile_id: str) -> str:
    return " ".join(word.capitalize() for word in profile_id.replace("_", "-").split("-") if word) or profile_id
