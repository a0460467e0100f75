"""The comparison of cost models on the same mappings."""

from __future__ import annotations

import numpy as np

from dse.domains.clustered.problem import Problem
from experiments.comparisons.by_levels import by_levels
from experiments.comparisons.four_models import compare
from experiments.comparisons.mappings import MACHINE
from workloads import load_layer


def test_a_mapping_has_the_same_words_as_a_hierarchy_and_energies_differ_by_named_terms() -> None:
    problem = Problem(load_layer("resnet18:5"), MACHINE, "edp")
    points = problem.space.sample(np.random.default_rng(0), 400)
    mappings = problem.space.decode(points[problem.price(points).reason == 0][:20])
    rows = [compare("layer", problem.layer, mappings[place]) for place in range(20)]
    held = [row for row in rows if row is not None]
    assert len(held) > 8
    assert all(row["weights equal"] and row["sums away equal"] and row["sums back equal"] for row in held)
    assert all(row["explained"] for row in held)
    assert any(row["inputs pj"] != 0 for row in held)
    levels = by_levels(problem.layer, mappings[next(i for i in range(20) if rows[i] is not None)])
    assert levels is not None
    assert levels.levels[2].keep == ()
