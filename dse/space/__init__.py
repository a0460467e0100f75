"""Integer vectors and the designs that they stand for: the protocol, and genes, tile chains, blocks, kernels.

What searchers see of a space stands in `protocol`; the space of mappings is put together from the rest,
that of mappings onto any number of levels stands in `hierarchy`.
Imports `spec` and what is below it.
"""
