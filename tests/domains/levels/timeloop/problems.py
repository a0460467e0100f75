"""Random layers, machines and mappings: everything that can be described, sensible or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.core.chains import distinct_primes
from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Bandwidth, Energy, Level, Machine
from dse.domains.levels.workload import CONV_DIMS, Tensor, Workload, make_convolution
from dse.models.timeloop import layout_of

SIZES = (1, 2, 3, 4, 6, 8, 12, 16)


def random_convolution(rng: np.random.Generator) -> Workload:
    """A small convolution with strides and dilations."""
    dims = {dim: int(rng.choice(SIZES[:7])) for dim in CONV_DIMS}
    stride, dilation = rng.integers(1, 4, (2, 2)).tolist()
    return make_convolution(dims, tuple(stride), tuple(dilation))


def random_workload(rng: np.random.Generator, *, shared_dims: bool) -> Workload:
    """Tensors over any sums of dims; with `shared_dims` a dim may move several axes of one tensor."""
    dims = "ABCDE"[: rng.integers(1, 6)]
    tensors = []
    for number in range(rng.integers(2, 5)):
        moves = rng.random((rng.integers(0, 4), len(dims))) < 0.45
        if not shared_dims:
            moves &= np.cumsum(moves, axis=0) == 1
        sums = tuple(
            tuple(
                (dim, int(rng.integers(1, 4))) for dim, is_moved in zip(dims, axis, strict=True) if is_moved
            )
            for axis in moves
        )
        tensors.append(Tensor(f"T{number}", sums, output=number == 1))
    return Workload(tuple((dim, int(rng.choice(SIZES))) for dim in dims), tuple(tensors))


def random_machine(workload: Workload, rng: np.random.Generator) -> Machine:
    """Up to five levels with all that a level may have."""

    def some(names: Sequence[str]) -> tuple[str, ...] | None:
        return None if rng.random() < 0.8 else tuple(name for name in names if rng.random() < 0.6)

    def rate() -> float | None:
        return None if rng.random() < 0.5 else float(rng.choice([0.5, 1, 2, 3.7, 16]))

    levels = [
        Level(
            f"L{place}",
            capacity=None if rng.random() < 0.6 else int(rng.choice([1, 8, 64, 512, 4096])),
            fan_out=int(rng.choice([1, 1, 2, 4, 16, 64])),
            may_keep=some(workload.tensor_names),
            spread=some(workload.names),
            multicast=bool(rng.random() < 0.8),
            reduction=bool(rng.random() < 0.8),
            bandwidth=Bandwidth(rate(), rate(), rate()),
            energy=Energy(*rng.random(3).tolist()),
            block=int(rng.choice([1, 2, 3, 8])),
            leak_pj=float(rng.random() / 100),
            cluster=int(rng.choice([1, 1, 2])),
        )
        for place in range(rng.integers(1, 6))
    ]
    return Machine("random", tuple(levels), 0.5, str(rng.choice(["counted", "elided"])))


def random_rows(workload: Workload, machine: Machine, n: int, rng: np.random.Generator) -> RowArray:
    """Rows whose factors multiply to the sizes; whether they fit is left to chance."""
    layout = layout_of(workload, machine)
    rows = np.ones((n, layout.columns), dtype=np.int32)
    for level in range(layout.levels):
        places = np.tile(np.arange(len(layout.dims)), (n, 1))
        rows[:, layout.order(level)] = rng.permuted(places, axis=1)
        rows[:, layout.keep(level)] = level == 0 or rng.random(len(layout.tensors)) < 0.5
    for place, (_, size) in enumerate(workload.dims):
        columns = _factor_columns(layout, machine, place)
        for prime in prime_factors(size):
            rows[np.arange(n), rng.choice(columns, size=n)] *= prime
    return rows


def prime_factors(size: int) -> list[int]:
    """The prime factors of a size, each as often as it divides it."""
    found = []
    for prime in distinct_primes(size):
        while size % prime == 0:
            found.append(prime)
            size //= prime
    return found


def _factor_columns(layout: Layout, machine: Machine, dim: int) -> list[int]:
    """Where a dim's factors may go: temporal ones anywhere, spatial ones where there is a fan-out."""
    temporal = [layout.temporal(level).start + dim for level in range(layout.levels)]
    spatial = [
        layout.spatial(place).start + dim for place, level in enumerate(machine.levels) if level.fan_out > 1
    ]
    return temporal + spatial
