"""Tables stay of use on a narrow terminal."""

from __future__ import annotations

from rich.console import Console, RenderableType

from treadle.engine.history.listing import RunSummary
from treadle.graph.events import Event
from treadle.graph.identity import ChatRef, RunId, WorkspaceId
from treadle.graph.ports import ChatHead
from treadle.graph.status import RunStatus
from treadle.host.tables import event_table, run_table
from treadle.storage.run_summaries import Projection
from treadle.storage.runs import RunRecord

RECORD = RunRecord(
    id=RunId("run_" + "7" * 32),
    workspace_id=WorkspaceId("chat_0123456789abcdef"),
    stable_chat_id="s",
    chat_ref=ChatRef("character", character_id="A long name " * 5, file_name="[red]evening[/red]"),
    generation_type="normal",
    profile_id="default-writer",
    presentation="foreground",
    status=RunStatus.PARTIAL_SUCCESS,
    created_at="2026-01-02T03:04:05.678Z",
    updated_at="2026-01-02T03:04:05.678Z",
    input_sha256="0" * 64,
    chat_head=ChatHead(0, None),
)
RUN = RunSummary(RECORD, Projection(commit_count=2))
EVENT = Event(123, "evt_1", "run_1", "2026-01-02T03:04:05.678Z", "info", "run_created", {"why": "because " * 40})


def drawn(what: RenderableType, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(what)
    return captured.get().splitlines()


def test_a_runs_id_status_and_start_are_whole_at_80_columns() -> None:
    *_, line = drawn(run_table([RUN]), 80)

    for whole in (RECORD.id, "partial_success", "2026-01-02 03:04:05Z", "…"):
        assert whole in line


def test_a_name_that_looks_like_markup_is_shown_as_it_is() -> None:
    assert "[red]evening[/red]" in drawn(run_table([RUN]), 200)[-1]


def test_an_event_takes_one_line_however_long_its_payload() -> None:
    lines = drawn(event_table([EVENT, EVENT]), 80)

    assert len(lines) == 4
    assert all(word in lines[-1] for word in ("123", "03:04:05.678", "run_created", "…"))


def test_a_table_of_nothing_is_its_heading() -> None:
    assert len(drawn(run_table([]), 80)) <= 2
