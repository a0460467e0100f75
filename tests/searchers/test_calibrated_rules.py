"""What a judge may refuse: rules are found again from what it refused and what it ran."""

from __future__ import annotations

import numpy as np

from dse.core.layer import DIMS, Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.advice import traits_of
from dse.domains.clustered.mapping import OUTER_PARALLEL, OUTER_TILE
from dse.domains.clustered.problem import Problem
from searchers.calibrated.rules import Rules

LAYER = Layer("CONV", 8, 8, 8, 8, 3, 3, (1, 1), (1, 1))
EDGE = PRESETS["eyeriss-small"]
SPACE = Problem(LAYER, EDGE).space
GENES = SPACE.sample(np.random.default_rng(0), 400)
ROWS = SPACE.decode(GENES).rows
SHOWN, CHANCES = traits_of(LAYER, EDGE, ROWS)
HALF = 30


def chances(refused: np.ndarray) -> np.ndarray:
    rules = Rules(SHOWN[:HALF], refused[:HALF], CHANCES)
    return np.exp(rules.log_chance(SHOWN[HALF:]))


def test_a_rule_is_found_again_from_some_samples() -> None:
    refused = ROWS[:, OUTER_PARALLEL] == DIMS.index("C")
    found = chances(refused)
    assert found[refused[HALF:]].max() < 0.05
    assert np.median(found[~refused[HALF:]]) > 0.2


def test_two_rules_are_told_apart() -> None:
    refused = (ROWS[:, OUTER_PARALLEL] == DIMS.index("K")) | (ROWS[:, OUTER_TILE + DIMS.index("R")] < LAYER.R)
    found = chances(refused)
    assert found[refused[HALF:]].mean() < 0.2 * found[~refused[HALF:]].mean()


def test_a_refusal_that_no_rule_explains_rules_nothing_out() -> None:
    shown = np.repeat(SHOWN[:1], 2, axis=0)
    rules = Rules(shown, np.array([True, False]), CHANCES)
    assert np.allclose(np.exp(rules.log_chance(shown)), 1)


def test_before_any_sample_mappings_whose_boxes_overflow_are_the_less_likely_to_run() -> None:
    nothing = Rules(SHOWN[:0], np.zeros(0, np.bool_), CHANCES)
    found, overflow = nothing.log_chance(SHOWN), SHOWN[:, -1]
    assert 0 < overflow.sum() < len(overflow)
    assert found[overflow].mean() < found[~overflow].mean()
