"""Nevergrad's NGOpt on each problem of suite `short`."""

import nevergrad

import dse
from searchers.adapters.nevergrad import function_of

for problem in dse.suite("short"):
    with problem.ask_tell(budget=100, searcher="ngopt", out="runs") as study:
        parametrization, function = function_of(study)
        nevergrad.optimizers.NGOpt(parametrization, budget=100).minimize(function)
