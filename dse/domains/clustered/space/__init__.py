"""Mappings of two levels as vectors of genes: genes, features, blocks, kernels."""
