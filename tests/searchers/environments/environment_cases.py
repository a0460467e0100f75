"""Environments for the tests of them."""

from __future__ import annotations

import gymnasium
import numpy as np

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from searchers.environments import MappingEnv, MappingParallelEnv, MappingVectorEnv
from workloads import load_layer

ENV = "dse/Mapping-v0"


PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge"], "edp", "maestro")


SIZES = PROBLEM.space.sizes


GROUPS = [["outer.order", "inner.order"], range(1, 6), range(7, 12), ["cluster"]]


def one_env(**options) -> MappingEnv:
    return MappingEnv(problem=PROBLEM, **options)


def four_envs(**options) -> MappingVectorEnv:
    return gymnasium.make_vec(ENV, num_envs=4, problem=PROBLEM, **options).unwrapped


def agents_env(**options) -> MappingParallelEnv:
    return MappingParallelEnv(problem=PROBLEM, **options)


def points(feasible: bool, count: int = 3) -> np.ndarray:
    """Gene vectors of points that are feasible, or not."""
    genes = PROBLEM.space.sample(np.random.default_rng(0), 1000)
    return genes[(PROBLEM.price(genes).reason == 0) == feasible][:count]
