"""Whatever is damaged in a run's folder: a check never breaks on it, and finds it where anything holds it against more.

What can't be found, since nothing else in the folder tells it: words of a journalled event that no check looks at (times,
counts of characters, ids that stay well formed), the text of a result that went well, the wire log, and the prompt snapshot
of a run whose start request is not kept whole (a note says so).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle.graph.jsontext import Json, dumps, is_list, is_object, loads

from .samples import Sample

FEW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(FEW, max_examples=200)

GUARDED = re.compile(
    r"run\.json|manifest\.json|model-responses/.*\.body|checkpoints/content/.*|output/.*|persist/.*|tool-args/.*"
    r"|input/generation_intent\.json|checkpoints/.*/checkpoint\.json"
)
"""Files of which every byte that means anything is told somewhere else too."""
_UNTOLD = re.compile(rb'"createdAt": "[^"]*"')
"""The one word of such a file that nothing else tells: a checkpoint's time."""
NEEDLESS = re.compile(r"wire/.*")
"""Files whose loss nothing tells."""
ODD: list[Json] = [None, 0, -1, True, "", "../..", "\x00", "\ud800", [], {}, [[]], 2**70, 1.5]
SHA256 = re.compile(rb"\b[0-9a-f]{64}\b")


@contextmanager
def damaged(whole: Sample) -> Generator[Sample]:
    with tempfile.TemporaryDirectory() as folder:
        yield whole.copy(Path(folder) / "data")


def files(sample: Sample, chosen: str = ".*", left_out: str = r"(?!)") -> list[Path]:
    """Of the run's folder, by path."""
    found = [path.relative_to(sample.folder).as_posix() for path in sample.folder.rglob("*") if path.is_file()]
    return [Path(path) for path in sorted(found) if re.fullmatch(chosen, path) and not re.fullmatch(left_out, path)]


def flip(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


def says_the_same(before: bytes, after: bytes) -> bool:
    """JSON whose values are the same, or differ in what nothing else tells."""
    try:
        return bool(loads(_UNTOLD.sub(b'"createdAt": ""', after)) == loads(_UNTOLD.sub(b'"createdAt": ""', before)))
    except ValueError:
        return False


def _flip_in_a_guarded_file(whole: Sample, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(files(whole, GUARDED.pattern)))
    before = (whole.folder / path).read_bytes()
    after = flip(before, data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(0, 7)))
    with damaged(whole) as sample:
        (sample.folder / path).write_bytes(after)

        assert sample.found() or (path.suffix == ".json" and says_the_same(before, after))


def _flip_anywhere(whole: Sample, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(files(whole)))
    before = (whole.folder / path).read_bytes()
    with damaged(whole) as sample:
        for _ in range(data.draw(st.integers(1, 3))):
            at, bit = data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(0, 7))
            (sample.folder / path).write_bytes(flip((sample.folder / path).read_bytes(), at, bit))

        sample.verified()


def _any_value_in_place_of_another(whole: Sample, data: st.DataObject) -> None:
    """JSON that parses, and holds something else than it should: no check trips over it."""
    path = data.draw(st.sampled_from([*files(whole, r".*\.json"), Path("events.jsonl")]))
    odd = data.draw(st.sampled_from(ODD))
    with damaged(whole) as sample:
        file = sample.folder / path
        if path.name == "events.jsonl":
            lines = file.read_bytes().splitlines()
            at = data.draw(st.integers(0, len(lines) - 1))
            lines[at] = dumps(_replaced(loads(lines[at]), data, odd))
            file.write_bytes(b"\n".join(lines) + b"\n")
        else:
            file.write_bytes(dumps(_replaced(loads(file.read_bytes()), data, odd)))

        sample.verified()


def _a_line_lost_moved_or_doubled(whole: Sample, data: st.DataObject) -> None:
    lines = whole.journal.read_bytes().splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    to = data.draw(st.integers(0, len(lines) - 1).filter(lambda place: place != at))
    kept = [*lines[:at], *lines[at + 1 :]]
    with damaged(whole) as sample:
        for damage in (kept, [*lines[: at + 1], *lines[at:]], [*kept[:to], lines[at], *kept[to:]]):
            sample.journal.write_bytes(b"".join(damage))

            assert sample.found()


def _a_journal_cut_anywhere(whole: Sample, data: st.DataObject) -> None:
    before = whole.journal.read_bytes()
    size = data.draw(st.integers(0, len(before) - 1))
    with damaged(whole) as sample:
        sample.journal.write_bytes(before[:size])

        # without its last newline it is whole, and that is a note
        assert sample.found(faults_only=size < len(before) - 1)


def _replaced(value: Json, data: st.DataObject, odd: Json) -> Json:
    """The value with something odd at a place in it, or in place of all of it."""
    deeper = data.draw(st.integers(0, 4)) > 0
    if is_object(value) and value and deeper:
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: _replaced(value[key], data, odd)}
    if is_list(value) and value and deeper:
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], _replaced(value[at], data, odd), *value[at + 1 :]]
    return odd


@FEW
@given(data=st.data())
def test_a_flipped_bit_of_a_file_that_is_told_elsewhere_is_found(whole: Sample, data: st.DataObject) -> None:
    _flip_in_a_guarded_file(whole, data)


@FEW
@given(data=st.data())
def test_no_check_breaks_on_a_flipped_bit(whole: Sample, data: st.DataObject) -> None:
    _flip_anywhere(whole, data)


@FEW
@given(data=st.data())
def test_no_check_breaks_on_a_value_in_the_place_of_another(whole: Sample, data: st.DataObject) -> None:
    _any_value_in_place_of_another(whole, data)


@FEW
@given(data=st.data())
def test_a_line_that_is_lost_moved_or_doubled_is_found(whole: Sample, data: st.DataObject) -> None:
    _a_line_lost_moved_or_doubled(whole, data)


@FEW
@given(data=st.data())
def test_a_journal_that_was_cut_anywhere_is_found(whole: Sample, data: st.DataObject) -> None:
    _a_journal_cut_anywhere(whole, data)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "damage",
    [
        _flip_in_a_guarded_file,
        _flip_anywhere,
        _any_value_in_place_of_another,
        _a_line_lost_moved_or_doubled,
        _a_journal_cut_anywhere,
    ],
)
def test_many_damages_of_each_kind(whole: Sample, damage: object) -> None:
    @MANY
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        assert callable(damage)
        damage(whole, data)

    run()


@pytest.mark.slow
def test_each_file_that_is_lost_is_found(whole: Sample) -> None:
    for path in files(whole, left_out=NEEDLESS.pattern):
        with damaged(whole) as sample:
            (sample.folder / path).unlink()

            assert sample.found(), path


@pytest.mark.slow
def test_each_file_that_is_empty_or_a_folder_is_found(whole: Sample) -> None:
    for path in files(whole, left_out=NEEDLESS.pattern):
        with damaged(whole) as sample:
            file = sample.folder / path
            file.write_bytes(b"")
            assert sample.found(faults_only=path.name != "prompt_snapshot.json"), path
            file.unlink()
            file.mkdir()
            assert sample.found(), path


def test_each_hash_that_is_another_is_found(whole: Sample) -> None:
    """Wherever one stands in the journal, the records and the answers; what a model was told of a file is not looked at."""
    for path in files(whole, r".*\.jsonl?", left_out=r"wire/.*|tool-results/.*"):
        before = (whole.folder / path).read_bytes()
        with damaged(whole) as sample:
            for match in SHA256.finditer(before):
                other = b"0" * 64 if match[0] != b"0" * 64 else b"1" * 64
                (sample.folder / path).write_bytes(before[: match.start()] + other + before[match.end() :])

                assert sample.found(), (path, before[match.start() - 60 : match.end()])


def test_a_run_folder_that_holds_nothing_is_told_and_breaks_nothing(whole: Sample) -> None:
    with damaged(whole) as sample:
        folder = sample.folder
        shutil.rmtree(folder)
        folder.mkdir()

        assert sample.found()
