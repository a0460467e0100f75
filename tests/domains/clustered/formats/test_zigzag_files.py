"""ZigZag runs the files that are exported for it, and says what the cost model `zigzag` says."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.formats import export_mapping
from dse.domains.clustered.nest import nest
from dse.domains.clustered.problem import Problem
from dse.domains.levels.mapping import HierarchyMapping
from dse.support.errors import InputError
from tests.domains.levels.formats.levels_cases import CHIP, FILES, a_problem, exported
from workloads import load_layer

EDGE = PRESETS["edge"]
DRAWN = 3000


def price_files(name: str, mappings: int, folder: Path) -> None:
    """See that ZigZag prices the files of so many random mappings of a layer as our model does."""
    pytest.importorskip("zigzag")
    from zigzag.api import get_hardware_performance_zigzag

    from dse.models.zigzag.constants import Constants
    from dse.models.zigzag.pricing import price_mapping

    problem, priced = Problem(load_layer(name), EDGE, "edp"), 0
    genes = problem.space.sample(np.random.default_rng(0), DRAWN)
    drawn = problem.space.decode(genes[np.isfinite(problem.price(genes).loss)])
    logging.disable(logging.CRITICAL)
    try:
        for mapping in (drawn[place] for place in range(len(drawn))):
            if not nest(problem.layer, EDGE, mapping).even:
                # ZigZag's unrollings are whole numbers.
                with pytest.raises(InputError, match="PEs idle in some steps"):
                    export_mapping("zigzag", problem.layer, EDGE, mapping, folder)
                continue
            export_mapping("zigzag", problem.layer, EDGE, mapping, folder)
            files = [str(folder / f"zigzag-{part}.yaml") for part in ("workload", "accelerator", "mapping")]
            energy, cycles, _ = get_hardware_performance_zigzag(
                *files,
                temporal_mapping_type="even",
                dump_folder=str(folder / "dump"),
                pickle_filename=str(folder / "dump.pickle"),
                loma_show_progress_bar=False,
            )
            ours = price_mapping(problem.layer, EDGE, mapping, Constants(), quiet_macs=True)
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


def run_levels(layer: str, machine: str, mappings: int, folder: Path) -> None:
    """See that ZigZag keeps and moves, of random mappings onto a machine of levels, what they say."""
    pytest.importorskip("zigzag")
    from zigzag.api import get_hardware_performance_zigzag

    problem = a_problem(layer, machine)
    logging.disable(logging.CRITICAL)
    try:
        for mapping, home in exported("zigzag", problem, mappings, folder):
            files = [str(home / FILES["zigzag"][place]) for place in (1, 0, 2)]
            *_, runs = get_hardware_performance_zigzag(
                *files,
                temporal_mapping_type="even",
                dump_folder=str(home / "dump"),
                pickle_filename=str(home / "dump.pickle"),
                loma_show_progress_bar=False,
            )
            (found,) = (run for run, _ in runs[0][1])
            compare(problem, mapping, found)
    finally:
        logging.disable(logging.NOTSET)


def compare(problem: Any, mapping: HierarchyMapping, found: Any) -> None:
    """The two count alike what does not depend on how inputs slide, and on what a MAC reads again."""
    ours = problem.detail(mapping)
    assert found.ideal_temporal_cycle == ours.cycles["compute"]
    assert found.mac_energy == pytest.approx(ours.energy_nj["MACs"] * 1e3)
    product = problem.layer.product is not None
    for tensor in "WIO":
        levels = [name for name in reversed(ours.tensors) if tensor in ours.tensors[name]]
        for place, name in enumerate(levels):
            words = ours.tensors[name][tensor]
            if tensor == "O":
                assert moved(found, tensor, place, "WR_IN_BY_LOW") == words["updates"]
            elif tensor == "W" or product:
                assert moved(found, tensor, place, "WR_IN_BY_HIGH") == words["fills"]
                if place:
                    assert moved(found, tensor, place, "RD_OUT_TO_LOW") == words["reads"]


def moved(found: Any, tensor: str, place: int, direction: str) -> float:
    """Words that ZigZag moves at a memory of a tensor, counted from the lowest, in all its copies."""
    from zigzag.datatypes import LayerOperand
    from zigzag.mapping.data_movement import DataDirection, DataMoveAttr

    operand, way = LayerOperand(tensor), DataDirection[direction]
    pattern = found.mapping.unit_mem_data_movement[operand][place]
    amount = pattern.get_attribute(DataMoveAttr.DATA_TRANS_AMOUNT_PER_PERIOD).get(way)
    periods = pattern.get_attribute(DataMoveAttr.DATA_TRANS_PERIOD_COUNT).get(way)
    copies: float = found.mapping.spatial_mapping.unit_count[operand][place + 1]
    return float(amount * periods) * copies


@pytest.mark.parametrize(("layer", "machine"), [("bert_base:scores", "simba_like"), ("mobilenet_v2:4", CHIP)])
def test_zigzag_runs_the_files_of_machines_of_levels_as_their_mappings(
    layer: str, machine: str, tmp_path: Path
) -> None:
    run_levels(layer, machine, 1, tmp_path)
