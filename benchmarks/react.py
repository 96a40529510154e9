# pyright: standard
"""Contestant (c): LangChain's `create_agent` over AsyncSqliteSaver, its model as instant, its tool writing the same files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from measuring import Measured, folder_figures, measured
from work import Laps, call_id, content_of, path_of

from treadle.storage.disk import RealDisk


class InstantChatModel(BaseChatModel):
    """Asks for one file a round, then ends; nothing is encoded."""

    rounds: int
    laps: Any
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "instant"

    def bind_tools(self, tools: Sequence[Any], **_options: Any) -> InstantChatModel:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_options: Any,
    ) -> ChatResult:
        self.laps.mark()
        self.asked += 1
        if self.asked > self.rounds:
            return _result(AIMessage("Done."))
        arguments = {"path": path_of(self.asked), "content": content_of(self.asked)}
        return _result(AIMessage("", tool_calls=[{"name": "write_file", "args": arguments, "id": call_id(self.asked)}]))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_options: Any,
    ) -> ChatResult:
        return self._generate(messages, stop)  # in place: a hop to a thread would only make it slower


async def run_react(folder: Path, rounds: int) -> Measured:
    """One run of so many rounds, in a database and files below `folder`."""
    laps = Laps()
    model = InstantChatModel(rounds=rounds, laps=laps)
    folder.mkdir(parents=True)
    async with AsyncSqliteSaver.from_conn_string(str(folder / "agent.sqlite")) as saver:
        agent: Any = create_agent(model, [_write_tool(folder)], checkpointer=saver)
        config = {"configurable": {"thread_id": "rounds"}, "recursion_limit": 4 * rounds + 10}
        await agent.ainvoke({"messages": [{"role": "user", "content": "Write."}]}, config)
    return measured(laps, rounds, folder_figures(folder, database=folder / "agent.sqlite"))


def _write_tool(folder: Path) -> BaseTool:
    disk = RealDisk()

    @tool
    async def write_file(path: str, content: str) -> str:
        """Write a text file."""
        disk.replace(folder / path, content.encode())
        return f"Wrote {path}."

    return write_file


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])
