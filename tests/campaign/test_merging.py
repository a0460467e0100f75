"""Shards of a campaign, run apart and put together, are the campaign; others are refused."""

from __future__ import annotations

import dataclasses
import io
import shutil
from pathlib import Path

import pytest

from dse.campaign.config import Campaign, Shard
from dse.campaign.curves import CURVES, read_curves, write_curves
from dse.campaign.executors import InProcess
from dse.campaign.merging import merge
from dse.campaign.progress import LineDisplay
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
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
    assert outcome.json == {"folder": str(out), "done": 8, "planned": 8}
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
    done, planned = merge(shards[:2], out)
    assert (done, planned) == (8 - len(records(shards[2])), 8)
    # Cells that two folders have, and that came out the same, are one.
    assert run(out, PLAN)[0].done == 8
    assert merge([out, shards[2]], tmp_path / "again") == (8, 8)


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
    with pytest.raises(InputError, match="came out differently"):
        merge([shards[0], copy], out)
    with Store(shards[0], PLAN), pytest.raises(InputError, match="is in use by another run"):
        merge(shards, out)
    for taken in (shards[0], Path("/dev/null")):
        with pytest.raises(InputError, match="is there, and no empty folder; choose a new one"):
            merge(shards, taken)
    with pytest.raises(InputError, match=r"holds no curves\.parquet"):
        merge([tmp_path / "nowhere"], out)
    assert not out.exists()
