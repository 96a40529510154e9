"""What the scripted writer says, and the profiles it says it under."""

from __future__ import annotations

from treadle.graph.jsontext import Json
from treadle.graph.profiles.resolved import default_writer
from treadle.testkit.replies import call, calls, error, text

DRAFT = "It is the tide, come to ask for its kettle back."
CODA = " She pours it a cup."

WRITE = calls(call("workspace.write_file", path="output/main.md", content=DRAFT))
WRITE_CODA = calls(call("workspace.write_file", path="output/coda.md", content=CODA))
WRITE_NOTES = calls(call("workspace.write_file", path="persist/notes.md", content="The tide owns a kettle.\n"))
WRITE_OTHER_NOTES = calls(call("workspace.write_file", path="persist/notes.md", content="Nobody owns the tide.\n"))
READ_NOTES = calls(call("workspace.read_file", path="persist/notes.md"))
READ = calls(call("workspace.read_file", path="output/main.md"))
LIST = calls(call("workspace.list_files"))
LIST_AND_COMMIT = calls(call("workspace.list_files"), call("workspace.commit"))
READ_LORE = calls(call("worldinfo.read_activated", entries=[{"ref": "worldinfo:Eldoria#1"}]))
COMMIT = calls(call("workspace.commit"))
COMMIT_CODA = calls(call("workspace.commit", path="output/coda.md", mode="append", reason="one more beat"))
FINISH = calls(call("workspace.finish"))
COMMIT_AND_FINISH = calls(call("workspace.commit"), call("workspace.finish"))
TALK = text("Shall I write something about the tide?")
BUSY = error(429, "Slow down.", type="rate_limit_error")
NO_SUCH_MODEL = error(400, "There is no such model.")


def profile(*, presentation: str | None = None, max_rounds: int | None = None, **run: Json) -> Json:
    """The built-in profile with changes; `run` are keys of its `run` block."""
    changed = default_writer().to_json()
    changed["run"] |= run
    if presentation is not None:
        changed["run"]["presentation"] = presentation
    if max_rounds is not None:
        changed["tools"]["maxRounds"] = max_rounds
    return changed


def retries(count: int, interval_ms: int = 3000) -> dict[str, Json]:
    return {"modelRetry": {"maxRetries": count, "intervalMs": interval_ms}}


def corrections(count: int) -> dict[str, Json]:
    return {"driftRecovery": {"maxAttempts": count}}
