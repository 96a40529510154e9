"""A run that is walked again from its first step makes nothing twice, and counts what it did before."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treadle import ChatFolderHost, Engine, build_run_graph
from treadle.engine.services import Services
from treadle.graph.errors import ModelFailed
from treadle.graph.ports import WireReply, WireRequest
from treadle.graph.status import RunStatus
from treadle.testkit.replies import Reply, call, calls

RUN = "run_1"
WRITE = call("workspace_write_file", path="output/main.md", content="The lamp went out.")
REWRITE = call("workspace_write_file", path="output/main.md", content="The lamp is lit again.")
COMMIT = call("workspace_commit")
FINISH = call("workspace_finish")

Answer = Reply | Callable[[], Awaitable[Reply]]


@dataclass(slots=True)
class Script:
    """A model in this process: its answers, one after the other."""

    answers: list[Answer]
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, request: WireRequest) -> WireReply:
        answer = self.answers.pop(0)
        reply = answer if isinstance(answer, Reply) else await answer()
        return WireReply(reply.status, reply.headers, reply.body)

    async def close(self) -> None:
        """Nothing is open."""

    async def hang(self) -> Reply:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_graph_goes_on_with_a_run_that_an_engine_left_behind(tmp_path: Path) -> None:
    end = await _left_behind_then_walked(tmp_path, [calls(WRITE)], [calls(COMMIT, FINISH)])

    assert (end["outcome"], end["round"], end["commit_count"]) == ("completed", 2, 1)
    assert _types(tmp_path).count("context_assembled") == 1
    assert _texts(tmp_path) == ["The lamp went out."]


async def test_a_commit_that_was_recorded_counts_and_is_not_made_again(tmp_path: Path) -> None:
    end = await _left_behind_then_walked(tmp_path, [calls(WRITE, COMMIT, REWRITE)], [calls(FINISH)])

    assert (end["outcome"], end["commit_count"]) == ("completed", 1)
    assert _types(tmp_path).count("chat_commit_requested") == 1
    assert _texts(tmp_path) == ["The lamp went out."]


async def test_walking_a_run_that_has_ended_changes_nothing(tmp_path: Path) -> None:
    await _left_behind_then_walked(tmp_path, [calls(WRITE, COMMIT)], [calls(FINISH)])
    before = _journal(tmp_path).read_bytes()

    end = await _walked(tmp_path, Script([]))

    assert end["outcome"] == "completed"
    assert _journal(tmp_path).read_bytes() == before


async def test_a_refusal_that_comes_with_the_cancel_does_not_fail_the_run(tmp_path: Path) -> None:
    async def cancel_and_refuse() -> Reply:
        await engine.cancel(RUN)
        raise ModelFailed("the line is gone")

    engine = Engine(tmp_path / "data", _host(tmp_path), transport=Script([cancel_and_refuse]))
    await engine.start_run_with_prompt_snapshot(_request())

    record = await engine.wait(RUN)

    assert record.status is RunStatus.CANCELLED
    await engine.close()


async def _left_behind_then_walked(folder: Path, first: list[Answer], then: list[Answer]) -> dict[str, Any]:
    script = Script([*first])
    script.answers.append(script.hang)
    engine = Engine(folder / "data", _host(folder), transport=script)
    await engine.start_run_with_prompt_snapshot(_request())
    await script.asked.wait()
    await engine.close()
    return await _walked(folder, Script(then))


async def _walked(folder: Path, script: Script) -> dict[str, Any]:
    host = ChatFolderHost(folder / "chats")
    builder: Any = build_run_graph(Services(folder / "data", host, transport=script))
    end: dict[str, Any] = await builder.compile().ainvoke({"run_id": RUN})
    return end


def _host(folder: Path) -> ChatFolderHost:
    chat = folder / "chats" / "Odile" / "evening.jsonl"
    chat.parent.mkdir(parents=True)
    chat.write_text(json.dumps({"chat_metadata": {"integrity": "evening-1"}, "character_name": "Odile"}) + "\n")
    return ChatFolderHost(folder / "chats")


def _request() -> dict[str, Any]:
    return {
        "runId": RUN,
        "chatRef": {"kind": "character", "characterId": "Odile", "fileName": "evening"},
        "promptSnapshot": {
            "chatCompletionPayload": {
                "messages": [{"role": "user", "content": "It got dark."}],
                "chat_completion_source": "custom",
                "custom_url": "http://127.0.0.1/v1",
                "model": "m",
            },
            "contextPolicy": {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True},
        },
    }


def _journal(folder: Path) -> Path:
    return next((folder / "data").glob(f"*/*/chats/*/runs/{RUN}/events.jsonl"))


def _types(folder: Path) -> list[str]:
    return [json.loads(line)["type"] for line in _journal(folder).read_bytes().split(b"\n") if line]


def _texts(folder: Path) -> list[str]:
    lines = (folder / "chats" / "Odile" / "evening.jsonl").read_text().splitlines()
    return [json.loads(line)["mes"] for line in lines[1:]]
