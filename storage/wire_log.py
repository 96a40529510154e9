"""The wire log of a run: what went out to its model and what came back, one file an attempt.

A request of the `full` level is kept as the list of its fragments, each stored once under its SHA-256, and says only
how many it shares with the request before it: so the log grows with what is said, not with how often it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ..graph.errors import InvalidData
from ..graph.identity import round_file_stem
from ..graph.jsontext import Json, is_list, is_object, loads
from ..graph.text import sha256_bytes

WireLevel = Literal["off", "metadata", "full"]
"""Nothing, everything but the bodies, or the bodies too."""

LEVELS: tuple[WireLevel, ...] = get_args(WireLevel)

_FOLDER = "wire"
_INLINE = "="
_INLINE_BYTES = 64
"""A shorter fragment stands in the list itself: its digest would be longer."""


@dataclass(frozen=True, slots=True)
class Place:
    """One call on the wire: the round, the attempt, and how many calls of that attempt came before it."""

    round: int
    attempt: int
    call: int

    def to_json(self) -> dict[str, Json]:
        return {"round": self.round, "attempt": self.attempt, "call": self.call}


@dataclass(slots=True)
class FragmentList:
    """How the newest request was made up, so that the next one need only say what is new."""

    place: Place | None = None
    entries: list[str] = field(default_factory=list[str])

    def told(self, place: Place, pieces: Iterable[bytes]) -> tuple[dict[str, Json], list[tuple[str, bytes]]]:
        """The list as a record holds it, and the fragments to store: (path, bytes), those it has in common left out."""
        given = list(pieces)
        entries = [_entry(piece) for piece in given]
        shared = _common(self.entries, entries)
        told: dict[str, Json] = {"fragments": entries[shared:]}
        if shared and self.place is not None:
            told["after"] = {**self.place.to_json(), "fragments": shared}
        new = [(fragment_path(entry), piece) for entry, piece in zip(entries, given, strict=True) if _is_stored(entry)]
        known = {fragment_path(entry) for entry in self.entries if _is_stored(entry)}
        self.place, self.entries = place, entries
        return told, [(path, piece) for path, piece in dict(new).items() if path not in known]


def record_path(round_number: int, attempt: int) -> str:
    return f"{_FOLDER}/{round_file_stem(round_number)}-{attempt}.json"


def fragment_path(sha256: str) -> str:
    return f"{_FOLDER}/fragments/{sha256}"


Read = Callable[[str], bytes]
"""A file of the run folder, by its path inside it."""


class WireReader:
    """Reads the log back; blocking. Raises InvalidData where a record or a fragment is damaged."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._records: dict[str, Json] = {}

    def attempt(self, round_number: int, attempt: int) -> dict[str, Json]:
        """One attempt's record, its bodies put in where they were kept: `request.body` and `response.body`, as text."""
        record = self._record(round_number, attempt)
        calls = [self._whole(call, Place(round_number, attempt, number)) for number, call in enumerate(_calls(record))]
        return {**record, "calls": calls}

    def body(self, place: Place) -> bytes:
        """A request's body, put together from its fragments."""
        return b"".join(self._piece(entry) for entry in self._entries(place))

    def _whole(self, call: dict[str, Json], place: Place) -> dict[str, Json]:
        whole = {key: dict(value) if is_object(value) else value for key, value in call.items()}
        if "fragments" in whole["request"]:
            whole["request"] = {key: value for key, value in whole["request"].items() if key not in _LISTED}
            whole["request"]["body"] = self.body(place).decode("utf-8", "replace")
        response = whole["response"]
        if is_object(response) and "path" in response:
            response["body"] = self._read(response["path"]).decode("utf-8", "replace")
        return whole

    def _entries(self, place: Place) -> list[str]:
        """The fragments of a request, those it shares with earlier ones in front."""
        tails: list[tuple[int, list[str]]] = []
        at: Place | None = place
        while at is not None:
            request = _call(self._record(at.round, at.attempt), at)["request"]
            own, after = request.get("fragments"), request.get("after")
            if not is_list(own):
                raise InvalidData(
                    f"{record_path(at.round, at.attempt)} lists no fragments, though a later one builds on it"
                )
            tails.append((after["fragments"] if is_object(after) else 0, own))
            at = Place(after["round"], after["attempt"], after["call"]) if is_object(after) else None
        entries: list[str] = []
        for shared, own in reversed(tails):
            entries = entries[:shared] + own
        return entries

    def _piece(self, entry: str) -> bytes:
        if not _is_stored(entry):
            return entry.removeprefix(_INLINE).encode()
        piece = self._read(fragment_path(entry))
        if sha256_bytes(piece) != entry:
            raise InvalidData(f"{fragment_path(entry)} is not as it was written")
        return piece

    def _record(self, round_number: int, attempt: int) -> Json:
        path = record_path(round_number, attempt)
        if path not in self._records:
            try:
                self._records[path] = loads(self._read(path))
            except ValueError as error:
                raise InvalidData(f"{path} is not JSON: {error}") from error
        return self._records[path]


_LISTED = ("fragments", "after")


def _calls(record: Json) -> list[dict[str, Json]]:
    calls = record.get("calls") if is_object(record) else None
    if not is_list(calls) or not all(is_object(call) and is_object(call.get("request")) for call in calls):
        raise InvalidData("a record of the wire log does not list its calls")
    return calls


def _call(record: Json, place: Place) -> dict[str, Json]:
    calls = _calls(record)
    if place.call >= len(calls):
        raise InvalidData(f"{record_path(place.round, place.attempt)} has no call {place.call + 1}")
    return calls[place.call]


def _entry(piece: bytes) -> str:
    return _INLINE + piece.decode() if len(piece) < _INLINE_BYTES and piece.isascii() else sha256_bytes(piece)


def _is_stored(entry: str) -> bool:
    return not entry.startswith(_INLINE)


def _common(before: Sequence[str], now: Sequence[str]) -> int:
    count = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        count += 1
    return count
