"""The cost models of mappings of two levels, a folder each: the price, and the proof and its check."""
