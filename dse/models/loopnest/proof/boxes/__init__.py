"""Proofs over tiles of any size under `loopnest`: boxes of tiles, split until all are ruled out or priced."""
