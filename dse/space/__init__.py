"""Integer vectors and the designs that they stand for: genes, tile chains, blocks, kernels.

Imports `spec` and what is below it.
"""
