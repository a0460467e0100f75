"""Reference points for a campaign's problems: what the dataflow templates cost that architects know."""

from __future__ import annotations

from typing import Any

from dse.campaign.config import Campaign, NamedProblem
from dse.mapping import MappingBatch
from dse.templates import TEMPLATES


def template_figures(campaign: Campaign) -> dict[str, dict[str, dict[str, Any]]]:
    """By template and problem label: repeats, loss, seconds and joules. Infeasible fits are left out."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, fit in TEMPLATES.items():
        points = {problem.label: _figures(problem, fit) for problem in campaign.problems}
        found[name] = {label: figures for label, figures in points.items() if figures is not None}
    return found


def _figures(named: NamedProblem, fit: Any) -> dict[str, Any] | None:
    problem = named.problem
    evaluations = problem.evaluate(MappingBatch.of([fit(problem.layer, problem.accelerator)]))
    if evaluations.reason[0]:
        return None
    return {
        "repeats": problem.layer.repeats,
        "loss": float(evaluations.loss[0]),
        "seconds": float(evaluations.cycles[0]) * problem.accelerator.cycle_seconds,
        "joules": float(evaluations.energy_nj[0]) * 1e-9,
    }
