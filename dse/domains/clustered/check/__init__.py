"""What checks of proofs share: groups of mappings, enumerated in NumPy, in code of their own."""
