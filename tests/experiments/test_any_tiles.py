"""The page on how long proofs over tiles of any size take is what its committed proofs come to."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from dse.bench import certify as bench
from dse.cli import proof_times
from experiments import any_tiles, read_rows


def test_the_page_is_made_from_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = any_tiles.PAGE.read_text()
    monkeypatch.setattr(any_tiles, "PAGE", tmp_path / "page.md")
    any_tiles.show()
    assert (tmp_path / "page.md").read_text() == committed


def test_the_table_has_the_first_problems_of_the_order_and_no_bound_above_a_mapping() -> None:
    rows = read_rows(any_tiles.FILE)
    names = [(name, machine, problem.objective) for name, machine, problem in any_tiles.problems()]
    assert [(one["layer"], one["accelerator"], one["objective"]) for one in rows] == names[: len(rows)]
    assert all(float(one["bound"]) <= float(one["best"]) for one in rows)


def test_the_problems_are_those_that_dse_bench_certify_draws() -> None:
    sets = proof_times.sets_of(None, None, None, any_tiles.MODEL, "any")
    sample = bench.sample(sets, 40, np.random.default_rng(any_tiles.SEED))
    drawn = {(f"{network}:{layer}", *about) for network, *about, of in sample for layer in of}
    assert drawn == {
        (name, machine, one.objective) for name, machine, one in islice(any_tiles.problems(), 40)
    }
