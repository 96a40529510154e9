"""The commits of a run: each was asked for as it was kept, and they are counted from one on."""

from __future__ import annotations

from collections.abc import Generator

from ...graph.errors import TreadleError
from ...graph.events import EventType
from ...graph.jsontext import Json
from ...storage.runs import RunRecord
from .evidence import Evidence
from .journal_lines import Line
from .report import Finding

_LOST = "events were lost or changed; put the journal back from a copy, or keep the run as evidence"


def commits(evidence: Evidence) -> Generator[Finding]:
    yield from _counted(evidence)
    for line in evidence.of(EventType.CHAT_COMMIT_REQUESTED):
        told: Json = line.event.payload
        for key, held in _identity(evidence).items():
            if told.get(key) != held:
                yield line.finding(
                    f"{held!r}, as run.json has it", f"tells {told.get(key)!r}", _LOST, f"$.payload.{key}"
                )
        kept = {
            each.event.payload["checkpointId"]
            for each in evidence.of(EventType.CHECKPOINT_CREATED)
            if each.event.seq < line.event.seq and each.event.payload["reason"] == "chat_commit"
        }
        if told["checkpointId"] not in kept:
            yield line.finding(f"{told['checkpointId']} created before it", "comes without", _LOST)
        elif not evidence.is_slim:
            yield from _same_text(evidence, line)


def _same_text(evidence: Evidence, line: Line) -> Generator[Finding]:
    told: Json = line.event.payload
    try:
        stamps = evidence.checkpoint(told["checkpointId"]).files
    except TreadleError:
        return  # the check of the checkpoints tells it
    held = next((stamp.sha256 for stamp in stamps if stamp.path == told["path"]), None)
    if held != told["sha256"]:
        found = f"tells {told['sha256']}"
        yield line.finding(f"sha256 {held} of {told['path']}, as it was kept", found, _LOST, "$.payload.sha256")


def _identity(evidence: Evidence) -> dict[str, Json]:
    record = evidence.record
    if not isinstance(record, RunRecord):
        return {"runId": evidence.run_id}
    return {
        "runId": evidence.run_id,
        "workspaceId": record.workspace_id,
        "stableChatId": record.stable_chat_id,
        "chatRef": record.chat_ref.to_json(),
        "generationType": record.generation_type,
        "profileId": record.profile_id,
        "persistBaseStateId": record.persist_base_state_id,
    }


def _counted(evidence: Evidence) -> Generator[Finding]:
    number = 0
    for number, line in enumerate(evidence.of(EventType.CHAT_COMMIT_RECORDED), start=1):
        if line.event.payload["commitCount"] != number:
            found = f"tells {line.event.payload['commitCount']}"
            yield line.finding(f"commit {number}", found, _LOST, "$.payload.commitCount")
    for line in evidence.of(EventType.AGENT_LOOP_FINISHED):
        if line.event.payload["commitCount"] != number:
            found = f"tells {line.event.payload['commitCount']}"
            yield line.finding(f"{number} commits", found, _LOST, "$.payload.commitCount")
    for line in evidence.of(EventType.RUN_PARTIAL_SUCCESS):
        if line.event.payload.get("preservedCommitCount") != number:
            found = f"tells {line.event.payload.get('preservedCommitCount')}"
            yield line.finding(f"{number} commits", found, _LOST, "$.payload.preservedCommitCount")
    waiting = {line.event.payload["commitId"]: line for line in evidence.of(EventType.CHAT_COMMIT_COMPLETED)}
    for line in evidence.of(EventType.CHAT_COMMIT_RECORDED):
        waiting.pop(line.event.payload["commitId"], None)
    for line in waiting.values():
        if evidence.lines[-1].event.seq > line.event.seq + _UNTIL_RECORDED:
            yield line.finding("chat_commit_recorded soon after it", "is never recorded", _LOST)


_UNTIL_RECORDED = 4
"""Events that may come before a commit is recorded: its result, its end, and word of a resume."""
