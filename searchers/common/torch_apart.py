"""Torch within a search: as it is the same on any machine, and without a trace in the process."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def torch_apart(seed: int | None = None) -> Iterator[None]:
    """Run torch on one thread, and leave the thread count and the global random states as they are found.

    stable-baselines3 seeds the global states from the seed that it is given, and draws from them. Where a
    library does not, torch's begins at `seed`.
    """
    with _no_folder_left(), _states_kept():
        if seed is not None:
            import torch

            torch.manual_seed(seed)
        yield


@contextmanager
def _states_kept() -> Iterator[None]:
    import torch

    threads, drawn = torch.get_num_threads(), torch.get_rng_state()
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(drawn)
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


@contextmanager
def _no_folder_left() -> Iterator[None]:
    """See that the folder for compiled code, which torch makes with its first optimiser, goes in the end."""
    place = "TORCHINDUCTOR_CACHE_DIR"
    if place in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="dse-torch-") as folder:
        os.environ[place] = folder
        try:
            yield
        finally:
            os.environ.pop(place, None)
