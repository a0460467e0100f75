"""pymoo's genetic algorithm of mixed variables on each problem of suite `short`."""

from pymoo.core.mixed import MixedVariableGA
from pymoo.optimize import minimize

import dse
from searchers.adapters.pymoo import problem_of

for problem in dse.suite("short"):
    with problem.ask_tell(budget=100, searcher="pymoo-mine", out="runs") as study:
        minimize(problem_of(study), MixedVariableGA(pop_size=10), ("n_eval", 100), seed=1)
