"""Proofs under `loopnest`: bounds of boxes of mappings, for the engine (`dse.proof`)."""
