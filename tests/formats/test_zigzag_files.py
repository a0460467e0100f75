"""ZigZag runs the files that are exported for it, and says what the cost model `zigzag` says."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from dse.formats import export
from dse.problem.problem import Problem
from dse.spec.accelerator import PRESETS
from dse.spec.nest import nest
from dse.support.errors import InputError
from workloads import load_layer

EDGE = PRESETS["edge"]
DRAWN = 3000


def price_files(name: str, mappings: int, folder: Path) -> None:
    """See that ZigZag prices the files of so many random mappings of a layer as our model does."""
    pytest.importorskip("zigzag")
    from zigzag.api import get_hardware_performance_zigzag

    from dse.cost.zigzag.constants import Constants
    from dse.cost.zigzag.pricing import price

    problem, priced = Problem(load_layer(name), EDGE, "edp"), 0
    genes = problem.space.sample(np.random.default_rng(0), DRAWN)
    drawn = problem.space.decode(genes[np.isfinite(problem.price(genes).loss)])
    logging.disable(logging.CRITICAL)
    try:
        for mapping in (drawn[place] for place in range(len(drawn))):
            if not nest(problem.layer, EDGE, mapping).even:
                # ZigZag's unrollings are whole numbers.
                with pytest.raises(InputError, match="PEs idle in some steps"):
                    export("zigzag", problem.layer, EDGE, mapping, folder)
                continue
            export("zigzag", problem.layer, EDGE, mapping, folder)
            files = [str(folder / f"zigzag-{part}.yaml") for part in ("workload", "accelerator", "mapping")]
            energy, cycles, _ = get_hardware_performance_zigzag(
                *files,
                temporal_mapping_type="even",
                dump_folder=str(folder / "dump"),
                pickle_filename=str(folder / "dump.pickle"),
                loma_show_progress_bar=False,
            )
            ours = price(problem.layer, EDGE, mapping, Constants(), quiet_macs=True)
            assert energy == pytest.approx(ours.energy_pj, rel=1e-12)
            assert cycles == ours.cycles
            priced += 1
            if priced == mappings:
                break
    finally:
        logging.disable(logging.NOTSET)
    assert priced == mappings


def test_zigzag_prices_a_mapping_s_files_as_our_mapping(tmp_path: Path) -> None:
    price_files("resnet18:3", 1, tmp_path)
