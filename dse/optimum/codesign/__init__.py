"""Co-design: `dse.codesign(network, space)` is the best machine of a space for a network, with the proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dse.core.clock import Clock
from dse.core.domains import domain_of, make_problem
from dse.core.layer import Layer
from dse.domains.codesign.reading import read_space, space_from_dict
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign.workload import Workload, by_shares, together, workload_of
from dse.support.errors import InputError
from dse.support.validation import positive_number, whole_number

if TYPE_CHECKING:
    from dse.core.objective import Objective
    from dse.core.proofs import Prover, Warmer
    from dse.optimum.codesign.branch import State
    from dse.optimum.codesign.caps import Caps
    from dse.optimum.codesign.result import Codesign
    from dse.search.evaluator import Observer

__all__ = ["by_shares", "codesign", "together"]

MAX_WORKERS = 1024


def codesign(
    network: Any,
    hardware: str | Path | Mapping[str, Any] | HardwareSpace,
    objective: str = "edp",
    *,
    max_latency: float | None = None,
    max_power: float | None = None,
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

    `network` is one of `workloads`, layers with their repeats, or several networks: by whole runs
    (`together`), or weighed by shares (`by_shares`). `hardware` is a space, its TOML file or that file's
    table (see `dse.domains.codesign.reading`). Energy and latency are sums over the layers, times their
    repeats, and products of powers of them are minimised. After `time_limit` seconds, or Ctrl-C, there is the
    best so far and a bound; proofs are kept as those of `certify` are (`cache`), and the same call goes on
    from them. `observe` is told the State after every few boxes.

    `max_latency` (s) and `max_power` (W, energy over latency) are caps on the network's run: of machines and
    mappings that keep them, the best. Mappings that are slower and take no less energy than others are not
    looked for: where they alone would keep a cap on power, there is a bound with its gap.

    That is a `Codesign`. With a `searcher` it is a `SearchedCodesign`, without a proof: the searcher has
    a `budget` of network evaluations, from `seed`, for machine and mappings together; or for machines alone,
    whose mappings the searcher `inner` finds with `inner_budget` pricings of each layer, or `certify` proves
    (see `dse.optimum.codesign.searched`). A search with `out`, a folder, goes on there.
    """
    from dse.optimum.codesign.caps import caps_of
    from dse.optimum.codesign.kept import Kept
    from dse.optimum.codesign.networks import network_objective

    if time_limit is not None:
        positive_number(time_limit, "time_limit")
    whole_number(workers, "workers", most=MAX_WORKERS)
    space = as_space(hardware)
    work = workload_of(network)
    wanted, caps = network_objective(objective), caps_of(max_latency, max_power)
    _refuse_mixed(searcher, budget, inner, time_limit, caps, work)
    if searcher is not None:
        from dse.optimum.codesign.searched import Search, search_codesign

        search = Search(searcher, budget or 0, seed, settings, inner, inner_budget)
        folder = None if out is None else Path(out)
        return search_codesign(
            work.name, work.layers, space, wanted.name, search, observers=observers, out=folder
        )
    kept = Kept(work, space, wanted.name, caps.to_dict(), cache)
    found = kept.load()
    if found is None:
        found = _prove(
            work, space, wanted, caps, observe, workers=workers, cache=cache, time_limit=time_limit
        )
        kept.store(found)
    return found


def _prove(
    work: Workload,
    space: HardwareSpace,
    objective: Objective,
    caps: Caps,
    observe: Callable[[State], None],
    *,
    workers: int,
    cache: bool | str | Path,
    time_limit: float | None,
) -> Codesign:
    """What `codesign` proves, where it is not kept."""
    from dse.optimum.codesign.branch import MachineBoxes
    from dse.optimum.codesign.capped import CappedBoxes
    from dse.optimum.codesign.proving import make_prover
    from dse.optimum.codesign.result import result_of
    from dse.support.compilations import tell_of_compiling

    refuse(work.layers, space)
    clock = Clock(time_limit)
    # Kernels are compiled once after an installation: that is no proof's time.
    with tell_of_compiling(clock.pause), make_prover(workers, cache, proof_seconds(space, clock)) as prove:
        given: dict[str, Any] = {"times": work.times, "parts": work.parts}
        given |= {"hurried": time_limit is not None, "clock": clock}
        if caps:
            given |= {"caps": caps, "cache": cache}
        search = (CappedBoxes if caps else MachineBoxes)(
            space, work.layers, objective, prove, observe, **given
        )
        compile_proofs(work.layers[0], space)
        try:
            search.run()
        except KeyboardInterrupt:
            search.interrupted = True
        return result_of(search, work.name)


def as_space(given: str | Path | Mapping[str, Any] | HardwareSpace) -> HardwareSpace:
    """A space of hardware as users give it."""
    if isinstance(given, HardwareSpace):
        return given
    if isinstance(given, Mapping):
        return space_from_dict(given)
    return read_space(str(given))


def _refuse_mixed(
    searcher: str | None,
    budget: int | None,
    inner: str | None,
    time_limit: float | None,
    caps: Caps,
    work: Workload,
) -> None:
    """See that what is asked for is a search or a proof."""
    if searcher is None:
        if budget is not None or inner is not None:
            raise InputError("a budget and an inner searcher are a searcher's: name one, or leave them out")
        return
    if budget is None:
        raise InputError(f"searcher {searcher!r} needs a budget of network evaluations")
    if time_limit is not None:
        raise InputError("a time limit is of proofs: a searcher has a budget")
    if caps:
        raise InputError("caps on latency and power are of proofs: a searcher has none")
    if work.by_shares:
        raise InputError("a searcher has networks by whole runs, as in 'resnet50=3': shares are of proofs")


def refuse(layers: Sequence[Layer], space: HardwareSpace) -> None:
    """Say what cannot be proven before the first proof begins."""
    for layer in layers:
        _prover(layer, space).refuse()


def compile_proofs(layer: Layer, space: HardwareSpace) -> None:
    """Compile what proofs need before machines are priced: bounds at the same time as prices."""
    prover = _prover(layer, space)
    if hasattr(prover, "warm"):
        cast("Warmer", prover).warm()


def _prover(layer: Layer, space: HardwareSpace) -> Prover:
    from dse.core.domains import prover_of

    priced = space.relaxed(next(space.roots()))
    return prover_of(make_problem(layer, priced.hardware, "energy", priced.model))


def proof_seconds(space: HardwareSpace, clock: Clock) -> Callable[[], float | None]:
    """How long the next proof may take."""
    most = domain_of(space.model).proof_seconds
    return lambda: None if most is None and clock.left == math.inf else min(most or math.inf, clock.left)
