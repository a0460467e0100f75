"""Searches with a journal, for the tests of it."""

from __future__ import annotations

import numpy as np

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.record import COLUMNS, Record
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge"], "edp", "maestro")


SIZES = [gene.size for gene in PROBLEM.space.genes]


CELL = {"problem": {"layer": {"K": 64}, "objective": "edp"}, "seed": 3}


def drawn(n: int, seed: int = 0, problem: Problem = PROBLEM) -> Record:
    record = Record(13)
    genes = problem.space.sample(np.random.default_rng(seed), n)
    record.append(genes, problem.price(genes))
    return record


def assert_same(one: Record, other: Record) -> None:
    np.testing.assert_array_equal(one.genes(), other.genes())
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one.evaluations(), name), getattr(other.evaluations(), name))


def first(record: Record, n: int) -> Record:
    part = Record(13)
    part.append(record.genes(0, n), record.evaluations(0, n))
    return part
