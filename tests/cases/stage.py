"""Where a case is played: a data root, a chat file, a model's server and a clock, and engines over them."""

from __future__ import annotations

import asyncio
import base64
import shutil
import tempfile
from collections.abc import AsyncGenerator, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.identity import workspace_id
from treadle.graph.jsontext import Json, dumps, is_object
from treadle.graph.profiles.resolved import default_writer
from treadle.host.chat_folder import ChatFolderHost
from treadle.storage.disk import Disk
from treadle.storage.runs import TREE

from .clock import HarnessClock
from .faults import CaseFault
from .hosts import RecordingHost
from .observed import Chat
from .upstream import Turn, Upstream

CHARACTER, CHAT_NAME, STABLE_ID, RUN = "Lin", "one", "int-0001", "run_case"

CHAT_REF: Json = {"kind": "character", "characterId": CHARACTER, "fileName": CHAT_NAME}
CONTEXT_POLICY: Json = {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True}

_FORMATS: dict[str, dict[str, Json]] = {
    "openai_compatible": {},
    "openai_responses": {"custom_api_format": "openai_responses"},
    "claude_messages": {"custom_api_format": "claude_messages"},
    "gemini": {"chat_completion_source": "makersuite", "proxy_password": "made-up"},
    "gemini_interactions": {"custom_api_format": "gemini_interactions"},
}
_MODELS = {"claude_messages": "claude-test-1", "openai_responses": "gpt-test-5", "openai_compatible": "compat-test-1"}


class Stage:
    """Everything is below `root`; engines made here are closed with it."""

    def __init__(self, root: Path, upstream: Upstream, clock: HarnessClock) -> None:
        self.root = root
        self.data = root / "data"
        self.chats = root / "chats"
        self.chat = self.chats / CHARACTER / f"{CHAT_NAME}.jsonl"
        self.saves = root / "saves.log"
        self.upstream = upstream
        self.clock = clock
        self._engines: list[Engine] = []
        self._chat_before = b""
        self._begun: list[asyncio.Future[None]] = []

    def begin(self, work: Coroutine[None, None, None]) -> None:
        """Do this beside the run; from the loop's own thread."""
        self._begun.append(asyncio.ensure_future(work))

    async def settle(self) -> None:
        """Wait for what was begun; raises what it raised."""
        begun, self._begun = self._begun, []
        await asyncio.gather(*begun)

    def engine(self, disk: Disk | None = None) -> Engine:
        engine = engine_at(self.root, self.clock, disk)[0]
        self._engines.append(engine)
        return engine

    async def close(self) -> None:
        for begun in self._begun:
            begun.cancel()
        await asyncio.gather(*(engine.close() for engine in self._engines), *self._begun, return_exceptions=True)

    def write_chat(self, data: bytes) -> None:
        self.chat.parent.mkdir(parents=True, exist_ok=True)
        self.chat.write_bytes(data)
        self._chat_before = data

    def folder(self, run_id: str = RUN, stable_id: str = STABLE_ID) -> Path:
        return self.chat_folder(stable_id) / "runs" / run_id

    def chat_folder(self, stable_id: str = STABLE_ID) -> Path:
        return self.data / TREE / "chats" / workspace_id("character", stable_id)

    def run_folders(self) -> list[Path]:
        return sorted((self.data / TREE).glob("chats/*/runs/*"))

    def seen_chat(self) -> Chat:
        after = self.chat.read_bytes() if self.chat.is_file() else b""
        saved = self.saves.read_text("utf-8").split() if self.saves.is_file() else []
        return Chat(self._chat_before, after, tuple(saved))

    def lay_out(self, files: dict[str, bytes], stable_id: str = STABLE_ID) -> None:
        """Files of the workspace of a run that starts later: there before its model is first asked."""
        lasting = {path: data for path, data in files.items() if path.startswith("persist/")}
        _write(self.chat_folder(stable_id), lasting)  # the chat's, of which each run gets a copy

        def on_request(_number: int) -> None:
            _write(self.folder(stable_id=stable_id), files)
            self.upstream.hooks.remove(on_request)

        if files:
            self.upstream.hooks.append(on_request)

    def request(
        self, messages: list[Json] | None = None, *, provider_format: str = "openai_compatible", profile: Json = None
    ) -> dict[str, Json]:
        """A start request of the run `RUN` for this chat, answered by this server."""
        payload: dict[str, Json] = {
            "messages": messages if messages is not None else [{"role": "user", "content": "Go on with the story."}],
            **self.settings(provider_format),
        }
        return {
            "runId": RUN,
            "chatRef": CHAT_REF,
            "generationType": "normal",
            "promptSnapshot": {"chatCompletionPayload": payload, "contextPolicy": CONTEXT_POLICY},
            **({} if profile is None else {"profile": profile}),
        }

    def settings(self, provider_format: str) -> dict[str, Json]:
        if provider_format not in _FORMATS:
            raise CaseFault(f"there is no provider format {provider_format}")
        held = {"chat_completion_source": "custom", **_FORMATS[provider_format]}
        address = "custom_url" if held["chat_completion_source"] == "custom" else "reverse_proxy"
        return {**held, address: self.upstream.base_url, "model": _MODELS.get(provider_format, "gemini-test-3")}


@asynccontextmanager
async def staged(turns: Iterable[Turn] = (), *, chat: bytes | None = None) -> AsyncGenerator[Stage]:
    """A stage with a small chat on it; all of it is gone afterwards."""
    clock = HarnessClock()
    root = Path(tempfile.mkdtemp(prefix="treadle-case-")).resolve()
    try:
        async with Upstream(turns, clock) as upstream:
            stage = Stage(root, upstream, clock)
            stage.write_chat(small_chat() if chat is None else chat)
            try:
                yield stage
            finally:
                await stage.close()
    finally:
        shutil.rmtree(root)


def engine_at(root: Path, clock: HarnessClock, disk: Disk | None = None) -> tuple[Engine, RecordingHost]:
    """An engine over a stage's root, from this process or another one, and the host that it has."""
    chats, chat = root / "chats", root / "chats" / CHARACTER / f"{CHAT_NAME}.jsonl"
    host = RecordingHost(ChatFolderHost(chats, clock=clock), chat, root / "saves.log")
    return Engine(root / "data", host, clock=clock, disk=disk), host


def small_chat(integrity: str = STABLE_ID, messages: Iterable[dict[str, Json]] | None = None) -> bytes:
    """A chat file of two messages, or of these."""
    held = messages if messages is not None else ({"mes": "It rains."}, {"is_user": True, "mes": "I open the door."})
    header = {
        "user_name": "U", "character_name": CHARACTER, "create_date": "2025-01-01@00h00m00s",
        "chat_metadata": {"integrity": integrity},
    }  # fmt: skip
    return b"".join(dumps(line) + b"\n" for line in [header, *map(_message, held)])


def profile(
    *,
    retry: Json = None,
    max_rounds: int | None = None,
    max_calls: int | None = None,
    presentation: str | None = None,
) -> Json:
    """The default profile with what a case changes in it; None where it changes nothing."""
    document: dict[str, Json] = default_writer().to_json()
    changes: tuple[tuple[str, str, Json], ...] = (
        ("run", "modelRetry", retry),
        ("run", "presentation", presentation),
        ("tools", "maxRounds", max_rounds),
        ("tools", "maxCallsPerRun", max_calls),
    )
    for part, key, value in changes:
        if value is not None:
            kept: Json = document[part].get(key)
            merged: Json = {**kept, **value} if is_object(kept) and is_object(value) else value
            document[part] = {**document[part], key: merged}
    return None if document == default_writer().to_json() else document


def files_of(given: dict[str, Json], text_key: str, binary_key: str) -> dict[str, bytes]:
    """The files of a case: texts under one key, base64 under the other."""
    texts: dict[str, str] = given.get(text_key) or {}
    binaries: dict[str, str] = given.get(binary_key) or {}
    made = {path: text.encode("utf-8", "surrogatepass") for path, text in texts.items()}
    return made | {path: base64.b64decode(data, validate=True) for path, data in binaries.items()}


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def _message(given: dict[str, Json]) -> dict[str, Json]:
    user = bool(given.get("is_user"))
    made: dict[str, Json] = {
        "name": "U" if user else CHARACTER, "is_user": user, "is_system": False,
        "send_date": "January 1, 2025 1:00am", "extra": {},
    }  # fmt: skip
    return {**made, **given}
