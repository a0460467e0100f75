"""How near few samples come to the optimum, over both cost models: `python -m experiments.few_samples small`.

Of the problems of small-* or final-* whose optimum is proven, for every searcher: the geometric mean of the
median best loss over the optimum after so many samples, and the worst problem in brackets. Of final-* also
for its layers that small-* does not have. Reads layers.csv, which `dse report` writes; runs nothing.
Writes results/few-samples-CAMPAIGN.md.
"""

from __future__ import annotations

import argparse

import numpy as np

from experiments import RESULTS, keep, read_rows
from experiments.draw_small import CAMPAIGNS, MODELS


def layers_of(campaign: str) -> set[str]:
    """The layers of a campaign, under both cost models."""
    tables = (RESULTS / f"{campaign}-{model}" / "tables" / "layers.csv" for model in MODELS)
    return {row["layer"] for table in tables for row in read_rows(table)}


def ratios(campaign: str, layers: set[str]) -> dict[str, dict[int, list[float]]]:
    """Median ratios of searchers after so many samples, one a problem on these layers; inf if none fits."""
    found: dict[str, dict[int, list[float]]] = {}
    for model in MODELS:
        for row in read_rows(RESULTS / f"{campaign}-{model}" / "tables" / "layers.csv"):
            if row["proven"] == "True" and row["layer"] in layers:
                of = found.setdefault(row["searcher"], {}).setdefault(int(row["budget"]), [])
                of.append(float(row["ratio"] or "inf"))
    return found


def main() -> None:
    """Print the tables, and write them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("campaign", choices=tuple(CAMPAIGNS))
    campaign = parser.parse_args().campaign
    keep(RESULTS / f"few-samples-{campaign}.md", f"experiments.few_samples {campaign}", *pages(campaign))


def pages(campaign: str) -> list[str]:
    """The tables of a campaign: of all its layers, and of those of final-* that small-* does not have."""
    layers = layers_of(campaign)
    found = [shown(campaign, layers)]
    if campaign == "final":
        new = layers - layers_of("small")
        names = ", ".join(sorted(layer.rpartition(":")[2] for layer in new))
        found += [
            f"On the {len(new)} of {len(layers)} layers that `small` does not have ({names}):",
            shown(campaign, new),
        ]
    return found


def shown(campaign: str, layers: set[str]) -> str:
    """The table in Markdown, a searcher a line."""
    found = ratios(campaign, layers)
    budgets = sorted({budget for by_budget in found.values() for budget in by_budget})
    lines = [["searcher", *(f"{budget:,}" for budget in budgets)], ["---", *["---:"] * len(budgets)]]
    for searcher, by_budget in found.items():
        cells = [
            f"{np.exp(np.log(by_budget[budget]).mean()):.3f} ({max(by_budget[budget]):.2f})"
            if budget in by_budget
            else "-"
            for budget in budgets
        ]
        lines.append([searcher, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
