"""The journal: nothing that dies loses work, nothing that is damaged passes, nothing is mixed."""

from __future__ import annotations

import errno
import os
import resource
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search import journal as journal_module
from dse.search.journal import Journal
from dse.search.record import Record
from dse.search.run import Cell, open_journal, run_cell
from dse.support.errors import InputError, StorageError
from searchers.random import Random
from searchers.walk import Walk
from tests.search.journal_cases import CELL, PROBLEM, SIZES, assert_same, drawn, first
from workloads import load_layer


def write(path: Path, record: Record, *ends: int) -> list[int]:
    """A journal of the record in frames that end at the samples `ends`; where in the file each ends."""
    places = []
    with Journal(path, CELL, SIZES) as journal:
        for end in ends:
            journal.sync(first(record, end), force=True)
            places.append(path.stat().st_size)
    return places


def recovered(path: Path) -> Record:
    with Journal(path, CELL, SIZES) as journal:
        return journal.recovered


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_a_journal_gives_back_what_was_written(tmp_path: Path, tiles: str) -> None:
    problem = Problem(load_layer("alexnet:2"), PRESETS["edge"], "edp", "maestro", tiles=tiles)
    record, sizes = drawn(9000, problem=problem), [gene.size for gene in problem.space.genes]
    with Journal(tmp_path / "j", CELL, sizes) as journal:
        assert len(journal.recovered) == 0
        journal.sync(record, force=True)
    with Journal(tmp_path / "j", CELL, sizes) as journal:
        assert_same(journal.recovered, record)


def test_a_journal_goes_on_where_it_left_off(tmp_path: Path) -> None:
    record = drawn(900)
    for end in (100, 101, 900):
        with Journal(tmp_path / "j", CELL, SIZES) as journal:
            journal.sync(first(record, end), force=True)
    assert_same(recovered(tmp_path / "j"), record)


def test_samples_that_are_drawn_one_by_one_take_less_than_60_bytes_on_disk(tmp_path: Path) -> None:
    for tiles in ("factors", "any"):
        problem = replace(PROBLEM, tiles=tiles)
        path, cell = tmp_path / tiles, Cell(problem, "one by one", Random(batch_size=1), 0, 1000)
        with open_journal(cell, path) as journal:
            record = run_cell(cell, journal)
        assert path.stat().st_size < 50 * 1000
        with open_journal(cell, path) as journal:
            assert_same(journal.recovered, record)


def test_few_samples_wait_in_memory_and_none_for_long(tmp_path: Path, monkeypatch) -> None:
    record = drawn(1000)
    with Journal(tmp_path / "j", CELL, SIZES) as journal:
        monkeypatch.setattr(journal_module, "FRAME_SECONDS", 1000)
        for end in range(1, 1001):
            journal.sync(first(record, end))
            assert end - journal.samples < journal_module.FRAME_ROWS
        assert journal.samples < 1000
        monkeypatch.setattr(journal_module, "FRAME_SECONDS", 0)
        journal.sync(record)
        assert journal.samples == 1000


def test_a_torn_tail_is_forgiven_wherever_it_tore(tmp_path: Path) -> None:
    record = drawn(46)
    _, before, end = write(tmp_path / "j", record, 20, 40, 46)
    content = (tmp_path / "j").read_bytes()
    for cut in range(before, end):
        (tmp_path / "j").write_bytes(content[:cut])
        with Journal(tmp_path / "j", CELL, SIZES) as journal:
            assert_same(journal.recovered, first(record, 40))
            journal.sync(record, force=True)
        assert (tmp_path / "j").read_bytes() == content


def test_a_torn_header_is_forgiven_wherever_it_tore(tmp_path: Path) -> None:
    (begun,) = write(tmp_path / "j", drawn(0), 0)
    content = (tmp_path / "j").read_bytes()
    for cut in range(begun):
        (tmp_path / "j").write_bytes(content[:cut])
        assert len(recovered(tmp_path / "j")) == 0
        assert (tmp_path / "j").read_bytes() == content


def test_a_tail_of_zeros_after_a_power_cut_is_forgiven(tmp_path: Path) -> None:
    record = drawn(40)
    write(tmp_path / "j", record, 20, 40)
    with (tmp_path / "j").open("ab") as file:
        file.write(bytes(3000))
    assert_same(recovered(tmp_path / "j"), record)


def test_damage_at_any_byte_of_a_frame_is_named_and_nothing_is_cut(tmp_path: Path) -> None:
    begun, start, end, _ = write(tmp_path / "j", drawn(30), 0, 10, 20, 30)
    content = (tmp_path / "j").read_bytes()
    for place in [*range(start, end), *range(begun, begun + 20)]:
        damaged = content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :]
        (tmp_path / "j").write_bytes(damaged)
        frame, good = (start, 10) if place >= start else (begun, 0)
        with pytest.raises(InputError, match=f"is damaged at byte {frame}, after {good} good samples"):
            recovered(tmp_path / "j")
        assert (tmp_path / "j").read_bytes() == damaged


def test_a_damaged_last_frame_is_not_taken_for_a_torn_one(tmp_path: Path) -> None:
    start, end = write(tmp_path / "j", drawn(20), 10, 20)
    content = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(content[: end - 1] + bytes([content[end - 1] ^ 1]))
    with pytest.raises(InputError, match=f"damaged at byte {start}, after 10 good"):
        recovered(tmp_path / "j")


def test_damage_to_the_header_is_refused(tmp_path: Path) -> None:
    (begun,) = write(tmp_path / "j", drawn(0), 0)
    content = (tmp_path / "j").read_bytes()
    for place in range(begun):
        (tmp_path / "j").write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        with pytest.raises(InputError, match=r"not a journal|has format|damaged at byte 0"):
            recovered(tmp_path / "j")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"loss,genes\n1,2\n", "'.*j' is not a journal of samples"),
        (b"\x7fELF" + bytes(500), "'.*j' is not a journal of samples"),
        (b"DSEJRNL\x09" + bytes(500), "has format 9, this program reads 1"),
    ],
)
def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(InputError, match=message):
        recovered(tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == content


def test_the_journal_of_another_cell_is_refused_with_what_differs(tmp_path: Path) -> None:
    write(tmp_path / "j", drawn(5), 5)
    other = {"problem": {"layer": {"K": 65}, "objective": "edp"}, "seed": 3}
    with pytest.raises(InputError, match=r"belongs to another cell: problem.layer.K is 64 there and 65 here"):
        Journal(tmp_path / "j", other, SIZES)
    assert_same(recovered(tmp_path / "j"), drawn(5))


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "j"
    open_it = (
        "import sys, pathlib\n"
        "from dse.search.journal import Journal; from dse.support.errors import InputError\n"
        f"try: Journal(pathlib.Path(sys.argv[1]), {CELL!r}, {SIZES!r})\n"
        "except InputError as error: print(error)"
    )
    with Journal(path, CELL, SIZES) as journal:
        journal.sync(drawn(5), force=True)
        with pytest.raises(InputError, match="is in use by another process"):
            Journal(path, CELL, SIZES)
        done = subprocess.run([sys.executable, "-c", open_it, path], capture_output=True, text=True)
        assert done.stdout == f"journal {str(path)!r} is in use by another process\n"
    assert len(recovered(path)) == 5


def test_a_discarded_journal_is_gone(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", CELL, SIZES) as journal:
        journal.sync(drawn(5), force=True)
        journal.discard()
    assert not (tmp_path / "j").exists()
    assert len(recovered(tmp_path / "j")) == 0


@pytest.mark.parametrize(
    ("place", "why"), [("missing/j", "No such file"), ("file/j", "Not a directory"), (".", "Is a directory")]
)
def test_a_journal_that_cannot_be_made_says_so(tmp_path: Path, place: str, why: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=f"journal '.*' cannot be opened: {why}"):
        Journal(tmp_path / place, CELL, SIZES)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes here: writes that would are cut short.

    It has to end inside a test: what reports on the tests may be writing to a longer file.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(("samples", "rows"), [(300, 300), (200, 4000), (1, 10**9), (100, 0)])
def test_a_journal_unpacks_to_no_more_than_its_budget(tmp_path: Path, samples: int, rows: int) -> None:
    record, path = drawn(samples), tmp_path / "j"
    write(path, record, samples)
    content = bytearray(path.read_bytes())
    place = content.index(b"SMPL")
    # As somebody would who knows the format: the frame's own checksum agrees with what it says.
    head = struct.pack("<4sI", b"SMPL", rows) + content[place + 8 : place + 16]
    content[place : place + 20] = head + struct.pack("<I", zlib.crc32(head))
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"is damaged at byte {place}"):
        Journal(path, CELL, SIZES, most=250)


def test_a_journal_longer_than_its_budget_takes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, drawn(10), 10)
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="is damaged at byte"):
        Journal(path, CELL, SIZES, most=10)


def test_a_frame_that_does_not_fit_on_the_disk_is_taken_back(tmp_path: Path) -> None:
    record, path = drawn(2000), tmp_path / "j"
    with Journal(path, CELL, SIZES) as journal:
        journal.sync(first(record, 1000), force=True)
        good = path.read_bytes()
        for spare in (0, 1, 20, 5000):
            with (
                room_for(len(good) + spare),
                pytest.raises(StorageError, match="cannot be written: File too large; what it already holds"),
            ):
                journal.sync(record, force=True)
            assert path.read_bytes() == good
        journal.sync(record, force=True)
    assert_same(recovered(path), record)


def test_a_journal_that_does_not_fit_on_the_disk_at_all_leaves_no_file(tmp_path: Path) -> None:
    with room_for(40), pytest.raises(StorageError, match="cannot be read or written: File too large"):
        Journal(tmp_path / "j", CELL, SIZES)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_stops_the_search_and_loses_no_sample_written(tmp_path: Path, monkeypatch) -> None:
    cell, path = Cell(PROBLEM, "walk", Walk(), 1, 3000), tmp_path / "j"
    pwrite, room = os.pwrite, 20_000

    def pwrite_until_full(file: int, data: bytes, offset: int) -> int:
        if offset >= room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(file, data[: room - offset], offset)

    monkeypatch.setattr(os, "pwrite", pwrite_until_full)
    with (
        open_journal(cell, path) as journal,
        pytest.raises(
            StorageError, match=r"cannot be written: No space left on device; .* run again to go on"
        ),
    ):
        run_cell(cell, journal)
    monkeypatch.undo()
    whole = run_cell(cell)
    with open_journal(cell, path) as journal:
        assert 200 < len(journal.recovered) < 2000
        assert_same(journal.recovered, first(whole, len(journal.recovered)))
        assert_same(run_cell(cell, journal), whole)
