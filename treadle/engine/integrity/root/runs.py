"""Each run by the quick part of its check: its record, its place in the index, its journal's lines, who drives it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from ....graph.errors import InvalidData, NotFound, TreadleError
from ....graph.events import TERMINAL_EVENTS, EventType
from ....graph.status import STATUS_OF_END, RunStatus
from ....storage.checkpoints import FOLDER as CHECKPOINTS
from ....storage.checkpoints import RECORD as CHECKPOINT
from ....storage.database_glance import Glance
from ....storage.runs import DATABASE, EVENTS, RunRecord, run_record
from ..evidence import RECORD, parsed, read_file
from ..journal_lines import Scan, scan
from .problem import Kind, Problem, Repair, Severity
from .survey import RunPlace, Survey

_CHECK = "runs"


@dataclass(frozen=True, slots=True)
class _Look:
    """One run, and how what is found of it is told."""

    survey: Survey
    place: RunPlace

    def problem(
        self, file: str, what: str, severity: Severity, remedy: str, repair: Kind | None = None, path: str | None = None
    ) -> Problem:
        where = path or self.survey.named(self.place.folder / file)
        may = None if repair is None else Repair(repair, where, self.place.run_id)
        return Problem(_CHECK, where, what, severity, remedy, self.place.run_id, may)


def runs(survey: Survey) -> Generator[Problem]:
    for place in survey.runs:
        look = _Look(survey, place)
        if place.is_live:
            yield look.problem("", "somebody drives the run", Severity.NOTE, "it is left alone")
        else:
            yield from _looked_at(look)


def _looked_at(look: _Look) -> Generator[Problem]:
    place = look.place
    if isinstance(place.database, InvalidData):
        remedy = f"treadle runs verify {place.run_id}; a run that ended needs the file no more"
        yield look.problem(DATABASE, place.database.message, Severity.ERROR, remedy)
    try:
        data = read_file(look.survey.services, place.folder / RECORD, RECORD)
    except NotFound:
        yield from _without_record(look)
        return
    record = _record(data)
    if isinstance(record, InvalidData):
        remedy = f"if index/runs/{place.run_id}.json is whole, put a copy of it in its place"
        yield look.problem(RECORD, record.message, Severity.ERROR, remedy)
        return
    if (record.id, record.workspace_id) != (place.run_id, place.folder.parent.parent.name):
        what = f"the record of run {record.id} of {record.workspace_id} stands in another's folder"
        yield look.problem(RECORD, what, Severity.ERROR, "move the folder back to where its record says")
        return
    yield from _index(look, data)
    yield from _journal(look, record)
    yield from _half_made(look)


def _record(data: bytes) -> RunRecord | InvalidData:
    try:
        return run_record(parsed(data, RECORD))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return InvalidData(f"it is not a run record: {error!r}")
    except TreadleError as error:
        return InvalidData(error.message)


def _without_record(look: _Look) -> Generator[Problem]:
    if look.survey.is_old(look.place.folder):
        remedy = f"a start of run {look.place.run_id} takes its place; or remove the folder: it never became a run"
        yield look.problem("", "a start that was cut off before its record", Severity.WARNING, remedy)


def _index(look: _Look, data: bytes) -> Generator[Problem]:
    """A crash between the two writes leaves the copy older, or missing: then the run is in no list."""
    survey = look.survey
    copy = survey.tree / f"index/runs/{look.place.run_id}.json"
    try:
        same = survey.services.disk.read(copy) == data
        what = "it is not as the run's run.json"
    except FileNotFoundError:
        same, what = False, "the run is not in the index, so no list shows it"
    if not same:
        remedy = "--repair makes it again from run.json"
        yield look.problem("", what, Severity.ERROR, remedy, Kind.REBUILD_INDEX, survey.named(copy))


def _journal(look: _Look, record: RunRecord) -> Generator[Problem]:
    try:
        data = read_file(look.survey.services, look.place.folder / EVENTS, EVENTS)
    except NotFound:
        data = b""
    found = scan(data, record.id)
    faults = [finding for finding in found.findings if finding.is_fault]
    verify = f"treadle runs verify {record.id} tells each place"
    for finding in faults[:1]:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        torn = len(faults) == 1 and finding.offset is not None and not data.endswith(b"\n")
        severity = Severity.WARNING if torn else Severity.ERROR
        what = f"line {finding.line}, byte offset {finding.offset}: {finding.found}{more}"
        yield look.problem(EVENTS, what, severity, "left to the run's next driver, who cuts it off" if torn else verify)
    yield from _end(look, record, found, is_damaged=bool(faults))


def _end(look: _Look, record: RunRecord, found: Scan, *, is_damaged: bool) -> Generator[Problem]:
    end = next((line.event for line in found.lines if line.event.type in TERMINAL_EVENTS), None)
    if end is None:
        if record.status.is_terminal:
            what = f"the record says {record.status}, and the journal has no terminal event"
            remedy = "the journal lost its end, or could not be written then; keep the run as evidence"
            yield look.problem(RECORD, what, Severity.ERROR, remedy)
        elif found.lines or record.status is not RunStatus.CREATED:
            yield _interrupted(look, record)
    elif STATUS_OF_END[EventType(end.type)] is not record.status:
        what = f"the record says {record.status}, and the journal ends with {end.type}"
        remedy = (
            "--repair completes the record from the journal" if not is_damaged else "see what is wrong with the journal"
        )
        yield look.problem(RECORD, what, Severity.ERROR, remedy, None if is_damaged else Kind.END_RECORD)


def _interrupted(look: _Look, record: RunRecord) -> Problem:
    database = look.place.database
    lease = database.lease if isinstance(database, Glance) else None
    stale = f"; the lease of {lease.holder} ran out" if lease is not None and lease.expires_ms else ""
    what = f"interrupted while {record.status}{stale}"
    return look.problem("", what, Severity.NOTE, f"treadle resume {record.id}, or treadle cancel {record.id}")


def _half_made(look: _Look) -> Generator[Problem]:
    folder = look.place.folder / CHECKPOINTS
    for entry in sorted(folder.glob("cp_*")) if folder.is_dir() else ():
        if not (entry / CHECKPOINT).is_file():
            what, remedy = "a checkpoint without its record: half made", "the next one of that name takes its place"
            yield look.problem(f"{CHECKPOINTS}/{entry.name}", what, Severity.NOTE, remedy)
