"""The campaigns in results/campaigns are the same experiments that their committed results are of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dse.campaign.config import Campaign, NamedCell
from dse.campaign.curves import CURVES, open_curves
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.support.hashing import digest, plain_data
from tests import ROOT

CAMPAIGNS = ROOT / "results" / "campaigns"
IDENTITIES = Path(__file__).parents[1] / "data" / "campaign_identities.json"
"""By campaign and searcher, how many cells there are and a digest of what each is but for versions.

It was written before campaigns could say where their searchers begin, by `python -m` of this module. To
write it anew is to say that committed results are of other experiments than their campaigns.
"""
RESULTS = ROOT / "results"
WITHOUT_RESULTS = ("quickstart", "gemmini-layers", "uneven-layers", "uneven-m1", "uneven-m2", "uneven-m3")
"""What has no committed results, and what is no campaign but a network or a machine."""


def named() -> list[str]:
    return sorted(path.stem for path in CAMPAIGNS.glob("*.toml") if path.stem not in WITHOUT_RESULTS)


def with_records() -> list[str]:
    return [name for name in named() if (RESULTS / name / CURVES).exists()]


layers_of = cache(find_layers)
"""Many campaigns are of the same networks."""


@cache
def load(name: str) -> Campaign:
    """As `dse run` in a checkout does: cells are named by paths from there."""
    with chdir(ROOT):
        return load_campaign(f"results/campaigns/{name}.toml", layers_of)


@cache
def cells_of(name: str) -> tuple[NamedCell, ...]:
    return tuple(load(name).cells())


def identities(name: str) -> dict[str, list[Any]]:
    """By searcher, its cells: how many, and the digest of their keys and identities without versions."""
    common: dict[int, str] = {}
    cells: dict[str, list[list[Any]]] = {}
    for one in cells_of(name):
        held = one.cell.common
        if id(held) not in common:
            kept = {key: value for key, value in held.items() if key != "versions"}
            common[id(held)] = digest(plain_data(kept))
        cells.setdefault(one.variant.name, []).append([one.key, one.cell.seed, common[id(held)]])
    return {name: [len(found), digest(sorted(found))] for name, found in cells.items()}


@pytest.mark.parametrize("name", named())
def test_every_cell_of_a_committed_campaign_is_what_it_was(name: str) -> None:
    assert identities(name) == json.loads(IDENTITIES.read_text())[name]


@pytest.mark.parametrize("name", with_records())
def test_committed_records_are_of_the_cells_that_the_campaign_has_today(name: str) -> None:
    """Whatever the package's own version is; those of libraries, and the CPU, are as they were then.

    Of each searcher on each problem one seed; `prove_committed_campaigns.py` has all cells.
    """
    cells = {(one.variant.name, one.problem.label): one for one in cells_of(name)}
    assert_records_are_of_cells(name, list(cells.values()))


def assert_records_are_of_cells(name: str, cells: Sequence[NamedCell]) -> None:
    kept = open_curves(RESULTS / name / CURVES)
    then, settings = kept.about["versions"], kept.about["settings"]
    compared = 0
    for one in cells:
        versions, variant = dict(one.cell.common["versions"]), one.variant
        if any(key.startswith("searcher ") and key not in then for key in versions):
            # Its samples, and what they depend on, have changed since: the record is of its first version.
            continue
        same = settings[variant.name] == {"type": variant.type, **plain_data(one.cell.recorded_settings)}
        # Searchers have got settings, and identities a CPU, since some of the campaigns were run.
        if one.key in kept.fingerprints and same and versions.keys() <= then.keys():
            ours = {key: now for key, now in versions.items() if " " in key or key == "dse-arena"}
            identity = {**one.cell.identity, "versions": {key: then[key] for key in versions} | ours}
            assert digest(plain_data(identity)) == kept.fingerprints[one.key], one.key
            compared += 1
    assert compared >= sum(one.key in kept.fingerprints for one in cells) / 3 > 0


def test_no_committed_campaign_is_left_out() -> None:
    assert named() == sorted(json.loads(IDENTITIES.read_text()))


if __name__ == "__main__":
    found = {name: identities(name) for name in named()}
    IDENTITIES.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
