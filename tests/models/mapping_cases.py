"""Random pricing cases of every kind that was recorded from MAESTRO, for the fuzz tests."""

from __future__ import annotations

import numpy as np

from dse.support.arrays import IntArray

LAYERS = np.array(
    [
        (0, 64, 64, 56, 56, 3, 3, 1, 1),
        (0, 24, 10, 19, 31, 3, 5, 1, 1),
        (0, 768, 768, 512, 1, 1, 1, 1, 1),
        (0, 10, 16, 1, 1, 1, 1, 1, 1),
        (0, 16, 32, 112, 112, 1, 1, 1, 1),
        (1, 1, 32, 112, 112, 3, 3, 1, 1),
        (1, 1, 96, 112, 112, 3, 3, 2, 2),
        (0, 64, 3, 224, 224, 11, 11, 4, 4),
        (0, 64, 3, 224, 224, 7, 7, 2, 2),
        (0, 128, 64, 56, 56, 1, 1, 2, 2),
        (0, 12, 7, 17, 13, 3, 2, 2, 3),
        (1, 1, 13, 11, 9, 3, 3, 3, 2),
    ],
    dtype=np.int64,
)
HUGE_LAYERS = np.array(
    [
        (0, 8192, 2048, 2048, 1, 1, 1, 1, 1),
        (0, 4096, 4096, 4096, 1, 1, 1, 1, 1),
        (0, 512, 512, 66, 66, 3, 3, 1, 1),
    ],
    dtype=np.int64,
)
KINDS = (
    "std",
    "factors",
    "l1gtl2",
    "tilebig",
    "badcluster",
    "badrs",
    "zero",
    "rs",
    "overflow",
    "inverted",
    "wild",
    "colossal",
)
OUTER, CLUSTER, INNER = 0, 13, 14


def draw_cases(kind: str, n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """`n` layers (n, 9), machines (n, 5) and mapping rows (n, 27) of one kind."""
    pool = HUGE_LAYERS if kind == "overflow" else LAYERS
    layers = pool[rng.integers(len(pool), size=n)]
    if kind == "colossal":
        layers[:, 7:] = 1
        layers[:, 1:5] *= 2 ** rng.integers(0, 22, (n, 4))
        layers[layers[:, 0] == 1, 1] = 1
    pes = rng.choice([1, 4, 16, 100, 168, 256, 1024], n)
    hardware = np.stack(
        [
            pes,
            rng.choice([1, 4, 16, 1000, 2**30], n),
            rng.choice([1, 8, 50, 512, 70000, 2**30], n),
            rng.choice([0, 1, 2, 5], n),
            rng.choice([1, 2, 4], n),
        ],
        axis=1,
    ).astype(np.int64)
    rows = np.zeros((n, 27), dtype=np.int64)
    sizes = layers[:, 1:7].copy()
    sizes[:, 2] -= sizes[:, 4] - 1
    sizes[:, 3] -= sizes[:, 5] - 1
    for level in (OUTER, INNER):
        rows[:, level] = rng.integers(6 if kind in ("rs", "wild") else 4, size=n)
        rows[:, level + 1 : level + 7] = rng.permuted(np.tile(np.arange(6), (n, 1)), axis=1)
    outer, inner = rows[:, 7:13], rows[:, 21:27]
    outer[:] = _draw_tiles(sizes, rng)
    inner[:] = _draw_tiles(outer, rng)
    if kind == "factors":
        outer[:] = _a_divisor(sizes, outer)
        inner[:] = _a_divisor(outer, inner)
    elif kind == "l1gtl2":
        inner[:] = _draw_tiles(sizes, rng)
    elif kind == "tilebig":
        outer[:] = np.where(rng.random(outer.shape) < 0.3, outer + rng.integers(1, 100, outer.shape), outer)
    elif kind == "inverted":
        inner[:] = outer + rng.integers(1, 60, outer.shape)
    elif kind == "overflow":
        outer[:] = rng.integers(1, 4, outer.shape)
        inner[:] = 1
    elif kind == "zero":
        spot = rng.integers(6, size=n)
        np.put_along_axis(
            outer if rng.random() < 0.5 else inner, spot[:, None], rng.integers(-1, 1, (n, 1)), axis=1
        )
    elif kind == "wild":
        outer[:] = rng.integers(1, 2 * layers[:, 1:7] + 3)
        inner[:] = rng.integers(1, 2 * layers[:, 1:7] + 3)
        whole = rng.random(n) < 0.7
        outer[whole, 4:6] = inner[whole, 4:6] = layers[whole, 5:7]
        few = rng.random(n) < 0.1
        outer[few, :4] = rng.integers(1, 2**40, (few.sum(), 4))
    if kind not in ("rs", "wild", "badrs"):
        outer[:, 4:6] = inner[:, 4:6] = layers[:, 5:7]
    if kind == "rs":
        for level, tiles in ((OUTER, outer), (INNER, inner)):
            for dim in (4, 5):
                whole = rows[:, level] != dim
                tiles[whole, dim] = layers[whole, 1 + dim]
    rows[:, CLUSTER] = rng.integers(1, pes + 1)
    if kind == "badcluster":
        rows[:, CLUSTER] = rng.integers(-2, 2 * pes + 2)
    return layers, hardware, rows


def _draw_tiles(sizes: IntArray, rng: np.random.Generator) -> IntArray:
    """Tiles up to the sizes, small and large ones alike: half uniform, half log-uniform."""
    sizes = np.maximum(sizes, 1)
    uniform = rng.integers(1, sizes + 1)
    log_uniform = np.exp(rng.random(sizes.shape) * np.log(sizes + 0.999)).astype(np.int64)
    return np.where(rng.random(sizes.shape) < 0.5, uniform, np.clip(log_uniform, 1, sizes))


def _a_divisor(sizes: IntArray, near: IntArray) -> IntArray:
    """The largest divisor of each size that is not above `near`."""
    found = np.ones_like(sizes)
    for candidate in range(2, int(sizes.max()) + 1):
        fits = (np.maximum(sizes, 1) % candidate == 0) & (candidate <= near)
        found = np.where(fits, candidate, found)
    return found
