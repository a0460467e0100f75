"""The example of a cost model that is no sum of counts does what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import Level, Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from examples.conflicts import price
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:layer2.0.conv2"), PRESETS["edge"], "latency", price)
IDLE_LINKS = replace(PROBLEM.accelerator, noc_bandwidth=10**7, offchip_bandwidth=10**7)


def test_a_row_of_eight_meets_in_one_bank_and_a_row_of_seven_in_none() -> None:
    mapping = PROBLEM.template("nvdla")
    times = [
        price(PROBLEM.layer.lowered(), IDLE_LINKS, MappingBatch.of([_with_width(mapping, width)]))
        for width in (5, 6)
    ]
    steps = [np.ceil(28 / width) * width for width in (5, 6)]
    per_word = [float(found["cycles"][0]) / step for found, step in zip(times, steps, strict=True)]
    assert per_word[1] > 2 * per_word[0]


def test_drawn_mappings_have_finite_prices_and_some_fit() -> None:
    drawn = PROBLEM.price(PROBLEM.space.sample(np.random.default_rng(0), 200))
    assert (np.isfinite(drawn.loss).sum()) > 20
    assert (drawn.energy_nj[np.isfinite(drawn.loss)] > 0).all()


def _with_width(mapping: Mapping, width: int) -> Mapping:
    def tiled(level: Level) -> Level:
        return replace(level, tile=(*level.tile[:3], width, *level.tile[4:]))

    return replace(mapping, outer=tiled(mapping.outer), inner=tiled(mapping.inner))
