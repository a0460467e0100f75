"""`dse certify --chains`: which intermediates stay on chip, the loops, the gain, and the proof."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import output
from dse.cli.best_view import DIGITS, show_folder, show_nests, totals_in_words
from dse.core.cost_models import unit_of
from dse.optimum.beside import nests_of
from dse.optimum.chains.sharing import described_loops
from dse.support.errors import InputError
from dse.support.quantities import energy_in_words, quantity_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dse.core.layer import Layer
    from dse.core.problem import AnyProblem
    from dse.core.residence import Residence
    from dse.optimum.chains.result import ChainProof, Run
    from dse.optimum.network_options import NetworkOptions


def certify_chains(
    network: str,
    accelerator: str,
    problems: Mapping[str, AnyProblem],
    json: bool,
    options: NetworkOptions,
    out: Path | None,
) -> dict[str, Any]:
    """Prove a network's chains, and show what was found; `problems` are those of its layers."""
    from dse.core.cost_models import models_with
    from dse.core.residence import residence_of
    from dse.optimum.chains.network import certify_network_chains, parts_of
    from workloads import load

    model = next(iter(problems.values())).model
    residence = residence_of(model)
    if residence is None:
        able = " or ".join(map(repr, models_with("residence_module")))
        raise InputError(f"--chains is not known of cost model {model.name!r}; expected {able}")
    found = load(network)
    parts = parts_of(found.chains, [layer.folded() for layer in found.in_order])
    by_layer = {problem.layer: problem for problem in problems.values()}

    def make(layer: Layer) -> AnyProblem:
        return by_layer[layer]

    with output.error_console().status(f"proving the chains of {network}") as status:
        proof, data = certify_network_chains(
            network, accelerator, parts, make, residence, options, out=out,
            observe=lambda layer: status.update(f"proving {layer}"),
        )  # fmt: skip
    if json:
        output.print_json(data)
    else:
        show_chains(proof, data, residence, out)
    return {
        "layer": network,
        "best": data["totals"],
        **({"verified": data["verified"]} if "verified" in data else {}),
    }


def show_chains(proof: ChainProof, data: Mapping[str, Any], residence: Residence, out: Path | None) -> None:
    """Print what stays, each layer's loops, and the totals beside those of layers by themselves."""
    console, best = output.make_console(), proof.best
    unit = unit_of(proof.objective, proof.problem.model.name)
    machine = proof.problem.accelerator.called(data["accelerator"])
    output.print_heading(console, f"{data['network']}, {machine}, cost model {data['cost_model']}")
    if best is None:
        console.print("some layer has no feasible mapping", style="red")
        return
    claim = data["status"] if data["gap"] == 0 else f"{data['status']}, gap {data['gap']:.2%}"
    console.print(f"{claim} {proof.objective} {quantity_in_words(best.loss, unit, DIGITS)}", style="green")
    show_nests(console, [nests_of(proof.problem)])
    _show_staying(console, proof)
    _show_runs(console, proof, residence)
    _show_gain(console, data)
    console.print(f"proof of {data['proofs']} phases in {output.short_number(data['seconds'])} s")
    for check in data.get("verified", []):
        console.print(f"{'verified' if check['passed'] else 'FAILED'}: {check['name']}: {check['seen']}")
    show_folder(console, out)


def _show_staying(console: Console, proof: ChainProof) -> None:
    home, best = proof.home, proof.best
    if home is None:
        console.print("no level of the hardware keeps inputs and outputs: nothing can stay on chip")
        return
    assert best is not None
    sizes = {
        program.chain.names[one.maker]: one.words
        for program in proof.programs
        for one in program.tensors.values()
    }
    stays = [f"{name} ({sizes[name]:,} {home.unit})" for name in best.staying]
    tiles = {layer.name for shared in best.shared for layer in shared.group.layers[:-1]}
    if tiles:
        console.print(f"stays tile by tile: {', '.join(name for name in sizes if name in tiles)}")
    goes = [name for name in sizes if name not in (*best.staying, *tiles)]
    console.print(f"stays in {home.level}, of {home.room:,} {home.unit}: {', '.join(stays) or 'nothing'}")
    # Of what no layer reads there is nothing to say.
    cannot = [
        layer.name
        for program in proof.programs
        for place, layer in enumerate(program.chain.layers)
        if program.chain.readers_of(layer.name) and place not in program.tensors
    ]
    if home.whole_only:
        known = "that is known of a roofline's latency alone"
        console.print(f"no tiles are shared: {known}, not of {home.whole_only}")
    for program in proof.programs:
        for name, why in program.chain.also_read:
            if program.chain.readers_of(name):
                console.print(f"written off the chip in any case: {name} ({why})")
    if cannot:
        console.print(f"cannot stay, as it is not read whole and as it is made: {', '.join(cannot)}")
    if goes:
        console.print(f"goes off the chip: {', '.join(goes)}")


def _show_runs(console: Console, proof: ChainProof, residence: Residence) -> None:
    """Each layer's loops; of layers that share tiles, the loops that they share, and then their parts'."""
    assert proof.best is not None
    for run in proof.best.runs:
        _show_run(console, run, proof, residence)
    for shared in proof.best.shared:
        console.print()
        for line in described_loops(shared.tiling, shared.group):
            console.print(line, style="bold")
        spent = energy_in_words(shared.joules * 1e9, DIGITS)
        line = f"together x {shared.count:,}: {shared.cycles:,.0f} cycles, {spent}"
        console.print(line)
        for run in shared.runs:
            _show_run(console, run, proof, residence)


def _show_run(console: Console, run: Run, proof: ChainProof, residence: Residence) -> None:
    held = f", {'+'.join(run.phase.held)} in place" if run.phase.held else ""
    held += ", adding to earlier sums" if run.phase.returned else ""
    spent = energy_in_words(run.best.energy_nj, DIGITS)
    console.print()
    line = f"{run.name} x {run.count:,}: {run.best.cycles:,} cycles, {spent}{held}"
    console.print(line, style="bold")
    problem = residence.problem(proof.problem, run.phase)
    assert problem is not None
    console.print(problem.nest(run.best.mapping).strip())


def _show_gain(console: Console, data: Mapping[str, Any]) -> None:
    """The totals beside those of layers by themselves."""
    console.print()
    names, gains = ("latency", "energy", "edp"), data["gain"]
    figures = [totals_in_words(data[key]) for key in ("layer_by_layer", "totals")]
    rows = [*zip(names, *figures, (f"{gains[name]:.4g}" for name in names), strict=True)]
    output.print_table(console, "whole network", ["figure", "layer by layer", "chains", "gain"], rows)
