"""Torch for a peer: one thread, a random state of its own, and both left as they are found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def torch_apart(seed: int) -> Iterator[None]:
    """Run torch on one thread from this seed."""
    import torch

    threads, drawn = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(drawn)
