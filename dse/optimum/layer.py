"""The proof of one layer as `dse certify` shows it: with ties, lists and other nests, and as plain data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from dse.core.certificate import Certificate
from dse.core.layer import in_all
from dse.core.listed import NONE, Wanted
from dse.core.problem import AnyProblem
from dse.optimum import certify, verify
from dse.optimum.beside import over_more_nests
from dse.optimum.near import lister_for, with_near
from dse.optimum.ties import settle_ties, verify_ties
from dse.optimum.verification.near import verify_near


def certify_layer(
    spec: str,
    accelerator: str,
    problem: AnyProblem,
    *,
    time_limit: float | None = None,
    cache: bool | str | Path = True,
    check: bool = False,
    wanted: Wanted = NONE,
    more_nests: bool = False,
) -> tuple[Certificate, dict[str, Any]]:
    """One layer's certificate, and as plain data; with `check` it is verified, and `verified` says how.

    `wanted` says which mappings near the optimum come with it, over the nests of the problem alone; without
    it, see `over_more_nests` for `more_nests`.
    """
    if wanted:
        lister_for(problem)
    found = certify(problem, time_limit, cache=cache)
    if more_nests and not wanted:
        problem, found = over_more_nests(problem, found, time_limit, cache=cache)
    found = settle_ties(problem, found, time_limit, cache=cache)
    found = with_near(problem, found, wanted, time_limit)
    return found, describe_layer(spec, accelerator, problem, found, check=check)


def describe_layer(
    spec: str, accelerator: str, problem: AnyProblem, found: Certificate, *, check: bool = False
) -> dict[str, Any]:
    """A layer's certificate as plain data, beside its roofline and what all of its runs take."""
    entry = found.to_dict(problem, spec, accelerator) | _beside_roofline(problem, found)
    if found.best is not None:
        entry |= in_all(problem.layer, found.best.cycles, found.best.energy_nj)
    sources = problem.model.energy_sources(problem.layer, problem.accelerator)
    if sources:
        entry["energies"] = list(sources)
    if check:
        checks = *verify(problem, found), *verify_ties(problem, found), *verify_near(problem, found)
        entry["verified"] = [asdict(one) for one in checks]
    return entry


def _beside_roofline(problem: AnyProblem, found: Certificate) -> dict[str, Any]:
    """The layer's roofline, and how far the best mapping is from it; nothing where the model has none."""
    best = found.best
    there = problem if best is None else problem.on_machine_of(best.genes)
    bounds = there.model.roofline(there.layer, there.accelerator)
    if bounds is None:
        return {}
    above: dict[str, float | None] = {"cycles_above": None, "energy_above": None}
    if best is not None:
        energy = best.energy_nj / bounds.energy_nj if bounds.energy_nj else None
        above = {"cycles_above": best.cycles / bounds.cycles, "energy_above": energy}
    return {"roofline": bounds.to_dict() | above}
