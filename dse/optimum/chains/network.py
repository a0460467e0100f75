"""A network's chains as `dse certify --chains` proves them, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import Any

from dse.core.certificate import Certificate
from dse.core.clock import Clock
from dse.core.edges import Chain
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.residence import Residence
from dse.optimum import certify
from dse.optimum.chains.check import check_chain
from dse.optimum.chains.proofs import shared_out
from dse.optimum.chains.result import ChainProof
from dse.optimum.chains.solve import certify_chains
from dse.optimum.network_options import DEFAULTS, NetworkOptions
from dse.support.compilations import tell_of_compiling
from dse.support.files import make_folder, write_json

CHAINS = "chains.json"


def parts_of(chains: Sequence[Chain], layers: Sequence[Layer]) -> list[Chain]:
    """A network's chains, and each layer that is in none as a chain of its own."""
    inside = {layer.name for chain in chains for layer in chain.layers}
    alone = [Chain((layer,), (), layer.repeats) for layer in layers if layer.name not in inside]
    return [*chains, *alone]


def certify_network_chains(
    network: str,
    accelerator: str,
    parts: Sequence[Chain],
    make: Callable[[Layer], AnyProblem],
    residence: Residence,
    options: NetworkOptions = DEFAULTS,
    *,
    out: Path | None = None,
    observe: Callable[[str], None] = lambda layer: None,
) -> tuple[ChainProof, dict[str, Any]]:
    """The proof of a network's chains, and as plain data.

    The time limit is of a proof of one layer's run; the time for all proofs leaves each layer its part.
    """
    if out is not None:
        make_folder(out)
    clock = Clock(options.in_all)

    def prove(problem: AnyProblem, seconds: float | None) -> Certificate:
        observe(problem.layer.name)
        limits = [one for one in (seconds, options.time_limit) if one is not None]
        return certify(problem, min(limits, default=None), cache=options.cache)

    proving = shared_out(prove, clock, (layer for part in parts for layer in part.layers))
    with tell_of_compiling(clock.pause):
        proof = certify_chains(parts, make, residence, proving, lines=options.lines, over=lambda: clock.over)
    proof = replace(proof, seconds=clock.seconds)
    data = {
        "network": network,
        "accelerator": accelerator,
        "cost_model": proof.problem.model_spec,
        **proof.to_dict(),
    }
    if not isfinite(proof.lower_bound):
        data["lower_bound"] = None
    if options.check:
        data["verified"] = [asdict(one) for one in check_chain(proof, residence)]
    if out is not None:
        write_json(out / CHAINS, data)
    return proof, data
