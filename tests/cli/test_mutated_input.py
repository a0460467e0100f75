"""Hundreds of mutated inputs: an exit code of 0, 1 or 2, one line, and nothing outside the folder."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dse.campaign.reading import load_campaign
from dse.campaign.store import Store
from dse.cli.commands.run import find_layers
from dse.search.run import open_journal, run_cell
from dse.support.errors import InputError
from tests.conftest import Dse, Outcome

LEVEL = {"parallel": "K", "order": list("KCYXRS"), "tile": dict.fromkeys("KCYXRS", 1)}
MAPPING = {"outer": LEVEL, "cluster_size": 4, "inner": LEVEL}
CASE = {
    "layer": {"type": "CONV", **dict.fromkeys("KCYXRS", 3), "stride": [1, 1]},
    "mapping": MAPPING,
    "hardware": {
        "num_pes": 16,
        "noc_bandwidth": 8,
        "offchip_bandwidth": 8,
        "noc_latency": 1,
        "simd_lanes": 1,
    },
}
ACCELERATOR = """num_pes = 16
l1_size = 512
l2_size = 108000
noc_bandwidth = 64
offchip_bandwidth = 16
clock_ghz = 1.0
"""
NETWORK = """name = "net"
[[layers]]
name = "one"
type = "CONV"
K = 8
C = 4
Y = 8
X = 8
R = 3
S = 3
stride = [1, 1]
"""
CONSTANTS = "mac_pj = 1.5\ndram_pj = 300.0\nl2_pj = 9.0\n"
CAMPAIGN = """name = "tiny"
budget = 20
seeds = 1
cost_model = "maestro"
objectives = ["edp"]
accelerators = ["chip.toml"]
layers = ["net.toml:one"]
tiles = "factors"
[searchers.genetic]
population = 10
elite = 2
crossover = 0.8
"""
WORDS = (
    "7",
    "-1",
    "0",
    "1e308",
    "nan",
    "true",
    '""',
    '"x"',
    "[]",
    "{}",
    "[[",
    '"a\\u001b[31m"',
    "9" * 30,
    "'\x07'",
)
VALUES = (7, -1, 0, 10**30, 1e308, True, None, "", "x", "a\x1b[31m", [], {}, [[]], ["K"], {"K": 1}, 2.5)


def mutated_text(text: str, rng: random.Random) -> str:
    """The text with a value replaced, a line left out, doubled or cut, or a letter changed."""
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    key, equals, _ = lines[at].partition("=")
    match rng.randrange(6):
        case 0 | 1 | 2 if equals:
            lines[at] = f"{key}= {rng.choice(WORDS)}"
        case 3:
            lines[at] = rng.choice(("", lines[at] * 2, lines[at][: len(lines[at]) // 2], "[" * 3000))
        case 4:
            lines.insert(at, rng.choice(("unknown = 1", "[searchers.random]", "\x00", "=", lines[0])))
        case _:
            place = rng.randrange(len(text))
            return text[:place] + rng.choice("\x00\x1b='\"[]{}<é\\0") + text[place + 1 :]
    return "\n".join(lines) + "\n"


def mutated_json(value: Any, rng: random.Random) -> str:
    """JSON of the value with one part of it replaced, left out or renamed."""
    copy = json.loads(json.dumps(value))
    holder, key = rng.choice(list(_places(copy)))
    match rng.randrange(4):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder["\x1bx"] = holder.pop(key)
        case _:
            holder[key] = rng.choice(VALUES)
    text = json.dumps(copy)
    return rng.choice((text,) * 8 + (text[:-3], "[" * 50_000, text.replace("1", "NaN", 1)))


def _places(value: Any) -> Any:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def mutated_bytes(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 3, 30))):
        content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(content[: rng.randrange(len(content))] if rng.random() < 0.2 else content)


def judge(outcome: Outcome) -> None:
    """What any input must come to."""
    assert outcome.code in (0, 1, 2), outcome
    shown = re.sub(r"\n", "", outcome.out + outcome.err)
    assert shown.isprintable(), outcome
    assert "Traceback" not in shown
    if outcome.code == 2:
        complaint = [line for line in outcome.err.splitlines() if line.startswith("dse: error: ")]
        assert len(complaint) == 1, outcome
        assert outcome.err.endswith(complaint[0] + "\n")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one good input of every kind, in a folder in which nothing else may come to be."""
    folder = tmp_path / "around" / "home"
    folder.mkdir(parents=True)
    texts = {
        "chip.toml": ACCELERATOR,
        "net.toml": NETWORK,
        "constants.toml": CONSTANTS,
        "tiny.toml": CAMPAIGN,
    }
    texts |= {"map.json": json.dumps(MAPPING), "cases.jsonl": json.dumps(CASE) + "\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return folder


EVALUATE = ("evaluate", "--layer", "net.toml:one", "--accelerator", "chip.toml", "--cost-model", "loopnest")
PRICED = (*EVALUATE, "--constants", "constants.toml", "--mapping", "map.json")
TOML_FILES = {"chip.toml": ACCELERATOR, "net.toml": NETWORK, "constants.toml": CONSTANTS}


@pytest.mark.parametrize("name", TOML_FILES)
def test_mutated_toml(home: Path, dse: Dse, name: str) -> None:
    rng = random.Random(name)
    for _ in range(30):
        (home / name).write_text(mutated_text(TOML_FILES[name], rng))
        judge(dse(*PRICED))
    assert [path.name for path in home.parent.iterdir()] == ["home"]


@pytest.mark.parametrize(("name", "value"), [("map.json", MAPPING), ("cases.jsonl", CASE)])
def test_mutated_json(home: Path, dse: Dse, name: str, value: Any) -> None:
    rng = random.Random(name)
    command = (
        PRICED if name == "map.json" else ("evaluate", "--cases", name, "--cost-model", "maestro", "--json")
    )
    for _ in range(60):
        (home / name).write_text(mutated_json(value, rng) + "\n")
        judge(dse(*command))


def test_mutated_campaigns(home: Path, dse: Dse, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether a campaign is taken is the question here, not what comes of it.
    monkeypatch.setattr("dse.campaign.runner.run_campaign", _nothing)
    rng = random.Random("campaigns")
    for _ in range(60):
        (home / "tiny.toml").write_text(mutated_text(CAMPAIGN, rng))
        judge(dse("run", "tiny.toml", "--out", "out/tiny", "--tables-only"))
        shutil.rmtree(home / "out", ignore_errors=True)
    assert [path.name for path in home.parent.iterdir()] == ["home"]


def _nothing(store: Store, *arguments: object, **named: object) -> None:
    assert store.unfinished()
    raise InputError("taken")


KINDS = ("ledger.sqlite", "curves.parquet", "cells", "about", "journals")


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_folders(home: Path, dse: Dse, kind: str) -> None:
    """Some; `prove_mutated_input.py` has many more."""
    judge_mutated_folders(home, dse, kind, 3)


def judge_mutated_folders(home: Path, dse: Dse, kind: str, times: int) -> None:
    rng = random.Random(kind)
    assert dse("run", "tiny.toml", "--out", "whole", "--tables-only").code == 0
    before = sorted(path.name for path in home.iterdir())
    for _ in range(times):
        folder = Path(shutil.copytree(home / "whole", home / "case"))
        _DAMAGE[kind](folder, rng)
        judge(dse("report", "case", "--tables-only"))
        outcome = dse("run", "tiny.toml", "--out", "case", "--tables-only")
        judge(outcome)
        if outcome.code == 0:
            same = Path("tables/reduction.csv")
            assert (folder / same).read_text() == (home / "whole" / same).read_text()
        shutil.rmtree(folder)
    assert sorted(path.name for path in home.iterdir()) == before


def _change_about(folder: Path, rng: random.Random) -> None:
    path = folder / "curves.parquet"
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"dse.campaign"])
    pq.write_table(table.replace_schema_metadata({b"dse.campaign": mutated_json(about, rng)}), path)


def _damage_file(name: str) -> Callable[[Path, random.Random], None]:
    return lambda folder, rng: mutated_bytes(folder / name, rng)


def _damage_record(folder: Path, rng: random.Random) -> None:
    mutated_bytes(next((folder / "cells").iterdir()), rng)
    (folder / "ledger.sqlite").unlink()
    (folder / "curves.parquet").unlink()


def _damage_journal(folder: Path, rng: random.Random) -> None:
    """A folder whose one cell has not ended: its journal is cut, and a byte of it changed."""
    for path in (folder / "ledger.sqlite", folder / "curves.parquet", *(folder / "cells").iterdir()):
        path.unlink()
    with Store(folder, load_campaign("tiny.toml", find_layers)) as store:
        (named,) = store.unfinished()
        path = store.journal_path(named.key)
        with open_journal(named.cell, path) as journal:
            run_cell(named.cell, journal)
    mutated_bytes(path, rng)


_DAMAGE: dict[str, Callable[[Path, random.Random], None]] = {
    "ledger.sqlite": _damage_file("ledger.sqlite"),
    "curves.parquet": _damage_file("curves.parquet"),
    "cells": _damage_record,
    "about": _change_about,
    "journals": _damage_journal,
}
