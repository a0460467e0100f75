"""The cost models, a folder each: the price, and the proof and its check."""
