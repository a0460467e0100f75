"""A budget is spent: evaluator, record, journal, searcher, run, environments.

Imports `problem` and what is below it.
"""
