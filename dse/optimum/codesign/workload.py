"""What a machine is for: a network, or several by runs or by shares, as the layers of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dse.core.layer import Layer
from dse.support.errors import InputError, shorten
from dse.support.validation import positive_number, whole_number

MAX_RUNS = 1_000_000
LEFT = 1e-9
"""What the first network has to have left of all shares."""


@dataclass(frozen=True)
class Part:
    """One of several networks: so many of the layers, in order, and how much a run of it counts.

    Of whole runs the layers' repeats are those of all runs; of a `share` they are those of one.
    """

    name: str
    layers: int
    counts: float
    is_share: bool


@dataclass(frozen=True)
class Workload:
    """Layers, and `times`, how often each counts. `parts` are the networks, where there are several."""

    name: str
    layers: tuple[Layer, ...]
    times: tuple[float, ...]
    parts: tuple[Part, ...] = ()

    @property
    def by_shares(self) -> bool:
        """Whether networks count by shares, which add up to 1."""
        return any(part.is_share for part in self.parts)


def workload_of(network: Any) -> Workload:
    """A network as users give it: of `workloads`, layers with their repeats, or several put together."""
    if isinstance(network, Workload):
        return network
    layers = tuple(getattr(network, "layers", network if isinstance(network, Sequence) else ()))
    if not layers or not all(isinstance(layer, Layer) for layer in layers):
        raise InputError(
            f"network must be one of workloads, as load('resnet50'), or layers, got {shorten(network)}"
        )
    name = str(getattr(network, "name", "network"))
    return Workload(name, layers, tuple(layer.repeats for layer in layers))


def together(runs: Sequence[tuple[Any, float]]) -> Workload:
    """Networks that share one machine, each with how many runs count: the sums are over all of these."""
    found: list[Layer] = []
    names, parts = [], []
    for network, given in runs:
        work = _one(network)
        count = whole_number(given, f"runs of network {work.name!r}", most=MAX_RUNS)
        names.append(f"{count:,} x {work.name}" if count > 1 else work.name)
        parts.append(Part(work.name, len(work.layers), count, is_share=False))
        found += [replace(layer, repeats=layer.repeats * count) for layer in _named(work)]
    return Workload(" + ".join(names), tuple(found), tuple(layer.repeats for layer in found), tuple(parts))


def by_shares(first: Any, others: Sequence[tuple[Any, float]]) -> Workload:
    """Networks that share one machine, each weighed by its share of all runs; the first has the rest.

    Energy and latency are the weighted sums of those of one run of each network.
    """
    works = [_one(network) for network in (first, *(other for other, _ in others))]
    shares = [_share(share, work.name) for work, (_, share) in zip(works[1:], others, strict=True)]
    rest = 1.0 - math.fsum(shares)
    if rest < LEFT:
        raise InputError(
            f"the shares of {', '.join(repr(work.name) for work in works[1:])} add up to "
            f"{math.fsum(shares):g}: they must be below 1, as {works[0].name!r} has the rest"
        )
    for place, work in enumerate(works):
        if work in works[:place]:
            raise InputError(f"network {work.name!r} is there twice: give each network one share")
    shares = [rest, *shares]
    return Workload(
        " + ".join(f"{share:.4g} x {work.name}" for share, work in zip(shares, works, strict=True)),
        tuple(layer for work in works for layer in _named(work)),
        tuple(share * times for share, work in zip(shares, works, strict=True) for times in work.times),
        tuple(
            Part(work.name, len(work.layers), share, is_share=True)
            for share, work in zip(shares, works, strict=True)
        ),
    )


def _one(network: Any) -> Workload:
    """A network that may be put together with others."""
    work = workload_of(network)
    if work.by_shares:
        raise InputError(f"{work.name!r} is several networks by shares: name all of them at once")
    return work


def _share(given: float, name: str) -> float:
    share = positive_number(given, f"the share of network {name!r}")
    if share >= 1:
        raise InputError(f"the share of network {name!r} must be below 1, got {share:g}")
    return share


def _named(work: Workload) -> list[Layer]:
    """A network's layers by their full names, as other networks may have layers of the same names."""
    return [replace(layer, name=f"{work.name}:{layer.name or layer}") for layer in work.layers]
