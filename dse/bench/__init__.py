"""How fast things are on this machine: cost models, searchers, proofs. Imports whatever it measures."""
