"""Ax on each problem of suite `short`."""

import dse
from searchers.adapters.ax import client_of, serve_trials

for problem in dse.suite("short"):
    with problem.ask_tell(budget=20, searcher="ax", out="runs") as study:
        serve_trials(client_of(study, seed=0), study)
