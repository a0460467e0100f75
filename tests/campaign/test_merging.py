"""Shards of a campaign, run apart and put together, are the campaign; others are refused."""

from __future__ import annotations

import dataclasses
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from dse.campaign.config import Campaign, Shard
from dse.campaign.curves import CURVES, read_curves, write_curves
from dse.campaign.executors import InProcess
from dse.campaign.merging import merge_folders
from dse.campaign.progress import LineDisplay
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.search.record import Record, read_parquet, write_parquet
from dse.search.run import open_journal, run_cell
from dse.support.errors import InputError
from tests.campaign.test_campaign import campaign, records, run
from tests.conftest import Dse

PLAN = campaign(("random", None), ("walk", None), seeds=2, budget=60)
SHARDS = 3


def run_shard(folder: Path, plan: Campaign, number: int) -> None:
    with Store(folder, plan, Shard(number, SHARDS)) as store:
        run_campaign(store, LineDisplay(io.StringIO()), workers=1, make_executor=InProcess)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    home = tmp_path_factory.mktemp("shards")
    folders = [home / str(number) for number in range(1, SHARDS + 1)]
    for number, folder in enumerate(folders, start=1):
        run_shard(folder, PLAN, number)
    return folders


def test_shards_are_all_of_the_cells_each_once_and_evenly() -> None:
    cells = list(PLAN.cells())
    parts = [Shard(number, SHARDS).of(cells) for number in range(1, SHARDS + 1)]
    assert sorted(key for part in parts for key in part) == sorted(named.key for named in cells)
    assert {len(part) for part in parts} == {2, 3}


@pytest.mark.parametrize("text", ["2", "0/3", "4/3", "1/0", "-1/2", "1/2/3", "a/b"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--shard must be like 2/8"):
        Shard.parse(text)


def test_merged_shards_are_the_campaign(tmp_path: Path, shards: list[Path], dse: Dse) -> None:
    out = tmp_path / "merged"
    outcome = dse("merge", *map(str, shards), "--out", str(out), "--json")
    nothing = {"damaged": [], "lost": [], "conflicts": []}
    assert outcome.json == {"folder": str(out), "done": 8, "planned": 8, "written": True, **nothing}
    result, shown = run(out, PLAN)
    assert result.done == 8
    assert "8 of them are done already" in shown
    run(tmp_path / "whole", PLAN)
    assert records(out) == records(tmp_path / "whole")
    ours, theirs = (read_curves(folder / CURVES) for folder in (out, tmp_path / "whole"))
    clock = {"searcher_seconds": 0.0, "model_seconds": 0.0}
    assert [dataclasses.replace(one, **clock) for one in ours[0]] == [
        dataclasses.replace(one, **clock) for one in theirs[0]
    ]
    assert {**ours[1], "runs": []} == {**theirs[1], "runs": []}


def test_a_missing_shard_is_run_where_the_others_were_merged(tmp_path: Path, shards: list[Path]) -> None:
    out = tmp_path / "merged"
    merged = merge_folders(shards[:2], out)
    assert (merged.done, merged.planned) == (8 - len(records(shards[2])), 8)
    # Cells that two folders have, and that came out the same, are one.
    assert run(out, PLAN)[0].done == 8
    assert merge_folders([out, shards[2]], tmp_path / "again").done == 8


def test_what_does_not_belong_together_is_refused(tmp_path: Path, shards: list[Path], dse: Dse) -> None:
    out = tmp_path / "merged"
    run_shard(tmp_path / "longer", dataclasses.replace(PLAN, budget=70), 1)
    said = dse("merge", str(shards[0]), str(tmp_path / "longer"), "--out", str(out)).refused()
    assert said.endswith("are not of one campaign: budget 60 -> 70")
    copy = Path(shutil.copytree(shards[0], tmp_path / "copy"))
    (copy / "ledger.sqlite").unlink()
    summaries, about = read_curves(copy / CURVES)
    changed = dataclasses.replace(summaries[0], distinct=1)
    write_curves(copy / CURVES, [changed, *summaries[1:]], about)
    differing = dse("merge", str(shards[0]), str(copy), "--out", str(out))
    assert differing.code == 1
    assert "came out differently; a cell draws the same samples everywhere" in differing.err
    assert f"nothing is written to {out}" in differing.err
    with Store(shards[0], PLAN), pytest.raises(InputError, match="is in use by another run"):
        merge_folders(shards, out)
    for taken in (shards[0], Path("/dev/null")):
        with pytest.raises(InputError, match="is there, and no empty folder; choose a new one"):
            merge_folders(shards, taken)
    with pytest.raises(InputError, match=r"holds no curves\.parquet"):
        merge_folders([tmp_path / "nowhere"], out)
    assert not out.exists()


def record_of(folder: Path, number: int = 0) -> Path:
    return sorted((folder / "cells").glob("*.parquet"))[number]


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)


def take_fewer(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 59), path, write_page_checksum=True)


def change_a_loss(path: Path) -> None:
    record, about = read_parquet(path)
    evaluations = record.evaluations()
    evaluations.loss[np.argmin(evaluations.loss)] /= 2
    changed = Record(record.genes().shape[1])
    changed.append(record.genes(), evaluations)
    write_parquet(changed, path, about)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "flipped": lambda path: flip(path, 200),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"0" * 9999),
    "fewer samples": take_fewer,
    "another cell's": lambda path: shutil.copyfile(record_of(path.parent.parent, 1), path),
    "the curves": lambda path: shutil.copyfile(path.parent.parent / CURVES, path),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_of_two_copies_the_sound_one_is_taken_and_the_other_is_named(
    tmp_path: Path, shards: list[Path], dse: Dse, damage: Callable[[Path], object]
) -> None:
    copy = Path(shutil.copytree(shards[0], tmp_path / "copy"))
    hurt, sound = record_of(copy), record_of(shards[0])
    damage(hurt)
    before = content(copy)
    for number, folders in enumerate(([copy, shards[0]], [shards[0], copy])):
        out = tmp_path / str(number)
        merged = dse("merge", *map(str, folders), "--out", str(out))
        assert merged.code == 0
        assert f"record {str(hurt)!r}" in merged.err
        assert f"{str(sound)!r} is taken instead" in merged.err
        assert records(out) == records(shards[0])
    alone = dse("merge", str(copy), "--out", str(tmp_path / "alone"))
    assert alone.code == 1
    assert f"record {str(hurt)!r}" in alone.err
    assert "nothing stands in for its samples, which are left out" in alone.err
    assert len(records(tmp_path / "alone")) == len(records(shards[0])) - 1
    assert content(copy) == before


def test_copies_that_are_sound_and_differ_are_refused_and_nothing_is_written(
    tmp_path: Path, shards: list[Path], dse: Dse
) -> None:
    copy = Path(shutil.copytree(shards[0], tmp_path / "copy"))
    change_a_loss(record_of(copy))
    for folders, said in (
        ([shards[0], copy], f"and {str(record_of(copy))!r} are sound and differ from sample "),
        ([copy], "differ in their steps"),
    ):
        merged = dse("merge", *map(str, folders), "--out", str(tmp_path / "out"), "--json")
        assert merged.code == 1
        assert said in merged.err
        assert merged.json["written"] is False
        assert not (tmp_path / "out").exists()


def test_of_journals_the_longest_sound_one_is_taken_also_with_a_torn_tail(tmp_path: Path, dse: Dse) -> None:
    plan = campaign(("walk", None), budget=60)
    named = next(iter(plan.cells()))
    whole, folders = run_cell(named.cell), [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    for folder, length in zip(folders, (20, 40, 50), strict=True):
        with Store(folder, plan) as store:
            store.write_curves()
            part = Record(whole.genes().shape[1])
            part.append(whole.genes(0, length), whole.evaluations(0, length))
            with open_journal(named.cell, store.journal_path(named.key)) as journal:
                journal.append(part)
                if length == 40:
                    part.append(whole.genes(40, 45), whole.evaluations(40, 45))
                    journal.append(part, 40)
    torn, damaged = (folder / "journals" / f"{named.key}.journal" for folder in folders[1:])
    torn.write_bytes(torn.read_bytes()[:-7])
    flip(damaged, damaged.stat().st_size // 2 + 600)
    before = content(folders[1])
    merged = dse("merge", *map(str, folders), "--out", str(tmp_path / "out"))
    assert merged.code == 0
    assert f"journal {str(damaged)!r} is damaged at byte" in merged.err
    assert content(folders[1]) == before
    out = tmp_path / "out" / "journals"
    with open_journal(named.cell, out / f"{named.key}.journal") as journal:
        assert journal.samples == 40
    assert len(list(out.iterdir())) == 1
    run(tmp_path / "out", plan)
    assert records(tmp_path / "out")[f"{named.key}.parquet"][0] == whole.genes().tolist()


def test_a_merge_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, shards: list[Path], dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dse.campaign.merging.write_curves", full)
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        said = dse("merge", *map(str, shards), "--out", str(tmp_path / name)).refused()
        assert said == f"folder {str(tmp_path / name)!r} cannot be written: No space left on device"
    assert not (tmp_path / "new").exists()
    assert not list((tmp_path / "empty").iterdir())
