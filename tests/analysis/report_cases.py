"""Finished cells and campaign folders made by hand, for what tests the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.campaign.curves import CURVES, write_curves
from dse.campaign.summary import STEPS, Summary

A, B = ("net:a", "edge", "latency"), ("net:b", "edge", "latency")
REPEATS = {"a": 2, "b": 3, "conv1_2": 1}


def cell(
    searcher: str,
    losses: Sequence[tuple[int, float]],
    problem: tuple[str, str, str] = A,
    *,
    seed: int = 0,
    budget: int = 1000,
    cycles: int = 1,
    energy_nj: float = 1.0,
    clock_ghz: float = 1.0,
) -> Summary:
    """A finished cell that improved at the samples and to the losses given, always at the same costs."""
    layer, accelerator, objective = problem
    network, _, name = layer.rpartition(":")
    steps = {step: [1.0] * len(losses) for step in STEPS}
    steps |= {"index": [index for index, _ in losses], "loss": [loss for _, loss in losses]}
    steps |= {"cycles": [cycles] * len(losses), "energy_nj": [energy_nj] * len(losses)}
    return Summary(
        key="--".join((*problem, searcher, str(seed))),
        fingerprint="f" * 64,
        layer=layer,
        network=network,
        repeats=REPEATS[name],
        accelerator=accelerator,
        clock_ghz=clock_ghz,
        objective=objective,
        searcher=searcher,
        type=searcher,
        seed=seed,
        budget=budget,
        samples=budget,
        distinct=budget,
        infeasible={"l1_too_small": 3},
        elsewhere=0,
        searcher_seconds=0.5,
        model_seconds=0.25,
        genes=[0] * 13,
        mean_losses=[1.0],
        steps=steps,
    )


def campaign(folder: Path, cells: Sequence[Summary], **about: Any) -> Path:
    """A folder with the curves of a campaign."""
    problems = list(dict.fromkeys((c.layer, c.accelerator, c.objective) for c in cells))
    known: dict[str, Any] = {
        "campaign": "test",
        "budget": 1000,
        "cost_model": "maestro",
        "seeds": 1,
        "searchers": list(dict.fromkeys(c.searcher for c in cells)),
        "problems": problems,
        "templates": {},
    }
    write_curves(folder / CURVES, cells, known | about)
    return folder
