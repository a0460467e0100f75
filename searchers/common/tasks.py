"""The games of mapping as tasks for learners: the genes of a layer's space, shared out among agents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import Evaluator
from dse.support.errors import InputError

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

_LAYER = Layer(type="CONV", K=64, C=64, Y=56, X=56, R=3, S=3, stride=(1, 1), padding=(1, 1))
_ENDLESS = 10**9


def mapping_game(form: str, agents: int) -> ParallelEnv:
    """A game of that form, on a layer such as ResNet-18 begins with; each agent has neighbouring genes."""
    from searchers.environments import MappingParallelEnv, SequentialParallelEnv

    problem = Problem(_LAYER, PRESETS["edge"], "edp")
    genes = len(problem.space.sizes)
    if not 1 <= agents <= genes:
        raise InputError(f"agents must be at least 1 and at most {genes}, the number of genes, got {agents}")
    groups = [tuple(part.tolist()) for part in np.array_split(np.arange(genes), agents)]
    evaluate = Evaluator(problem, _ENDLESS)
    if form == "one-step":
        return MappingParallelEnv(groups, evaluator=evaluate, reward="-log")
    return SequentialParallelEnv(groups, form, evaluator=evaluate, reward="-log")  # type: ignore[arg-type]


one_step, construct, refine = (partial(mapping_game, form) for form in ("one-step", "construct", "refine"))
