"""`dse.compare`: searchers compared from Python, as tidy frames and the report's figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dse
import workloads
from dse.search.evaluator import Evaluator
from dse.support.errors import InputError

CHIP = dse.load_accelerator("eyeriss-small")
PROBLEM = dse.Problem(workloads.load_layer("alexnet:conv2"), CHIP, "edp", "loopnest")
NAMES = {"any": "random", "steps": "walk"}


@dataclass(frozen=True)
class Interrupting:
    """Is interrupted in its second cell, until it is let go on."""

    flag: str

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        evaluate(evaluate.space.sample(rng, 20))
        flag = Path(self.flag)
        cells = flag.read_text() if flag.exists() else ""
        if cells == "1":
            raise KeyboardInterrupt
        flag.write_text(cells + "1")
        while evaluate.remaining:
            evaluate(evaluate.space.sample(rng, 10))


@pytest.fixture(scope="module")
def comparison() -> dse.Comparison:
    return dse.compare({"conv": PROBLEM}, NAMES, budget=60, seeds=2, workers=1)


def test_a_comparison_has_what_a_search_finds(comparison: dse.Comparison) -> None:
    runs = comparison.runs
    assert runs[["layer", "searcher", "seed"]].values.tolist() == [
        ["conv", name, seed] for name in ("any", "steps") for seed in (0, 1)
    ]
    assert set(runs["accelerator"]) == {"eyeriss-small"}
    for row in runs.itertuples():
        found = dse.search(PROBLEM, NAMES[row.searcher], budget=60, seed=row.seed)
        best = found.best.loss if found.best else np.inf
        assert row.loss == best
        curve = comparison.curves.query(f"searcher == '{row.searcher}' and seed == {row.seed}")
        assert curve["loss"].min() == best or not np.isfinite(best)
        assert curve["samples"].is_monotonic_increasing
    assert (runs["ratio"] >= 1).all()


def test_a_comparison_shows_tables_and_figures(comparison: dse.Comparison) -> None:
    assert set(comparison.table("standing")["searcher"]) == {"any", "steps"}
    assert "best so far" in str(comparison.plot("gap").axes[0].get_ylabel())
    assert "<table" in comparison._repr_html_()
    with pytest.raises(InputError, match="table must be one of standing"):
        comparison.table("nothing")
    with pytest.raises(InputError, match="plot must be one of gap"):
        comparison.plot("nothing")


def test_an_interrupt_keeps_what_is_done_and_the_same_call_goes_on(tmp_path: Path) -> None:
    searcher = Interrupting(str(tmp_path / "flag"))

    def compared(budget: int = 60, seeds: int = 3) -> dse.Comparison:
        return dse.compare(PROBLEM, [searcher], budget=budget, seeds=seeds, workers=1, out=tmp_path / "out")

    interrupted = compared()
    assert (interrupted.done, interrupted.cells, len(interrupted.runs)) == (1, 3, 1)
    (tmp_path / "flag").write_text("11")
    assert compared().done == 3
    grown = compared(budget=90, seeds=4)
    assert (grown.done, set(grown.runs["samples"])) == (4, {90})


@pytest.mark.parametrize(
    ("problems", "searchers", "said"),
    [
        ([], "random", "problems must be one or more"),
        (PROBLEM, [], "searchers must be one or more"),
        (["conv"], "random", "must be a Problem"),
        ([PROBLEM, PROBLEM], "random", "has two of layer 'conv2' on 'eyeriss-small', edp"),
        (PROBLEM, ["random", "random"], "searchers has two of 'random'"),
        (PROBLEM, "rondom", "did you mean 'random'"),
        ([PROBLEM, dse.Problem(PROBLEM.layer, CHIP, "latency", "maestro")], "random", "one cost model"),
    ],
)
def test_what_cannot_be_compared_is_said(problems: object, searchers: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        dse.compare(problems, searchers, budget=10)  # type: ignore[arg-type]
