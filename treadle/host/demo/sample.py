"""A fresh copy of the bundled chat, its prompt snapshot and its profile, for one demo; and the skill they use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ...graph.jsontext import Json, dumps, loads
from ...storage.disk import RealDisk, storage_failed

CHARACTER = "Odile Marr"
CHAT_NAME = "Odile Marr - 2025-11-02@19h04m11s"


@dataclass(frozen=True, slots=True)
class Sample:
    """Files below `<data root>/demo/<number>/`."""

    chat: Path
    prompt: Path
    profile: Path


def fresh_sample(data_root: Path) -> Sample:
    """Copy the sample into the next free folder. Blocking; raises StorageFailed.

    Each copy is a chat of its own, so its header gets an `integrity` of its own.
    """
    disk, demos = RealDisk(), data_root / "demo"
    try:
        disk.make_folder(demos)
        folder = _next_folder(demos)
        sample = Sample(
            folder / "chats" / CHARACTER / f"{CHAT_NAME}.jsonl", folder / "prompt.json", folder / "profile.json"
        )
        disk.replace(sample.chat, _with_integrity(bundled("chat.jsonl"), f"treadle-demo-{folder.name}"))
        disk.replace(sample.prompt, bundled("prompt.json"))
        disk.replace(sample.profile, bundled("profile.json"))
    except OSError as error:
        raise storage_failed(error, f"copying the sample into {demos}") from error
    return sample


def bundled(name: str) -> bytes:
    """A file of the sample, as it was shipped."""
    return files("treadle.host.demo").joinpath(name).read_bytes()


def bundled_skill(name: str) -> dict[str, Json]:
    """A skill of the sample as an import takes it; one that the user has changed since stays as it is."""
    root = files("treadle.host.demo").joinpath("skills", name)
    paths = ["SKILL.md", *(f"references/{file.name}" for file in root.joinpath("references").iterdir())]
    listed = [{"path": path, "content": root.joinpath(path).read_text("utf-8")} for path in paths]
    return {"kind": "inlineFiles", "files": listed, "source": {"kind": "demo", "id": name}}


def _next_folder(demos: Path) -> Path:
    """The first number that is free, taken: two demos at once get two folders."""
    number = 1 + max((int(path.name) for path in demos.iterdir() if path.name.isdecimal()), default=0)
    while True:
        folder = demos / str(number)
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def _with_integrity(chat: bytes, integrity: str) -> bytes:
    first, rest = chat.split(b"\n", 1)
    header = loads(first)
    header["chat_metadata"]["integrity"] = integrity
    return dumps(header) + b"\n" + rest
