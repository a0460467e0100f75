"""A design gets a loss: problems, constraints, cases, loop nests, dataflow templates.

Imports `space`, `cost` and what is below them.
"""
