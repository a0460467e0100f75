"""Checking what a suite says: certificates, by code that shares nothing with the solver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dse.optimum import verify
from dse.suite.suites import Suite

if TYPE_CHECKING:
    from dse.core.proofs import Check
    from dse.suite.problem import SuiteProblem


def check_suite(
    suite: Suite, sample: int | None = None, seed: int = 0
) -> Iterator[tuple[SuiteProblem, tuple[Check, ...]]]:
    """Each problem of the suite, or of a sample of so many, with what was checked of it.

    Samples of points and problems are drawn by `seed`.
    """
    chosen = np.arange(len(suite))
    if sample is not None:
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(len(suite), size=min(sample, len(suite)), replace=False))
    for place in chosen.tolist():
        entry = suite[place]
        yield entry, verify(entry.problem, entry.entry.certificate, seed)
