"""A whole network: the optimum of every layer, what they add up to, and the least product of the totals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from dse.core.certificate import (
    BOUNDED,
    INFEASIBLE,
    OPTIMAL,
    Certificate,
    Incumbent,
    gap_between,
    priced_mapping,
)
from dse.core.objective import objective_named
from dse.core.problem import AnyProblem
from dse.core.proofs import Check
from dse.optimum import certify, verify
from dse.optimum.default import certify_layer
from dse.optimum.network_options import DEFAULTS, NetworkOptions, NetworkTime, SideBySide, side_by_side
from dse.optimum.total import Total, has_total, least_total
from dse.optimum.total_check import check_total
from dse.search.network import MAPPINGS, NETWORK, layer_file, network_totals
from dse.support.files import make_folder, write_json

CERTIFICATES = "certificates"
"""The certificates in the folder of a network, beside the totals and the best mapping of each layer."""
CERTIFICATE = "certificate.json"


def certify_network(
    network: str,
    accelerator: str,
    problems: Mapping[str, AnyProblem],
    options: NetworkOptions = DEFAULTS,
    *,
    out: Path | None = None,
    observe: Callable[[str], None] = lambda layer: None,
    observe_total: Callable[[float], None] = lambda gap: None,
) -> dict[str, Any]:
    """Certify each of a network's layers, given by their full names.

    The result is plain data: what was certified, `layers` with an entry each, their `totals` (None if a
    layer has no mapping) and of the total objective `status`, `lower_bound` and `gap`, as a certificate has
    them. Of a product such as EDP the total's own optimum is proven (see `dse.optimum.total`): `best` of each
    layer is then the mapping that it has there, `own` the layer's own best where that is another, and
    `layer_by_layer` the totals of the layers' own. Its proofs end as soon as what is found is at most the
    options' `gap` above its bound, which the layers' own proofs may say already; `observe_total` is told the
    gap that is left. `seconds` says what the proofs took.
    With `out`, a folder, mappings and certificates are written to it; a run that was interrupted finds in the
    cache how far its proofs were. `observe` is told the name of each layer that is done.
    """
    if out is not None:
        make_folder(out, MAPPINGS, CERTIFICATES)
    # The total's proofs have as much time as the layers' own.
    time = NetworkTime(options.time_limit, options.in_all, len(problems) * (1 + has_total(problems)))
    with side_by_side(options.workers) as run:
        layers, proofs = _certify_layers(accelerator, problems, options, time, run, out, observe)
        own = network_totals(problems, layers)
        prove = partial(_prove_side_by_side, run, time, options.cache)
        least = _least_total(problems, proofs, own, options.gap, prove, lambda: time.over, observe_total)
    if least is not None:
        _choose(problems, layers, proofs, least, out)
    data = {
        **_described(network, accelerator, problems, layers, proofs, least),
        "seconds": time.seconds,
        "time_limit": options.in_all,
        "within": options.gap,
    }
    if least is not None:
        checks = [asdict(one) for one in _verified(problems, proofs, least)] if options.check else []
        verified: dict[str, Any] = {"verified": checks} if checks else {}
        data |= {"total": {**least.to_dict(), **verified}, "layer_by_layer": own}
    if out is not None:
        write_json(out / NETWORK, data)
    return data


def _certify_layers(
    accelerator: str,
    problems: Mapping[str, AnyProblem],
    options: NetworkOptions,
    time: NetworkTime,
    run: SideBySide,
    out: Path | None,
    observe: Callable[[str], None],
) -> tuple[list[dict[str, Any]], list[Certificate]]:
    """Each layer's entry and certificate; they are written as they come."""
    layers, proofs = [], []
    calls = (
        (spec, accelerator, problem, time.of_next(spec), options.cache, options.check)
        for spec, problem in problems.items()
    )
    answers = run(_layer, calls)
    for place, (spec, problem) in enumerate(problems.items()):
        found, entry = next(answers)
        time.note(spec, found)
        time.parts -= 1
        layers.append({**entry, "repeats": problem.layer.repeats})
        proofs.append(found)
        if out is not None:
            name = layer_file(place, spec)
            write_layer(entry, out / MAPPINGS / name, out / CERTIFICATES / name)
        observe(spec)
    return layers, proofs


def _described(
    network: str,
    accelerator: str,
    problems: Mapping[str, AnyProblem],
    layers: list[dict[str, Any]],
    proofs: Sequence[Certificate],
    least: Total | None,
) -> dict[str, Any]:
    """What was proven of a network, as plain data; `least` is of its total, where there is one."""
    problem = next(iter(problems.values()))
    total = network_totals(problems, layers)
    status, bound = bound_of_total(problems, proofs, total)
    if least is not None:
        # The layers' own mappings bound the total too; sums that are equal may be rounded otherwise.
        status, loss = least.status, total[problem.objective] if total else least.loss
        bound = loss if status == OPTIMAL else min(max(least.lower_bound, bound or 0.0), loss)
    return {
        "network": network,
        "accelerator": accelerator,
        "objective": problem.objective,
        "cost_model": problem.model_spec,
        "layers": layers,
        "totals": total,
        "status": status,
        "lower_bound": bound,
        "gap": gap_between(total[problem.objective], bound) if total and bound is not None else None,
    }


def _layer(
    spec: str,
    accelerator: str,
    problem: AnyProblem,
    time_limit: float | None,
    cache: bool | str | Path,
    check: bool,
) -> tuple[Certificate, dict[str, Any]]:
    """`certify_layer`, as processes call it."""
    return certify_layer(spec, accelerator, problem, time_limit=time_limit, cache=cache, check=check)


def _prove(problem: AnyProblem, seconds: float | None, cache: bool | str | Path) -> Certificate:
    """`certify`, as processes call it."""
    return certify(problem, seconds, cache=cache)


def _prove_side_by_side(
    run: SideBySide, time: NetworkTime, cache: bool | str | Path, asked: Sequence[tuple[str, AnyProblem]]
) -> Iterator[Certificate]:
    """Prove problems of the layers of those names, each in its part of the time that is left."""
    calls = ((problem, time.of_next(name), cache) for name, problem in asked)
    for (name, _), found in zip(asked, run(_prove, calls), strict=True):
        time.note(name, found)
        yield found


def _least_total(
    problems: Mapping[str, AnyProblem],
    proofs: Sequence[Certificate],
    own: Mapping[str, float] | None,
    gap: float,
    *options: Any,
) -> Total | None:
    """The least product of the totals, where every layer has a mapping whose proof is more than a floor.

    None too where the layers' `own` totals are within a `gap` of what their proofs say.
    """
    if not own or not has_total(problems):
        return None
    objective = next(iter(problems.values())).objective
    _, bound = bound_of_total(problems, proofs, own)
    if gap and gap_between(own[objective], bound or 0.0) <= gap:
        return None
    known = all(proof.best is not None and proof.counts.groups for proof in proofs)
    prove, over, observe = options
    return least_total(problems, proofs, prove, over, gap, observe) if known else None


def _choose(
    problems: Mapping[str, AnyProblem],
    layers: list[dict[str, Any]],
    proofs: Sequence[Certificate],
    least: Total,
    out: Path | None,
) -> None:
    """Put the mappings of the least total into the layers' entries, and into the folder."""
    for place, (spec, problem) in enumerate(problems.items()):
        own, entry, found = proofs[place].best, layers[place], least.best.mappings[place]
        assert own is not None
        if (found.cycles, found.energy_nj) == (own.cycles, own.energy_nj):
            continue
        chosen: Incumbent | None = priced_mapping(problem, found.mapping)
        best = replace(proofs[place], best=chosen).to_dict(problem, spec, entry["accelerator"])["best"]
        entry |= {"own": entry["best"], "best": best}
        if out is not None:
            write_json(out / MAPPINGS / layer_file(place, spec), best["mapping"])


def _verified(problems: Mapping[str, AnyProblem], proofs: Sequence[Certificate], least: Total) -> list[Check]:
    """Whether every proof that a total stands on holds, and whether its bound follows from them."""
    failed = []
    for (name, objective), proof in least.proofs.items():
        checks = verify(problems[name].with_changes(objective=objective), proof)
        failed += [f"{name}, {objective}: {one.name}" for one in checks if not one.passed]
    held = Check(
        "the proofs of the total hold", not failed, "; ".join(failed) or f"{len(least.proofs)} proofs"
    )
    return [held, check_total(problems, least.to_dict(), proofs, least.proofs)]


def bound_of_total(
    problems: Mapping[str, AnyProblem], proofs: Sequence[Certificate], total: Mapping[str, float] | None
) -> tuple[str, float | None]:
    """Whether a network's total is proven, and what no mappings of its layers are below.

    The least latency and energy are the sums of the layers'. A product such as EDP is that of the totals'
    powers. With s the sum of its exponents, it is no less than the power s of the sum of the layers' s-th
    roots (Hölder; with EDP, Cauchy and Schwarz). Of other objectives there is no total; `optimal` then says
    that every layer is.
    """
    problem = next(iter(problems.values()))
    statuses = {proof.status for proof in proofs}
    if INFEASIBLE in statuses:
        return INFEASIBLE, None
    status = BOUNDED if BOUNDED in statuses else OPTIMAL
    objective = objective_named(problem.objective)
    if total is None or not objective.adds_up:
        return status, None
    repeats = [problem.layer.repeats for problem in problems.values()]
    bounds = [proof.lower_bound for proof in proofs]
    degree = objective.degree
    bound = sum(times * least ** (1 / degree) for times, least in zip(repeats, bounds, strict=True)) ** degree
    if len(objective.terms) > 1 and len(proofs) > 1:
        # Several layers that are best for themselves need not be best together.
        status = BOUNDED
    # Sums that are equal may be rounded otherwise.
    return status, total[problem.objective] if status == OPTIMAL else min(bound, total[problem.objective])


def write_layer(entry: Mapping[str, Any], mapping: Path, certificate: Path) -> None:
    """Write a layer's certificate and, if there is one, its best mapping."""
    write_json(certificate, entry)
    if entry["best"]:
        write_json(mapping, entry["best"]["mapping"])
