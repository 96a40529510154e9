"""An answer that was cut off at its length limit: none of its calls is run, and the model is told so."""

from __future__ import annotations

from treadle.graph.jsontext import loads
from treadle.testkit.replies import call, calls
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer

from ..gateway.traps import trap
from ..scenarios import words
from ..scenarios.stage import RUN, Stage

CUT = calls(call("workspace.write_file", path="output/cut.md", content="It is the ti"), finish_reason="length")


@trap(22, 46)
async def test_no_call_of_a_cut_off_answer_is_run_though_its_arguments_parse(stage: Stage) -> None:
    model = ChatCompletionsServer([CUT, words.WRITE, words.COMMIT_AND_FINISH])
    async with model, stage.engine(model, stage.host) as engine:
        await engine.start_run_with_prompt_snapshot(stage.request(model.base_url))
        record = await engine.wait(RUN)

    told = loads(model.requests[1].json()["messages"][-1]["content"])
    assert record.status == "completed"
    assert not [*stage.run_folder().rglob("cut.md")]
    assert (told["ok"], told["errorCode"]) == (False, "tool.invalid_arguments")
    assert "cut off at its length limit" in told["content"]
