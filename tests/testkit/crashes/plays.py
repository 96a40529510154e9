"""The plays that are killed everywhere: the demo, several commits, a person's answers, and a session on a WebSocket."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from treadle.engine.engine import Engine
from treadle.graph.errors import NotFound
from treadle.graph.jsontext import Json, loads
from treadle.host.chat_folder import ChatFolderHost
from treadle.host.demo import script as demo
from treadle.host.demo.sample import bundled, bundled_skill
from treadle.nodes.snapshot import payload_of
from treadle.testkit.crashes.play import Play, Stage, answering, chat_told
from treadle.testkit.crashes.questions import Questions, ScriptedTransport
from treadle.testkit.replies import Call, Reply, call, calls
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer
from treadle.testkit.simulators.openai_responses import MODEL, OpenAIResponsesServer
from treadle.testkit.turns import Refusal, Turn, says

from ...scenarios import words
from ...scenarios.people import CODA, COMMIT, END, FINISH, WRITE, asking
from ...scenarios.stage import RUN, snapshot
from ...storage.chats.samples import CHAT_REF, GREETING, QUESTION, STABLE_ID, write_chat

CHATS: Final = "chats"
DEMO_CHAT: Final = Path(CHATS, "Odile Marr", "demo.jsonl")
KEY: Final = "made-up-key"


def host(stage: Stage) -> ChatFolderHost:
    return ChatFolderHost(stage.folder / CHATS, clock=stage.clock, disk=stage.disk)


async def tea(stage: Stage) -> None:
    """The chat that the scenarios have."""
    write_chat(stage.folder / CHATS, GREETING, QUESTION)


def told_at_tea(folder: Path) -> Json:
    return chat_told(folder / CHATS / "Wren" / "tea.jsonl")


def scripted(*replies: Reply, profile: Json = None, answers: dict[str, dict[str, Json]] | None = None) -> Play:
    """A run over a model in its own process."""

    def request(stage: Stage) -> dict[str, Json]:
        made = started(snapshot(ScriptedTransport.base_url))
        return made if profile is None else {**made, "profile": profile}

    return Play(
        run_id=RUN,
        engine=lambda stage: stage.engine(host(stage), transport=stage.questions.transport(replies)),
        request=request,
        prepare=tea,
        attend=answering(answers or {}),
        outside=told_at_tea,
    )


def started(prompt: Json) -> dict[str, Json]:
    return {
        "runId": RUN,
        "chatRef": CHAT_REF,
        "stableChatId": STABLE_ID,
        "generationIntent": {"source": "crashes"},
        "promptSnapshot": prompt,
    }


COMMITS: Final = scripted(
    calls(
        call("workspace.write_file", path="output/main.md", content=words.DRAFT),
        call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup"),
        call("workspace.write_file", path="persist/notes.md", content="The tide owns a cup.\n"),
    ),
    words.COMMIT,
    calls(
        call("workspace.write_file", path="output/coda.md", content=words.CODA),
        call("workspace.commit", path="output/coda.md", mode="append"),
        call("workspace.apply_patch", path="output/main.md", old_string="tide", new_string="moon"),
    ),
    calls(
        call("workspace.commit", path="output/main.md", reason="another try"),
        call("workspace.commit", path="output/coda.md", mode="append"),
    ),
    words.FINISH,
)

_PATCH: Final = {"path": "output/main.md"}
ASKED: Final = scripted(
    calls(
        WRITE,
        Call("workspace.apply_patch", {**_PATCH, "old_string": "tide", "new_string": "moon"}, id="patch"),
        CODA,
    ),
    END,
    profile=asking("mutating"),
    answers={
        "write": {"approved": True},
        "patch": {"approved": True, "edited_arguments": {**_PATCH, "old_string": "kettle", "new_string": "cup"}},
        "coda": {"approved": False, "reason": "no coda"},
        "commit": {"approved": True, "edited_arguments": {**_PATCH, "reason": "a person's"}},
    },
)


def _with_ids(said: Turn | Refusal, place: int) -> Turn | Refusal:
    """A server gives ids in the order in which it is asked, and a crash makes it asked once more."""
    if isinstance(said, Refusal):
        return said
    named = (replace(one, id=f"call_{place}_{number}") for number, one in enumerate(said.calls))
    return replace(said, calls=tuple(named))


@asynccontextmanager
async def _demo_server(questions: Questions) -> AsyncGenerator[str]:
    script = [_with_ids(said, place) for place, said in enumerate(demo.turns())]
    async with ChatCompletionsServer(questions.steps(script)) as server:
        yield server.base_url


async def _demo_chat(stage: Stage) -> None:
    stage.disk.replace(stage.folder / DEMO_CHAT, bundled("chat.jsonl"))
    async with stage.engine() as engine:
        await engine.skills.install_import({"input": bundled_skill(demo.SKILL), "conflictStrategy": "skip"})


def _demo_request(stage: Stage) -> dict[str, Json]:
    prompt = loads(bundled("prompt.json"))
    payload_of(prompt).update(_payload("openai_compatible", stage.address, "scripted-writer"))
    reference = {"kind": "character", "characterId": DEMO_CHAT.parent.name, "fileName": DEMO_CHAT.stem}
    profile = loads(bundled("profile.json"))
    return {**started(prompt), "chatRef": reference, "stableChatId": "treadle-demo", "profile": profile}


async def _publish(engine: Engine, run_id: str) -> None:
    """The person allows whatever waits."""
    async for event in engine.subscribe(run_id):
        if event.type == "tool_call_awaiting_approval":
            for waiting in await engine.pending_approvals(run_id):
                with suppress(NotFound):  # it was answered before the crash, or it is not its turn
                    await engine.approve_tool_call(run_id, waiting.call_id, approved=True)
    await engine.wait(run_id)


DEMO: Final = Play(
    run_id=RUN,
    engine=lambda stage: stage.engine(host(stage), wire_log="full"),
    request=_demo_request,
    prepare=_demo_chat,
    provider=_demo_server,
    attend=_publish,
    outside=lambda folder: chat_told(folder / DEMO_CHAT),
)


@asynccontextmanager
async def _session_server(questions: Questions) -> AsyncGenerator[str]:
    script = (
        says("", Call("workspace.list_files", {}, id="list"), reasoning="What is there?"),
        says("", WRITE, reasoning="A draft."),
        says("", COMMIT),
        says("", FINISH, reasoning="Enough."),
    )
    async with OpenAIResponsesServer(questions.steps(script)) as server:
        yield server.base_url


def _session_request(stage: Stage) -> dict[str, Json]:
    prompt = snapshot("")
    payload_of(prompt).pop("custom_url")
    payload_of(prompt).update(_payload("openai_responses", stage.address, MODEL))
    return started(prompt)


def _payload(name: str, address: str, model: str) -> dict[str, Json]:
    """What the prompt says of a model's server; its key is the proxy's, so that no secret store is needed."""
    return {
        "chat_completion_source": "custom",
        "custom_api_format": name,
        "reverse_proxy": address,
        "proxy_password": KEY,
        "model": model,
    }


SESSION: Final = Play(
    run_id=RUN,
    engine=lambda stage: stage.engine(host(stage)),
    request=_session_request,
    prepare=tea,
    provider=_session_server,
    outside=told_at_tea,
    same_requests=False,
)
