"""Layers for development, drawn: of the networks that all tuning is on, and made up in other shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np

from dse.core.layer import Layer
from workloads import load

NETWORKS = ("alexnet", "resnet18", "resnet50", "bert_base")


def drawn_layers(rng: np.random.Generator) -> Iterator[Layer]:
    """Without end: four of the networks, then one of each shape."""
    known = [layer for network in NETWORKS for layer in load(network).layers]

    def of_networks(rng: np.random.Generator) -> Layer:
        return known[rng.integers(len(known))]

    made: tuple[Callable[[np.random.Generator], Layer], ...] = (
        _odd, _depthwise, _connected, _product, _patches, _depthwise
    )  # fmt: skip
    for draw in cycle((of_networks,) * 4 + made):
        yield draw(rng)


def narrow_layers(rng: np.random.Generator) -> Iterator[Layer]:
    """Without end: few rows, few channels with a stride, small images, sequences, windows; and the above."""
    others = drawn_layers(rng)
    made: tuple[Callable[[np.random.Generator], Layer], ...] = (
        _few_rows, _few_channels, lambda _: next(others), _image, _sequence, _window, lambda _: next(others)
    )  # fmt: skip
    for draw in cycle(made):
        yield draw(rng)


def _few_rows(rng: np.random.Generator) -> Layer:
    rows, columns = int(rng.choice([1, 4, 10, 16, 24, 40])), int(rng.choice([256, 800, 1500, 3000, 6000]))
    return Layer.gemm(rows, columns, int(rng.choice([200, 512, 900, 2000, 4096])), name="rows")


def _few_channels(rng: np.random.Generator) -> Layer:
    stride, taps = int(rng.choice([2, 4])), int(rng.choice([3, 5, 7, 11]))
    size, filters = int(rng.choice([64, 128, 160, 192, 224])), int(rng.choice([16, 24, 32, 64, 96]))
    sizes = {"K": filters, "C": int(rng.choice([1, 3, 3])), "Y": size, "X": size, "R": taps, "S": taps}
    return Layer("CONV", **sizes, stride=(stride, stride), padding=(taps // 2, taps // 2), name="channels")


def _image(rng: np.random.Generator) -> Layer:
    size, taps = int(rng.choice([7, 9, 13, 15])), int(rng.choice([1, 3]))
    filters, channels = int(rng.choice([2, 64, 192, 512])), int(rng.choice([64, 128, 384, 832]))
    sizes = {"K": filters, "C": channels, "Y": size, "X": size, "R": taps, "S": taps}
    return Layer("CONV", **sizes, padding=(taps // 2, taps // 2), name="image")


def _sequence(rng: np.random.Generator) -> Layer:
    filters, channels = int(rng.choice([128, 256, 512])), int(rng.choice([3, 40, 128, 512]))
    steps, taps, stride = (int(rng.choice(of)) for of in ([500, 1500, 2048], [1, 3, 5], [1, 2]))
    sizes = {"K": filters, "C": channels, "Y": steps, "X": 1, "R": taps, "S": 1}
    return Layer("CONV", **sizes, stride=(stride, 1), name="sequence")


def _window(rng: np.random.Generator) -> Layer:
    tokens, columns = int(rng.choice([36, 49, 144, 400])), int(rng.choice([36, 128, 288, 768]))
    return Layer.gemm(tokens, columns, int(rng.choice([32, 96, 256, 512])), name="window")


def _odd(rng: np.random.Generator) -> Layer:
    filters, channels, rows = (int(rng.integers(*ends)) for ends in ((9, 200), (3, 200), (7, 60)))
    taps, stride = int(rng.choice([1, 3, 5])), int(rng.choice([1, 1, 2]))
    columns, across = int(rng.integers(7, 60)), int(rng.choice([1, taps]))
    sizes = {"K": filters, "C": channels, "Y": rows, "X": columns, "R": taps, "S": across}
    return Layer("CONV", **sizes, stride=(stride, stride), padding=(taps // 2, 0), name="odd")


def _depthwise(rng: np.random.Generator) -> Layer:
    size, taps = int(rng.choice([112, 56, 28, 30, 14, 7])), int(rng.choice([3, 5, 7]))
    stride, channels = int(rng.choice([1, 1, 2])), int(rng.choice([32, 60, 96, 120, 144, 240, 480]))
    sizes = {"K": 1, "C": channels, "Y": size, "X": size, "R": taps, "S": taps}
    return Layer("DSCONV", **sizes, stride=(stride, stride), padding=(taps // 2, taps // 2), name="depthwise")


def _connected(rng: np.random.Generator) -> Layer:
    outputs = int(rng.choice([10, 128, 512, 1000, 2304, 4096]))
    return Layer.fc(outputs, int(rng.choice([84, 400, 784, 1024, 1536, 9216])), name="fc")


def _product(rng: np.random.Generator) -> Layer:
    rows = int(rng.choice([1, 8, 64, 77, 128, 384, 512]))
    columns = int(rng.choice([64, 307, 384, 512, 1536, 2304]))
    return Layer.gemm(rows, columns, int(rng.choice([64, 128, 173, 384, 768])), name="product")


def _patches(rng: np.random.Generator) -> Layer:
    side, filters = int(rng.choice([2, 4, 8])), int(rng.choice([64, 128, 192]))
    rows, columns = (side * int(rng.integers(8, 40)) for _ in range(2))
    sizes = {"K": filters, "C": 3, "Y": rows, "X": columns, "R": side, "S": side}
    return Layer("CONV", **sizes, stride=(side, side), name="patches")
