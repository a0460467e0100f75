"""A damaged result folder is refused in one line that says what to do; nothing outside it is ever written."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dse.campaign.curves import CURVES, read_curves
from dse.campaign.ledger import LEDGER, read_ledger
from dse.campaign.store import Store
from dse.search.record import read_parquet
from dse.support.errors import InputError
from tests.campaign.test_campaign import campaign, run
from tests.conftest import Dse

BUDGET = 60
TOML = f"""
name = "test"
budget = {BUDGET}
seeds = 1
cost_model = "maestro"
objectives = ["latency", "edp"]
accelerators = ["eyeriss-small"]
layers = ["alexnet:conv2"]
[searchers.random]
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "whole"
    run(folder, campaign(("random", None), budget=BUDGET))
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of a small campaign's folder, to be damaged, beside the campaign's file."""
    (tmp_path / "test.toml").write_text(TOML)
    return Path(shutil.copytree(whole, tmp_path / "test"))


def refusals(dse: Dse, folder: Path) -> list[str]:
    """What `dse report` and `dse run` say, each in one line."""
    return [
        dse(*command).refused()
        for command in (("report", str(folder)), ("run", str(folder.parent / "test.toml")))
    ]


def change_about(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    table = pq.read_table(folder / CURVES)
    about = json.loads(table.schema.metadata[b"dse.campaign"])
    change(about)
    pq.write_table(table.replace_schema_metadata({b"dse.campaign": json.dumps(about)}), folder / CURVES)


def in_ledger(folder: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(folder / LEDGER) as database:
        database.execute(statement, values)
    database.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"templates": 7}, "templates must be a table of names and values, got 7"),
        ({"seeds": 10**18}, "seeds must be at most 100000"),
        ({"runs": 7}, "runs must be a list, got 7"),
        ({"optima": 1}, "optima must be a table"),
        (
            {"optima": {"a": {"status": "optimal", "lower_bound": -1, "loss": 1}}},
            "optima.a.lower_bound must be",
        ),
        ({"problems": []}, "problems must be one or more problems"),
        ({"problems": [["a", "b"]]}, "problems[0] must be layer, accelerator and objective"),
        ({"searchers": ["a\x1b[31m"]}, "searchers must be one line of text"),
        ({"limits": {"random": {"seeds": 0, "budget": 1}}}, "limits.random.seeds must be at least 1"),
    ],
)
def test_curves_that_say_nonsense_are_refused_with_the_place_and_what_to_do(
    folder: Path, dse: Dse, change: dict[str, Any], said: str
) -> None:
    change_about(folder, lambda about: about.update(change))
    for message in refusals(dse, folder):
        assert message.startswith(f"curves '{folder / CURVES}': the campaign: ")
        assert said in message
        assert message.endswith(
            "remove the file: `dse run` makes it again from the ledger and cells/ beside it"
        )
    (folder / CURVES).unlink()
    assert dse("run", str(folder.parent / "test.toml"), "--tables-only").code == 0


def test_brackets_without_end_are_no_campaign(folder: Path, dse: Dse) -> None:
    table = pq.read_table(folder / CURVES)
    deep = "[" * 100_000 + "]" * 100_000
    pq.write_table(table.replace_schema_metadata({b"dse.campaign": deep}), folder / CURVES)
    assert all("nested too deeply" in message for message in refusals(dse, folder))


def test_curves_alone_are_not_to_be_removed(folder: Path, dse: Dse) -> None:
    (folder / LEDGER).unlink()
    shutil.rmtree(folder / "cells")
    change_about(folder, lambda about: about.pop("searchers"))
    assert "lacks 'searchers'; put back a good copy" in dse("report", str(folder)).refused()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE cells SET summary = replace(summary, '\"samples\": 60', '\"samples\": 59')",
        "UPDATE cells SET summary = NULL",
        "UPDATE cells SET summary = '{}', checksum = NULL",
        "UPDATE cells SET summary = '[7]', checksum = NULL",
        "UPDATE cells SET identity = '{}', checksum = NULL",
        "UPDATE cells SET identity = replace(identity, '\"seed\": 0', '\"seed\": NaN'), checksum = NULL",
        "UPDATE cells SET state = 'almost', checksum = NULL",
        "UPDATE cells SET key = 'a--b', checksum = NULL",
        "UPDATE cells SET fingerprint = 7, checksum = NULL",
        "ALTER TABLE cells RENAME COLUMN summary TO other",
        "CREATE TRIGGER later AFTER UPDATE ON cells BEGIN DELETE FROM cells; END",
    ],
)
def test_a_damaged_ledger_never_overrides_the_curves(folder: Path, dse: Dse, damage: str) -> None:
    in_ledger(folder, damage + (" WHERE key LIKE '%edp%'" if damage.startswith("UPDATE") else ""))
    for message in refusals(dse, folder):
        assert message.startswith(f"ledger '{folder / LEDGER}' is damaged: ")
        assert "remove it (and ledger.sqlite-wal and -shm) and run the campaign again" in message


def test_a_campaign_whose_damaged_ledger_is_removed_is_run_again(folder: Path, dse: Dse) -> None:
    in_ledger(folder, "UPDATE cells SET summary = NULL")
    assert "run the campaign again" in refusals(dse, folder)[0]
    (folder / LEDGER).unlink()
    assert dse("run", str(folder.parent / "test.toml"), "--tables-only").code == 0


def test_what_would_unpack_without_bound_is_not_unpacked(folder: Path, dse: Dse, monkeypatch) -> None:
    table = pq.read_table(folder / CURVES)
    columns = {name: pa.repeat(table[name][0], 3000) for name in table.column_names}
    pq.write_table(pa.table(columns).replace_schema_metadata(table.schema.metadata), folder / CURVES)
    monkeypatch.setattr("dse.support.parquet.most_unpacked", lambda: 1 << 20)
    for message in refusals(dse, folder):
        assert (
            "MiB; at most 1, a quarter of this memory; remove the file: `dse run` makes it again" in message
        )
    monkeypatch.undo()
    monkeypatch.setattr("dse.campaign.curves.MAX_CELLS", 2999)
    assert all("has 3,000 cells; at most 2,999" in message for message in refusals(dse, folder))


def test_one_long_text_in_many_rows_is_measured_before_it_is_written_out(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("dse.support.parquet.most_unpacked", lambda: 1 << 20)
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["a" * 2000]))
    pq.write_table(pa.table({"text": text}), tmp_path / "text.parquet")
    for read in (read_curves, read_parquet):
        with pytest.raises(InputError, match="would unpack to 1 MiB"):
            read(tmp_path / "text.parquet")


def test_a_ledger_of_an_older_version_is_read_and_gets_checksums(folder: Path) -> None:
    before = list(read_ledger(folder / LEDGER))
    in_ledger(folder, "ALTER TABLE cells DROP COLUMN checksum")
    assert list(read_ledger(folder / LEDGER)) == before
    with Store(folder, campaign(("random", None), budget=BUDGET)) as store:
        assert list(store.ledger.rows()) == before
        store.ledger.fail(before[0].key, "for a test")
    in_ledger(folder, "UPDATE cells SET reason = 'another'")
    with pytest.raises(InputError, match="does not agree with its checksum"):
        list(read_ledger(folder / LEDGER))


@pytest.mark.parametrize(
    "name", ["cells", "journals", LEDGER, CURVES, ".lock", ".progress", "tables", "index.html"]
)
def test_nothing_is_written_through_a_link_in_the_folder(folder: Path, dse: Dse, name: str) -> None:
    outside = folder.parent / "outside"
    if (folder / name).exists():
        (folder / name).rename(outside)
    (folder / name).symlink_to(outside)
    before = [(path, path.stat().st_mtime_ns) for path in (outside, *outside.rglob("*")) if path.exists()]
    for message in refusals(dse, folder):
        assert message.startswith(f"'{folder / name}' is a link: ")
    after = [(path, path.stat().st_mtime_ns) for path in (outside, *outside.rglob("*")) if path.exists()]
    assert after == before


@pytest.mark.parametrize("part", ["cells", "journals"])
def test_no_file_of_a_cell_is_a_link(folder: Path, dse: Dse, part: str) -> None:
    link = folder / part / "a--b--c--d--s0.parquet"
    link.symlink_to("/dev/zero")
    assert all(message.startswith(f"'{link}' is a link: ") for message in refusals(dse, folder))


def test_a_journal_that_is_a_link_fails_its_cell_and_is_not_written(tmp_path: Path) -> None:
    plan = campaign(("random", None), budget=BUDGET)
    with Store(tmp_path / "folder", plan) as store:
        path = store.journal_path(store.unfinished()[0].key)
    path.symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="is a link"):
        run(tmp_path / "folder", plan)
    assert not (tmp_path / "outside").exists()
