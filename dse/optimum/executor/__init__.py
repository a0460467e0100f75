"""Executing the printed schedule of a network's chains, in code that shares nothing with what found it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from dse.core.edges import Chain
from dse.core.layer import Layer
from dse.core.proofs import Check
from dse.core.residence import residence_of
from dse.optimum.executor.execution import Executed, Execution
from dse.optimum.executor.groups import RefusedError
from dse.support.errors import InputError

__all__ = ["Executed", "RefusedError", "execute_chain", "execute_schedule", "executed_check"]

SMALL = 1 << 20
"""Words of all outputs of a chain whose schedule is executed as part of its proof."""


@dataclass(frozen=True)
class Machine:
    """What an execution has to know of the hardware: the home's room, and the room of a layer's tensors."""

    room: int
    sizes: Mapping[Layer, Mapping[str, int]]


def execute_chain(chain: Chain, schedule: Mapping[str, Any], machine: Machine) -> Executed:
    """Run a chain as its schedule says, once; RefusedError where that cannot be."""
    sizes = {name: machine.sizes[layer] for name, layer in zip(chain.names, chain.layers, strict=True)}
    return Execution(chain, schedule, sizes, machine.room).run()


def execute_schedule(
    network: Any, schedule: Mapping[str, Any], accelerator: Any, cost_model: str | None = None
) -> dict[str, Executed]:
    """Run the chains of a network as the data of `chains.json` say, by the name of each one's first layer.

    `network` is one of `workloads`, as load("mlp"), whose source says which layer reads what, and what else
    is read; `accelerator` what `certify` takes, and the cost model by default the schedule's. RefusedError
    with a reason where a word is read that was not written, the home overflows, or something is not written
    that is read elsewhere; InputError where the schedule is of another network.
    """
    from dse.core.cost_models import cost_model as model_named
    from dse.core.domains import domain_of, make_problem

    model = model_named(cost_model or str(schedule["cost_model"]))
    hardware = (
        domain_of(model).load_hardware(accelerator, model) if isinstance(accelerator, str) else accelerator
    )
    residence = residence_of(model)
    if residence is None:
        raise InputError(f"chains are not known of cost model {model.name!r}")
    problems = {
        layer: make_problem(layer, hardware, "energy", model)
        for chain in network.chains
        for layer in chain.layers
    }
    home = residence.home(next(iter(problems.values())))
    sizes = {layer: dict(residence.sizes(one)) for layer, one in problems.items()}
    named = {one["layer"] for one in schedule["runs"]} | {
        name for one in schedule["shared"] for name in one["layers"]
    }
    lost = [name for chain in network.chains for name in chain.names if name not in named]
    if lost:
        raise InputError(f"the schedule does not run {lost[0]}: it is of another network")
    machine = Machine(home.room if home else 0, sizes)
    return {chain.names[0]: execute_chain(chain, schedule, machine) for chain in network.chains}


def executed_check(chains: Sequence[Chain], schedule: Mapping[str, Any], machine: Machine) -> Check:
    """The execution of a schedule as a check of a proof."""
    name = "the schedule runs: each word is written before it is read, and has its room"
    try:
        found = [execute_chain(chain, schedule, machine) for chain in chains]
    except RefusedError as refusal:
        return Check(name, False, str(refusal))
    peak, events = max((one.peak for one in found), default=0), sum(one.events for one in found)
    return Check(name, True, f"{events:,} events, at most {peak:,} taken")


def is_executed(chain: Chain) -> bool:
    """Whether a schedule of the chain is executed as part of its proof."""
    words = 0
    for layer in chain.layers:
        channels = layer.C if layer.type == "DSCONV" else layer.K
        words += layer.repeats // chain.times * channels * prod(layer.output)
    return words <= SMALL
