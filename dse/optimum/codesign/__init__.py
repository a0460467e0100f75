"""Co-design: `dse.codesign(network, space)` is the best machine of a space for a network, with the proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.core.clock import Clock
from dse.core.domains import domain_of, make_problem
from dse.core.layer import Layer
from dse.domains.codesign.reading import read_space, space_from_dict
from dse.domains.codesign.space import HardwareSpace
from dse.support.errors import InputError, shorten
from dse.support.validation import positive_number, whole_number

if TYPE_CHECKING:
    from dse.optimum.codesign.branch import State
    from dse.search.evaluator import Observer

__all__ = ["codesign"]

MAX_WORKERS = 1024
MAX_RUNS = 1_000_000


def codesign(
    network: Any,
    hardware: str | Path | Mapping[str, Any] | HardwareSpace,
    objective: str = "edp",
    *,
    time_limit: float | None = None,
    workers: int = 1,
    cache: bool | str | Path = True,
    observe: Callable[[State], None] = lambda state: None,
    searcher: str | None = None,
    budget: int | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    inner: str | None = None,
    inner_budget: int | None = None,
    observers: Iterable[Observer] = (),
    out: str | Path | None = None,
) -> Any:
    """The machine of a space of hardware, and the mappings, that are best for a network, with the proof.

    `network` is one of `workloads`, layers with their repeats, or several networks by `together`; `hardware`
    a space, its TOML file or that file's table (see `dse.domains.codesign.reading`). Energy and latency are
    sums over the layers, times their repeats, and products of powers of them are minimised. After
    `time_limit` seconds, or Ctrl-C, there is the best so far and a bound; proofs are kept as those of
    `certify` are (`cache`), and the same call goes on from them. `observe` is told the State after every few
    boxes.

    That is a `Codesign`. With a `searcher` it is a `SearchedCodesign`, without a proof: the searcher has
    a `budget` of network evaluations, from `seed`, for machine and mappings together; or for machines alone,
    whose mappings the searcher `inner` finds with `inner_budget` pricings of each layer, or `certify` proves
    (see `dse.optimum.codesign.searched`). A search with `out`, a folder, goes on there.
    """
    from dse.optimum.codesign.branch import Search
    from dse.optimum.codesign.networks import network_objective
    from dse.optimum.codesign.proving import prover
    from dse.optimum.codesign.result import result_of

    if time_limit is not None:
        positive_number(time_limit, "time_limit")
    whole_number(workers, "workers", most=MAX_WORKERS)
    space = as_space(hardware)
    name, layers = layers_of(network)
    wanted = network_objective(objective)
    _refuse_mixed(searcher, budget, inner, time_limit)
    if searcher is not None:
        from dse.optimum.codesign.searched import search_codesign

        return search_codesign(
            name,
            layers,
            space,
            wanted.name,
            searcher,
            budget=budget or 0,
            seed=seed,
            settings=settings,
            inner=inner,
            inner_budget=inner_budget,
            observers=observers,
            out=None if out is None else Path(out),
        )
    refuse(layers, space)
    clock = Clock(time_limit)
    with prover(workers, cache, proof_seconds(space, clock)) as prove:
        search = Search(space, layers, wanted, prove, observe, hurried=time_limit is not None)
        try:
            search.run(lambda: clock.over)
        except KeyboardInterrupt:
            search.interrupted = True
        return result_of(search, name)


def as_space(given: str | Path | Mapping[str, Any] | HardwareSpace) -> HardwareSpace:
    """A space of hardware as users give it."""
    if isinstance(given, HardwareSpace):
        return given
    if isinstance(given, Mapping):
        return space_from_dict(given)
    return read_space(str(given))


def layers_of(network: Any) -> tuple[str, tuple[Layer, ...]]:
    """The name and the layers of a network as users give it."""
    layers = tuple(getattr(network, "layers", network if isinstance(network, Sequence) else ()))
    if not layers or not all(isinstance(layer, Layer) for layer in layers):
        raise InputError(
            f"network must be one of workloads, as load('resnet50'), or layers, got {shorten(network)}"
        )
    return str(getattr(network, "name", "network")), layers


def together(runs: Sequence[tuple[Any, int]]) -> Any:
    """Networks that share one machine, each with how many runs count: the sums are over all of these."""
    from types import SimpleNamespace

    found, names = [], []
    for network, count in runs:
        name, layers = layers_of(network)
        whole_number(count, f"runs of network {name!r}", most=MAX_RUNS)
        names.append(f"{count:,} x {name}" if count > 1 else name)
        found += [
            replace(layer, name=f"{name}:{layer.name or layer}", repeats=layer.repeats * count)
            for layer in layers
        ]
    return SimpleNamespace(name=" + ".join(names), layers=tuple(found))


def _refuse_mixed(
    searcher: str | None, budget: int | None, inner: str | None, time_limit: float | None
) -> None:
    """See that what is asked for is a search or a proof."""
    if searcher is None and (budget is not None or inner is not None):
        raise InputError("a budget and an inner searcher are a searcher's: name one, or leave them out")
    if searcher is not None and budget is None:
        raise InputError(f"searcher {searcher!r} needs a budget of network evaluations")
    if searcher is not None and time_limit is not None:
        raise InputError("a time limit is of proofs: a searcher has a budget")


def refuse(layers: Sequence[Layer], space: HardwareSpace) -> None:
    """Say what cannot be proven before the first proof begins."""
    from dse.core.domains import prover_of

    priced = space.relaxed(next(space.roots()))
    for layer in layers:
        prover_of(make_problem(layer, priced.hardware, "energy", priced.model)).refuse()


def proof_seconds(space: HardwareSpace, clock: Clock) -> Callable[[], float | None]:
    """How long the next proof may take."""
    most = domain_of(space.model).proof_seconds
    return lambda: None if most is None and clock.left == math.inf else min(most or math.inf, clock.left)
