"""The mappings on which cost models are compared.

On the machine `edge` without NoC latency, each of five layers has two groups of mappings: feasible ones as
they are drawn, and those of all that are drawn with the lowest EDP under `loopnest`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import Mapping
from dse.domains.clustered.problem import Problem

MACHINE = replace(PRESETS["edge"], noc_latency=0)
LAYERS = ("resnet18:3", "resnet18:5", "mobilenet_v2:10", "mobilenet_v2:7", "bert_base:scores")
PLAIN = ("mobilenet_v2:10", "bert_base:scores")
"""The layers of 1 x 1 filters."""
DRAWN, SEED = 20_000, 0
RANDOM, BEST = 100, 50
GROUPS = ("random", "best")


def chosen(problem: Problem) -> Iterator[tuple[str, int, Mapping]]:
    """The group, the number in the draw, and the mapping, of all that are compared."""
    genes = problem.space.sample(np.random.default_rng(SEED), DRAWN)
    losses, mappings = problem.price(genes).loss, problem.space.decode(genes)
    _, first = np.unique(mappings.rows, axis=0, return_index=True)
    feasible = np.sort(first[np.isfinite(losses[first])])
    best = feasible[np.argsort(losses[feasible], kind="stable")][:BEST]
    for group, samples in zip(GROUPS, (feasible[:RANDOM], best), strict=True):
        for sample in samples.tolist():
            yield group, sample, mappings[sample]
