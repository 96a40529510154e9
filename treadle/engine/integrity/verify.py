"""One run is checked: the table of the checks, and the walk through it. Blocking; nothing of the run is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ...graph.errors import TreadleError
from ...storage.database_glance import Glance
from ..services import Services
from .checkpoints import checkpoints
from .commits import commits
from .custody import custody
from .evidence import Evidence, database_of, gather
from .files import files
from .inputs import inputs
from .order import order
from .promotion import promotion
from .record import record
from .report import Check, Finding, RunReport
from .saved_state import saved_state
from .workspace import workspace


def journal(evidence: Evidence) -> Iterable[Finding]:
    """Each line is an event of the run, in its place."""
    return evidence.damage


CHECKS: Mapping[str, Callable[[Evidence], Iterable[Finding]]] = {
    "journal": journal,
    "order": order,
    "record": record,
    "inputs": inputs,
    "files": files,
    "checkpoints": checkpoints,
    "workspace": workspace,
    "custody": custody,
    "commits": commits,
    "promotion": promotion,
    "state": saved_state,
}
"""In the order in which they are told: what the later ones rest on comes first."""


_AGAIN = "mend what is named here or above; then verify again"
_ODD = (AttributeError, LookupError, TypeError, ValueError)


def verify(services: Services, run_id: str) -> RunReport:
    """Raises NotFound for an unknown run, StorageFailed where the disk refuses."""
    evidence = gather(services, run_id)
    report = _checked(evidence)
    if report.ok or evidence.under_way or not _was_taken_up(services, evidence):
        return report
    return _checked(gather(services, run_id, under_way=True))


def _checked(evidence: Evidence) -> RunReport:
    found = tuple(Check(name, tuple(_found(check, evidence))) for name, check in CHECKS.items())
    return RunReport(evidence.run_id, found, evidence.under_way)


def _found(check: Callable[[Evidence], Iterable[Finding]], evidence: Evidence) -> Iterable[Finding]:
    try:
        yield from check(evidence)
    except TreadleError as error:
        yield Finding(
            "run", "what this check reads", error.message, "mend what is named here or above; then verify again"
        )


def _was_taken_up(services: Services, evidence: Evidence) -> bool:
    """Somebody began to drive the run while it was looked at: what seemed a fault may have been its work."""
    before, now = evidence.database, database_of(services, evidence.folder, evidence.run_id)
    if not isinstance(now, Glance) or now.lease is None:
        return False
    if not isinstance(before, Glance) or before.lease is None:
        return True
    return now.is_live or now.lease.epoch != before.lease.epoch
