"""Integer vectors and the designs that they stand for: genes, tile chains, blocks, kernels.

Imports `spec` and what is below it.
"""

from dse.space.blocks import Block
from dse.space.genes import Gene, parse_fixed
from dse.space.mapping_space import MappingSpace

__all__ = ["Block", "Gene", "parse_fixed", "MappingSpace"]
