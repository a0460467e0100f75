"""Torch within a search: as it is the same on any machine, and without a trace in the process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

DRAWING = frozenset(
    (
        *("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "random_"),
        *("normal", "normal_", "uniform_", "bernoulli", "bernoulli_", "multinomial", "binomial", "poisson"),
        *("exponential_", "geometric_", "cauchy_", "log_normal_", "_standard_gamma", "_sample_dirichlet"),
        *("trunc_normal_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_"),
    )
)
"""The functions of torch that draw, all of which take a generator."""


@contextmanager
def torch_apart(seed: int | None = None) -> Iterator[None]:
    """Run torch on one thread, and leave the thread count as it is found.

    Where a library draws from the generator that the whole process shares, it is handed one of its own, which
    begins at `seed`. Without a seed, nobody within may draw but from generators that are passed in.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with (
            _no_folder_left(),
            nullcontext() if seed is None else draw_from_generator(torch.Generator().manual_seed(seed)),
        ):
            yield
    finally:
        torch.set_num_threads(threads)


def draw_from_generator(generator: torch.Generator) -> AbstractContextManager[Any]:
    """Within, torch's functions draw from this generator in this thread where they are passed none.

    The draws are those of the shared one from the same seed. Every call of torch takes 2 us more.
    """
    mode: AbstractContextManager[Any] = _handing()(generator)
    return mode


@cache
def _handing() -> Any:
    from torch.overrides import TorchFunctionMode

    class Handing(TorchFunctionMode):
        def __init__(self, generator: torch.Generator) -> None:
            super().__init__()
            self._generator = generator

        def __torch_function__(
            self, function: Any, types: Any, arguments: Any = (), named: Any = None
        ) -> Any:
            named = named or {}
            if function.__name__ in DRAWING and named.get("generator") is None:
                named = {**named, "generator": self._generator}
            return function(*arguments, **named)

    return Handing


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
