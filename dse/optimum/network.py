"""A whole network: the optimum of every layer, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dse.optimum import certify, verify
from dse.optimum.certificate import Certificate
from dse.problem.problem import Problem
from dse.search.network import MAPPINGS, NETWORK, layer_file, totals
from dse.support.files import make_folder, write_json

CERTIFICATES = "certificates"
"""The certificates in the folder of a network, beside the totals and the best mapping of each layer."""
CERTIFICATE = "certificate.json"

SUMMED = ("latency", "energy")
"""Objectives whose total over the layers is least where each layer's is."""


def certify_layer(
    spec: str,
    accelerator: str,
    problem: Problem,
    *,
    time_limit: float | None = None,
    cache: bool | str | Path = True,
    check: bool = False,
) -> tuple[Certificate, dict[str, Any]]:
    """One layer's certificate, and as plain data; with `check` it is verified, and `verified` says how."""
    found = certify(problem, time_limit, cache=cache)
    entry = found.to_dict(problem, spec, accelerator)
    if check:
        entry["verified"] = [asdict(one) for one in verify(problem, found)]
    return found, entry


def certify_network(
    network: str,
    accelerator: str,
    problems: Mapping[str, Problem],
    *,
    out: Path | None = None,
    observe: Callable[[str], None] = lambda layer: None,
    **options: Any,
) -> dict[str, Any]:
    """Certify each of a network's layers, given by their full names, one after another.

    The result is plain data: what was certified, `layers` with an entry each, their `totals` (None if a
    layer has no feasible mapping) and a `lower_bound` on the total, where the objective adds up. `options`
    are those of `certify_layer`, for each layer. With `out`, a folder, mappings and certificates are written
    to it; a run that was interrupted finds the optima that it proved in the cache. `observe` is told the
    name of each layer that is done.
    """
    if out is not None:
        make_folder(out, MAPPINGS, CERTIFICATES)
    layers, bounds = [], []
    for place, (spec, problem) in enumerate(problems.items()):
        found, entry = certify_layer(spec, accelerator, problem, **options)
        layers.append({**entry, "repeats": problem.layer.repeats})
        bounds.append(found.lower_bound * problem.layer.repeats)
        if out is not None:
            name = layer_file(place, spec)
            write_layer(entry, out / MAPPINGS / name, out / CERTIFICATES / name)
        observe(spec)
    problem = next(iter(problems.values()))
    total = totals(problems, layers)
    data = {
        "network": network,
        "accelerator": accelerator,
        "objective": problem.objective,
        "cost_model": problem.model_spec,
        "layers": layers,
        "totals": total,
        "lower_bound": sum(bounds) if total and problem.objective in SUMMED else None,
    }
    if out is not None:
        write_json(out / NETWORK, data)
    return data


def write_layer(entry: Mapping[str, Any], mapping: Path, certificate: Path) -> None:
    """Write a layer's certificate and, if there is one, its best mapping."""
    write_json(certificate, entry)
    if entry["best"]:
        write_json(mapping, entry["best"]["mapping"])
