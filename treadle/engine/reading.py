"""Reading runs back: events, files, model turns. Any process may read, whoever drives the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ..graph.errors import InvalidData, InvalidInput, NotFound
from ..graph.events import Event
from ..graph.jsontext import Json, loads
from ..nodes.deps import in_thread
from ..storage.journal import read_journal
from ..storage.runs import EVENTS, check_whole, response_path
from ..storage.wire_log import WireReader, record_path
from ..storage.workspace import FileMissing, HostFile, read_host_file
from ..views import check_model_turn, model_turn
from .services import Services


class PageReader(Protocol):
    def __call__(
        self, *, after_seq: int | None = None, before_seq: int | None = None, limit: int | None = None
    ) -> list[Event]: ...


async def events(
    services: Services,
    driven: Callable[[str], PageReader | None],
    run_id: str,
    after_seq: int | None,
    before_seq: int | None,
    limit: int | None,
) -> list[Event]:
    for name, place in (("after_seq", after_seq), ("before_seq", before_seq), ("limit", limit)):
        if place is not None and type(place) is not int:  # a caller's own text may get here
            raise InvalidInput(f"{name} must be an integer, not {place!r}")
    reader = driven(run_id)

    def read() -> list[Event]:
        if reader is not None:
            return reader(after_seq=after_seq, before_seq=before_seq, limit=limit)
        path = services.store.folder(services.store.load(run_id)) / EVENTS
        return read_journal(path, after_seq=after_seq, before_seq=before_seq, limit=limit, disk=services.disk)

    return await in_thread(read)


async def workspace_file(services: Services, run_id: str, path: str) -> HostFile:
    def read() -> HostFile:
        try:
            return read_host_file(services.store.folder(services.store.load(run_id)), path)
        except FileMissing:
            check_whole(services.store.load(run_id))
            raise

    return await in_thread(read)


async def turn(services: Services, run_id: str, round_number: int, max_chars: int) -> dict[str, Json]:
    check_model_turn(round_number, max_chars)

    def read() -> dict[str, Json]:
        path = response_path(round_number)
        file = services.store.folder(services.store.load(run_id)) / path
        try:
            stored = loads(services.disk.read(file))
        except FileNotFoundError as error:
            check_whole(services.store.load(run_id))
            raise NotFound(f"run {run_id} has no round {round_number}") from error
        except ValueError as error:
            raise InvalidData(f"{path} is not JSON: {error}", code="agent.model_response_parse_failed") from error
        return model_turn(run_id, round_number, path, stored, max_chars)

    return await in_thread(read)


async def wire(services: Services, run_id: str, round_number: int) -> list[dict[str, Json]]:
    if type(round_number) is not int or round_number < 1:
        raise InvalidInput(f"round must be an integer from 1, not {round_number!r}")

    def read() -> list[dict[str, Json]]:
        folder = services.store.folder(services.store.load(run_id))
        found: list[dict[str, Json]] = []
        reader = WireReader(lambda path: _logged(services, folder, path))
        while (folder / record_path(round_number, len(found) + 1)).exists():
            found.append(reader.attempt(round_number, len(found) + 1))
        if not found:
            check_whole(services.store.load(run_id))
            raise NotFound(f"the wire log of run {run_id} holds no round {round_number}")
        return found

    return await in_thread(read)


def _logged(services: Services, folder: Path, path: str) -> bytes:
    try:
        return services.disk.read(folder / path)
    except FileNotFoundError as error:
        raise InvalidData(f"the wire log lacks {path}") from error
