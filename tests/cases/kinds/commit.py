"""`commit`: a run that publishes into a chat which may not be the one that it began with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from treadle.graph.jsontext import Json, dumps, is_list, is_object, loads
from treadle.storage.disk import RealDisk
from treadle.storage.persist import project, promote

from ..driving import conclude, drive, start
from ..faults import CaseFault, an_object, only, shown
from ..observed import Observed
from ..session import asked_of, results, script
from ..stage import STABLE_ID, Stage, files_of, profile, small_chat, staged
from ..upstream import Hook
from ..wording import chat_completions

KEYS = frozenset(
    {
        "run_stable_chat_id", "expected_stable_chat_id", "host_stable_chat_id", "host_chat", "script", "model_reply",
        "files", "files_b64", "fault", "generation_type", "presentation", "max_rounds",
    }
)  # fmt: skip


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    wanted = given.get("run_stable_chat_id") or given.get("expected_stable_chat_id")
    hosts: str = given.get("host_stable_chat_id") or wanted or STABLE_ID
    stable_id: str = wanted or hosts
    asked = asked_of(given["script"]) if "script" in given else []
    seen = Observed()
    async with staged(chat=_chat(given.get("host_chat"), stable_id)) as stage:
        stage.lay_out(files_of(given, "files", "files_b64"), stable_id)
        turns = script(stage, asked) if asked else chat_completions(given["model_reply"])
        stage.upstream.load(turns)
        persist = _Persist(stage, stable_id)
        stage.upstream.hooks.append(_meanwhile(given, stage, persist, hosts if hosts != stable_id else None))
        engine = stage.engine()
        rules = profile(max_rounds=given.get("max_rounds"), presentation=given.get("presentation"))
        request = stage.request(profile=rules) | {"generationType": given.get("generation_type", "normal")}
        if await start(engine, request, seen):
            await drive(stage, engine, seen, stable_id=stable_id)
        await conclude(stage, engine, seen)
        if asked:
            seen.calls = results(seen, asked)
        seen.facts["persist_unchanged"] = persist.is_unchanged()
    return seen


def _meanwhile(given: dict[str, Json], stage: Stage, persist: _Persist, other_id: str | None) -> Hook:
    """What happens to the chat and its files between the run's start and its first answer."""
    fault = an_object(given.get("fault", {}), "fault")
    only(fault, ("persist_promote",), "fault")
    if fault.get("persist_promote", "conflict") != "conflict":
        raise CaseFault(f"fault.persist_promote is {shown(fault['persist_promote'])}; known is conflict")
    paths = sorted({path for path in _paths(given) if path.startswith("persist/")})
    if fault and not paths:
        raise CaseFault("the run changes no persistent file, so no promotion of it can conflict")

    def on_request(number: int) -> None:
        if number > 1:
            return
        if other_id is not None:
            stage.write_chat(_chat(given.get("host_chat"), other_id))
        if "host_chat" in given and given["host_chat"] is None:
            stage.chat.unlink()
        if fault:
            persist.promote_from_another_run(paths)
        persist.remember()

    return on_request


class _Persist:
    """The files that a chat keeps from run to run."""

    def __init__(self, stage: Stage, stable_id: str) -> None:
        self._chat = stage.chat_folder(stable_id)
        self._stable_id = stable_id
        self.remember()

    def remember(self) -> None:
        self._before = self._files()

    def is_unchanged(self) -> bool:
        return self._files() == self._before

    def promote_from_another_run(self, paths: list[str]) -> None:
        other = self._chat / "runs" / "run_other"
        disk = RealDisk()
        project(self._chat, other, disk)
        for path in paths:
            disk.replace(other / path, b"another run's words")
        promote(
            self._chat,
            other,
            run_id=other.name,
            workspace_id=self._chat.name,
            stable_chat_id=self._stable_id,
            created_at="2026-01-01T00:00:00.000Z",
            disk=disk,
        )

    def _files(self) -> dict[str, bytes]:
        found = (self._chat / "persist").rglob("*")
        return {str(path): path.read_bytes() for path in found if path.is_file()}


def _chat(given: Json, integrity: str) -> bytes:
    """A chat file from its text, its lines, or its messages; with this identity where it is not a text."""
    if given is None:
        return small_chat(integrity)
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    if is_list(given) and given and "chat_metadata" in given[0]:
        return b"".join(dumps(line) + b"\n" for line in given)
    messages: Json = given.get("messages") if is_object(given) and len(given) == 1 else given
    if not is_list(messages):
        raise CaseFault(f"host_chat is {shown(given)}")
    return small_chat(integrity, messages)


def _paths(value: Json) -> Iterator[str]:
    """Every `path` in the case, in its calls and in the answers of its model."""
    if is_object(value):
        for key, member in value.items():
            if key == "path" and isinstance(member, str):
                yield member
            elif key in ("model_reply", "arguments") and isinstance(member, str):
                yield from _paths(loads(member))
            else:
                yield from _paths(member)
    elif is_list(value):
        for member in value:
            yield from _paths(member)
