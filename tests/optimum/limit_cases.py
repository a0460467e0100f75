"""Limits drawn at random, so tight that they bind about as often as not."""

from __future__ import annotations

import numpy as np

from dse.domains.clustered.problem import Problem

MOST = 0.15
"""From which share on buffers are limited."""


def with_random_limits(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with one limit, two or three, of shares such as 0.43."""
    limits = [f"{figure} <= {rng.uniform(MOST, 1):.2f}" for figure in ("l1_use", "l2_use")]
    limits.append(f"pe_use >= {rng.choice([0.3, 0.5, 0.6, 0.75, 0.9, 1.0])}")
    chosen = rng.permutation(limits)[: rng.integers(1, len(limits) + 1)]
    return problem.with_changes(limits=tuple(chosen.tolist()))
