"""ZigZag runs the files that are exported for it, and says what the cost model `zigzag` says."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from dse.cost.zigzag.constants import Constants
from dse.formats import export
from dse.problem.problem import Problem
from dse.spec.accelerator import PRESETS
from dse.spec.nest import nest
from dse.support.errors import InputError
from workloads import load_layer

EDGE = PRESETS["edge"]
LAYERS = ("resnet18:3", "resnet18:5", "mobilenet_v2:10", "mobilenet_v2:7", "bert_base:scores")
EACH = 20
DRAWN = 3000


@pytest.mark.parametrize("name", LAYERS)
def test_zigzag_prices_its_files_as_our_mapping(name: str, tmp_path: Path) -> None:
    pytest.importorskip("zigzag")
    from zigzag.api import get_hardware_performance_zigzag

    from dse.cost.zigzag.pricing import price

    logging.disable(logging.CRITICAL)
    problem, priced = Problem(load_layer(name), EDGE, "edp"), 0
    genes = problem.space.sample(np.random.default_rng(0), DRAWN)
    mappings = problem.space.decode(genes[np.isfinite(problem.price(genes).loss)])
    try:
        for place in range(len(mappings)):
            if not nest(problem.layer, EDGE, mappings[place]).even:
                # ZigZag's unrollings are whole numbers.
                with pytest.raises(InputError, match="PEs idle in some steps"):
                    export("zigzag", problem.layer, EDGE, mappings[place], tmp_path)
                continue
            export("zigzag", problem.layer, EDGE, mappings[place], tmp_path)
            files = [str(tmp_path / f"zigzag-{part}.yaml") for part in ("workload", "accelerator", "mapping")]
            energy, cycles, _ = get_hardware_performance_zigzag(
                *files,
                temporal_mapping_type="even",
                dump_folder=str(tmp_path / "dump"),
                pickle_filename=str(tmp_path / "dump.pickle"),
                loma_show_progress_bar=False,
            )
            ours = price(problem.layer, EDGE, mappings[place], Constants(), quiet_macs=True)
            assert energy == pytest.approx(ours.energy_pj, rel=1e-12)
            assert cycles == ours.cycles
            priced += 1
            if priced == EACH:
                break
    finally:
        logging.disable(logging.NOTSET)
    assert priced == EACH
