"""Reference points for a campaign's problems: known dataflows, and the proven optimum."""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress
from typing import Any

from dse.campaign.config import Campaign, NamedProblem
from dse.core.objective import names_several
from dse.support.errors import InputError
from dse.support.telling import Tell, tell_nobody

OPTIMUM_SECONDS = 30.0
"""How long the proof of one problem's optimum may take; a bound is kept if it takes longer.

What others compute on the machine meanwhile does not count: a proof that is cut off is never taken up again.
"""
FRONT_SECONDS = 120.0
"""The same of the proofs of a front."""
NETWORK_SECONDS = 600.0
"""The same of a whole network on machines to choose from: of every layer, on many of them."""


def template_figures(campaign: Campaign) -> dict[str, dict[str, dict[str, Any]]]:
    """By template and problem label: repeats, loss, seconds and joules. Infeasible fits are left out.

    So are problems priced by something outside: a price may take minutes there, or never come.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    problems = [
        one for one in campaign.problems if not (one.problem.model.outside or names_several(one.objective))
    ]
    for name in dict.fromkeys(name for problem in problems for name in problem.problem.templates):
        points = {
            problem.label: _figures(problem, name)
            for problem in problems
            if name in problem.problem.templates
        }
        found[name] = {label: figures for label, figures in points.items() if figures is not None}
    return found


def _figures(named: NamedProblem, template: str) -> dict[str, Any] | None:
    problem = named.problem
    evaluations = problem.evaluate(problem.template(template))
    if evaluations.reason[0]:
        return None
    return {
        "repeats": problem.layer.repeats,
        "loss": float(evaluations.loss[0]),
        "seconds": float(evaluations.cycles[0]) * (1.0 / evaluations.criteria.hertz),
        "joules": float(evaluations.energy_nj[0]) * 1e-9,
    }


def optimum_figures(
    campaign: Campaign, known: Container[str] = (), tell: Tell = tell_nobody
) -> dict[str, dict[str, Any]]:
    """By problem label: `status`, `lower_bound` and `loss` of the certificate.

    Of several objectives `front` has the cycles and nanojoules of the exact front's points, `front_genes`
    their genes, and 1 is the loss of one that lacks nothing (see `dse.analysis.fronts`).

    Where tiles of any size cannot be certified, the best among perfect factors is known, and no bound (0).
    Problems that are `known`, or of which nothing can be said, are left out.
    """
    from dse.core.certificate import BOUNDED
    from dse.core.clock import at_work
    from dse.optimum import certify

    found: dict[str, dict[str, Any]] = {}
    for place, named in enumerate(campaign.problems, 1):
        if named.label in known:
            continue
        tell(f"proving the optimum of {named.label}, {place:,} of {len(campaign.problems):,}")
        if names_several(named.objective):
            found |= _front(named)
            continue
        whole, certificate = True, None
        with suppress(InputError):
            seconds = NETWORK_SECONDS if named.problem.model.prices_networks else OPTIMUM_SECONDS
            certificate = certify(named.problem, seconds, now=at_work())
        if certificate is None and named.problem.options["tiles"] != "factors":
            whole = False
            with suppress(InputError):
                factors = named.problem.with_changes(tiles="factors")
                certificate = certify(factors, OPTIMUM_SECONDS, now=at_work())
        if certificate is not None and certificate.best is not None:
            found[named.label] = {
                "status": certificate.status if whole else BOUNDED,
                "lower_bound": certificate.lower_bound if whole else 0.0,
                "loss": certificate.best.loss,
            }
    return found


def _front(named: NamedProblem) -> dict[str, dict[str, Any]]:
    """The exact front of a problem, or what is proven of it within the time; nothing where nothing can be."""
    from dse.core.certificate import INFEASIBLE, OPTIMAL
    from dse.core.clock import at_work
    from dse.optimum.front import certify_front

    try:
        front = certify_front(named.problem, FRONT_SECONDS, now=at_work())
    except InputError:
        return {}
    if front.status == INFEASIBLE:
        return {}
    return {
        named.label: {
            "status": front.status,
            "lower_bound": 1.0 if front.status == OPTIMAL else 0.0,
            "loss": 1.0,
            "front": [[float(point.cycles), point.energy_nj] for point in front.points],
            "front_genes": [list(point.genes) for point in front.points],
        }
    }
