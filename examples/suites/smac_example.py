"""SMAC3 on each problem of suite `short`."""

from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario

import dse
from searchers.adapters.smac import target_of

for problem in dse.suite("short"):
    with problem.ask_tell(budget=25, searcher="smac-mine", out="runs") as study:
        space, target = target_of(study)
        Facade(Scenario(space, n_trials=25, deterministic=True), target, overwrite=True).optimize()
