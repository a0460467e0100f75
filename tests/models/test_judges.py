"""What measures: time alone is an answer, what cannot fit is not asked, noise is repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.cost_model import PricesNothing
from dse.core.cost_models import cost_model
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.models.outside.answers import Refusal, read_answer
from dse.support.errors import InputError
from tests.models import outside_models as outside

LAYER, SMALL = Layer("CONV", 32, 16, 14, 14, 3, 3, (1, 1), (1, 1)), PRESETS["eyeriss-small"]
POINTS = Problem(LAYER, SMALL).space.sample(np.random.default_rng(3), 60)


def program(folder: Path, *settings: str, body: str = "") -> str:
    """A model that asks a program, which notes what it is asked and says a time alone."""
    note = f"open({str(folder / 'asked')!r}, 'a').write('x')\n"
    said = "print(json.dumps({'id': case['id'], 'cycles': 10**9, 'counters': {'dram_words': 7}}), flush=True)"
    run = outside.line_program(folder / "price.py", f"{note}{body}\n{said}; continue")
    return f"command({', '.join([f'run={json.dumps(run)}', *settings])})"


def asked(folder: Path) -> int:
    file = folder / "asked"
    return len(file.read_text()) if file.exists() else 0


def test_time_alone_is_enough_of_an_answer_and_energies_are_then_refused_in_a_line(tmp_path: Path) -> None:
    found = Problem(LAYER, SMALL, "latency", program(tmp_path)).price(POINTS)
    assert set(found.cycles[found.reason == 0].tolist()) == {10**9}
    for objective in ("edp", "energy", "latency, energy"):
        with pytest.raises(PricesNothing, match=r"says no energy_nj, of which objective .* is made"):
            Problem(LAYER, SMALL, objective, program(tmp_path)).price(POINTS)


def test_what_does_not_fit_is_not_asked_and_says_why(tmp_path: Path) -> None:
    problem = Problem(LAYER, SMALL, "latency", program(tmp_path))
    ours, found = Problem(LAYER, SMALL).price(POINTS), problem.price(POINTS)
    misfits = np.isin(ours.reason, (Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL))
    assert 0 < misfits.sum() < len(POINTS)
    assert (found.reason == ours.reason).all()
    assert (found.violation == ours.violation).all()
    distinct = {row.tobytes() for row in problem.space.decode(POINTS[~misfits]).rows}
    assert asked(tmp_path) == len(distinct)
    words = problem.explain(problem.space.decode(POINTS[misfits])[0])
    assert " of " in words
    assert words.startswith(("L1 needs", "L2 needs"))
    assert asked(tmp_path) == len(distinct), "to say why asks nobody"


def test_what_does_not_fit_costs_no_sample_where_the_user_says_so(tmp_path: Path) -> None:
    free, charged = (
        dse.search(Problem(LAYER, SMALL, "latency", program(tmp_path, *said)), "random", budget=40, seed=1)
        for said in (('misfits="free"',), ())
    )
    reasons, others = free.record.evaluations().reason, charged.record.evaluations().reason
    assert len(reasons) == len(others) == 40
    misfits = [Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL]
    assert not np.isin(reasons, misfits).any()
    assert np.isin(others, misfits).any()
    drawn = charged.record.genes()[~np.isin(others, misfits)]
    assert (free.record.genes()[: len(drawn)] == drawn).all(), "the others are the same samples"


@pytest.mark.parametrize(("take", "cycles"), [("least", 100), ("median", 102)])
def test_a_noisy_judge_is_asked_again_and_the_least_or_the_median_is_taken(
    tmp_path: Path, take: str, cycles: int
) -> None:
    body = (
        "number = globals().get('number', 0) + 1\n"
        "said = {'id': case['id'], 'cycles': [104, 100, 103, 101, 102][number % 5]}\n"
        "print(json.dumps(said), flush=True); continue"
    )
    model = cost_model(program(tmp_path, "repeats=5", f'take="{take}"', body=body))
    mapping = Problem(LAYER, SMALL).template("nvdla")
    costs = model.evaluate(LAYER, SMALL, MappingBatch.of([mapping]))  # type: ignore[attr-defined]
    assert costs.cycles.tolist() == [cycles]
    assert asked(tmp_path) == 5


def test_counters_repeats_and_a_deviation_may_stand_in_an_answer() -> None:
    said = {"cycles": 12.5, "counters": {"dram_words": 3, "page misses": 0.5}, "repeats": 3, "deviation": 0}
    assert read_answer(said) == said | {"cycles": 13, "deviation": 0.0}


def test_counters_may_be_numbers_of_numpy_but_no_truth_values_of_it() -> None:
    answer = read_answer({"cycles": 5, "counters": {"words": np.int64(3), "share": np.float32(0.5)}})
    assert isinstance(answer, dict)
    assert answer["counters"] == {"words": 3.0, "share": 0.5}
    assert isinstance(read_answer({"cycles": 5, "counters": {"full": np.bool_(True)}}), Refusal)


@pytest.mark.parametrize(
    "counters", [7, {"a": "1"}, {"a": float("nan")}, {"a": True}, {str(n): 1 for n in range(101)}]
)
def test_counters_that_are_no_numbers_are_the_reason_against_an_answer(counters: Any) -> None:
    answer = read_answer({"cycles": 5, "counters": counters})
    assert isinstance(answer, Refusal)
    assert "counters must be a table of at most 100 numbers" in answer.text


def test_a_closure_is_refused_and_told_why() -> None:
    def price(layer: Any, accelerator: Any, mapping: Any) -> dict[str, int]:
        return {"cycles": 1}

    with pytest.raises(InputError, match=r"made inside of another, or a lambda, which no record .* can name"):
        Problem(LAYER, SMALL, cost_model=price)
