"""What is drawn is the machine: all of it, and nothing else."""

from __future__ import annotations

from typing import Any

from treadle.graph.drawing import Arrow, arrows, as_json, mermaid, retry_arrows
from treadle.graph.table import RETRY_TRANSITIONS, TRANSITIONS, Outcome, Step, edges, signature


def test_the_arrows_hold_each_entry_of_the_table_once() -> None:
    drawn = [(arrow.step, outcome, arrow.next) for arrow in arrows() for outcome in arrow.outcomes]

    assert sorted(drawn) == sorted(
        (step, outcome, after) for step, row in TRANSITIONS.items() for outcome, after in row.items()
    )


def test_outcomes_that_lead_to_the_same_step_share_an_arrow() -> None:
    pairs = [(arrow.step, arrow.next) for arrow in (*arrows(), *retry_arrows())]

    assert len(pairs) == len(set(pairs))


def test_a_label_joins_its_outcomes_with_bars() -> None:
    assert Arrow("commit", ("committed", "refused_by_rule"), "dispatch_tools").label == "committed | refused_by_rule"


def test_the_arrows_inside_retry_model_are_named_as_the_sub_graphs_own() -> None:
    assert {arrow.step for arrow in retry_arrows()} == {"retry_model/backoff", "retry_model/attempt"}
    assert {arrow.next for arrow in retry_arrows()} == {
        "retry_model/attempt",
        "retry_model/backoff",
        "retry_model/__end__",
    }


def test_the_json_holds_every_edge_of_both_tables() -> None:
    machine: dict[str, Any] = as_json()

    retry = next(node["graph"] for node in machine["nodes"] if "graph" in node)
    assert len(machine["edges"]) + len(retry["edges"]) == len(edges())
    assert {"step": "call_model", "outcome": "transient", "next": "retry_model"} in machine["edges"]
    assert {"step": "retry_model/backoff", "outcome": "waited", "next": "retry_model/attempt"} in retry["edges"]


def test_the_json_names_the_steps_the_ends_and_the_signature() -> None:
    machine: dict[str, Any] = as_json()

    assert [node["id"] for node in machine["nodes"]] == [str(step) for step in TRANSITIONS]
    assert (machine["start"], machine["end"], machine["signature"]) == ("resolve_profile", "__end__", signature())


def test_mermaid_says_every_outcome_on_its_arrow() -> None:
    text = mermaid()

    for arrow in (*arrows(), *retry_arrows()):
        assert f'-- "{arrow.label}" -->' in text
    assert text.count("-->") == len(arrows()) + len(retry_arrows()) + 2  # and one from each start


def test_mermaid_draws_the_sub_graph_as_a_cluster_that_holds_its_steps() -> None:
    inside = mermaid().partition("subgraph retry_model")[2].partition("\n    end\n")[0]

    for step in RETRY_TRANSITIONS:
        assert f"[{step}]" in inside
    assert f"{Step.DISPATCH_TOOLS}" not in inside
    assert Outcome.WAITED in inside


def test_mermaid_never_uses_its_own_word_end_as_a_name() -> None:
    names = {word for line in mermaid().splitlines() if "-->" in line for word in (line.split()[0], line.split()[-1])}

    assert "end" not in names
    assert not [name for name in names if "/" in name]
