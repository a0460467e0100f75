"""How near few samples come to the optimum of transformers: `python -m experiments.transformer_samples`.

Of the campaign `transformers`, for every searcher: the geometric mean over its problems of the median best
loss over the proven optimum after so many samples, and the worst problem in brackets. Reads its curves; runs
nothing. Writes results/transformers/few-samples.md.
"""

from __future__ import annotations

import numpy as np

from dse.analysis.study import Study, load_study
from experiments import RESULTS, keep

FOLDER = RESULTS / "transformers"
SAMPLES = (20, 50, 100, 200, 500, 1000, 2000)


def ratios(study: Study, searcher: str, samples: int) -> list[float]:
    """The median over seeds of the best loss over the optimum, a problem each; inf where none fits."""
    found = []
    for problem in study.problems:
        target, proven = study.target(problem)
        if proven:
            best = [cell.at(samples)["loss"] for cell in study.cells(problem, searcher)]
            found.append(float(np.median(best)) / target)
    return found


def table(study: Study) -> str:
    """The table in Markdown, a searcher a line."""
    lines = [["searcher", *(f"{one:,}" for one in SAMPLES)], ["---", *["---:"] * len(SAMPLES)]]
    for searcher in study.searchers:
        each = [ratios(study, searcher, samples) for samples in SAMPLES]
        lines.append([searcher, *(f"{np.exp(np.log(one).mean()):.3f} ({max(one):.2f})" for one in each)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    keep(FOLDER / "few-samples.md", "experiments.transformer_samples", table(load_study(FOLDER)))
