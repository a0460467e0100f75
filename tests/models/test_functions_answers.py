"""What functions of a user price: answers of every kind, and searches that go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse as framework
from dse.core.cost_model import PricesNothing
from dse.core.figures import CostBatch
from dse.core.reasons import Reason
from dse.domains.clustered.problem import Problem
from dse.models.outside.answers import Refusal, read_answer, read_batch
from dse.search.evaluator import SearchEnded
from tests.conftest import Dse
from tests.models import outside_models as outside
from tests.models.function_cases import COUNTING, EDGE, FAIR, LAYER, WHERE, write


def test_a_search_that_goes_on_knows_that_its_function_has_priced(tmp_path: Path) -> None:
    """What was priced before the search was killed counts: three errors then are three mappings'."""
    body = """
    calls = len(Path(__file__).with_name("calls").read_text())
    if 4 < calls < 10: raise ValueError("no")
    return {"cycles": 10**9, "energy_nj": 1}
    """
    file = write(tmp_path / "costs.py", COUNTING.format(mapping="mapping", body=body.strip()))

    def killed(progress: Any) -> None:
        if progress.samples >= 4:
            raise SearchEnded

    problem = Problem(LAYER, EDGE, "edp", f"{file}:price")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dse.search.evaluator.SLICE_SECONDS", 0.0)
        ended = framework.search(problem, "random", budget=12, out=tmp_path / "out", observers=[killed])
    assert len(ended.record) == 4
    again = framework.search(
        Problem(LAYER, EDGE, "edp", f"{file}:price"), "random", budget=12, out=tmp_path / "out"
    )
    assert again.refusals[Reason.CRASHED] == 5


def test_a_batch_that_fails_is_asked_one_by_one_so_that_only_its_culprits_fail() -> None:
    problem = Problem(LAYER, EDGE, "edp", f"{outside.__name__}:fussy_batch")
    batch = problem.space.decode(problem.space.sample(np.random.default_rng(0), 24))
    costs = problem.model.evaluate(LAYER, EDGE, batch)
    spread = [batch[row].outer.parallel for row in range(len(batch))]
    assert costs.valid.tolist() == [dim != "K" for dim in spread]
    assert "K" in spread


# What it returns


def good(count: int) -> dict[str, Any]:
    return {"cycles": np.full(count, 1000), "energy_nj": np.full(count, 2.5)}


class Odd:
    """Nothing of it can be looked at."""

    def __repr__(self) -> str:
        raise KeyError("odd")

    def __len__(self) -> int:
        raise OSError("odd")


SAID = {"cycles": 5, "energy_nj": 1.0}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (SAID | {"energy": 2}, "'energy' is no figure; expected cycles, energy_nj"),
        (
            SAID | {"counter": {"words": 2}},
            "'counter' is no figure; expected cycles, energy_nj, power, area, l1_size, l2_size, macs, "
            "counters, repeats, deviation",
        ),
        ({"status": "invalid", "reson": "too many banks"}, "'reson' is no figure"),
        (SAID | {"stauts": "invalid"}, "'stauts' is no figure"),
        (SAID | {"status": "success"}, "status must be ok or invalid, got 'success'"),
        (SAID | {"reason": "too many banks"}, "it has a reason and no status 'invalid': 'too many banks'"),
        (SAID | {"cycles": float("nan")}, "cycles must be a finite number above 0, got nan"),
        (SAID | {"energy_nj": -1}, "energy_nj must be a finite number above 0, got -1"),
        (SAID | {"energy_nj": "1"}, "energy_nj must be a finite number above 0, got '1'"),
        ({"energy_nj": 5}, "it lacks cycles"),
    ],
)
def test_what_an_answer_says_is_used_or_is_the_reason_against_it(said: dict[str, Any], words: str) -> None:
    found = read_answer(said)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.GARBLED
    assert words in str(found)


@pytest.mark.parametrize(
    "more", [{}, {"status": "ok", "reason": None, "id": 3}, {"status": "ok", "reason": ""}]
)
def test_labels_of_an_answer_change_nothing(more: dict[str, Any]) -> None:
    assert read_answer(SAID | more) == SAID


WRONG: dict[str, Any] = {
    "nothing": None,
    "a text": "no",
    "a set": {1, 2, 3},
    "a generator": (number for number in range(3)),
    "a number": 5.0,
    "an array": np.ones((3, 2)),
    "too few answers": [good(1)] * 2,
    "too many answers": [good(1)] * 4,
    "other keys": {"cycle": [1, 2, 3]},
    "a key missing": {"energy_nj": [1, 2, 3]},
    "keys that are numbers": {1: [1, 2, 3]},
    "columns too short": good(2),
    "a column of two axes": good(3) | {"cycles": np.ones((3, 2))},
    "a column that is a number": good(3) | {"cycles": 7},
    "a column without axes": good(3) | {"cycles": np.array(7)},
    "a column that is a set": good(3) | {"cycles": {1, 2, 3}},
    "a column that is a table": good(3) | {"cycles": {1: 1, 2: 2, 3: 3}},
    "a column that is a text": good(3) | {"cycles": "abc"},
    "a generator as a column": good(3) | {"cycles": (number for number in range(3))},
    "a CostBatch of another length": CostBatch.zeros(2),
    "a CostBatch of nothing": CostBatch(*[None] * 9),  # type: ignore[arg-type]
    "what cannot be looked at": Odd(),
    "a column that cannot be looked at": good(3) | {"cycles": Odd()},
}


@pytest.mark.parametrize("said", WRONG.values(), ids=list(WRONG))
def test_a_wrong_answer_to_a_batch_is_a_fault_in_one_line(said: object) -> None:
    found = read_batch(said, 3)
    assert isinstance(found, Refusal)
    assert found.reason is Reason.GARBLED
    assert found.fault
    assert 0 < len(str(found)) < 300
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    "figure",
    [float("nan"), float("inf"), -1, 0, 1j, np.complex128(1), True, np.True_, "12", b"12", None, [1], 10**400,
     np.ones(1), np.ones((1, 1)), np.timedelta64(3, "s"), Odd()],
    ids=lambda figure: type(figure).__name__,
)  # fmt: skip
def test_a_figure_that_is_no_positive_number_makes_its_mapping_invalid(figure: object) -> None:
    for name in ("cycles", "energy_nj"):
        found = read_answer({"cycles": 5, "energy_nj": 5} | {name: figure})
        assert isinstance(found, Refusal)
        assert found.reason is Reason.GARBLED
        assert f"{name} must be a" in found.text
        assert not found.fault, "it is the mapping's, until it is known to be so for all"


def test_answers_come_as_lists_tables_frames_and_cost_batches() -> None:
    import pandas as pd

    expected = [{"cycles": 1000, "energy_nj": 2.5}] * 3
    assert read_batch([{"cycles": 1000, "energy_nj": 2.5}] * 3, 3) == expected
    assert read_batch(good(3), 3) == expected
    assert read_batch(pd.DataFrame(good(3), index=[7, 8, 9]), 3) == expected
    mixed = read_batch([{"cycles": 1000, "energy_nj": 2.5}, "too wide", None], 3)
    assert mixed == [expected[0], Refusal(Reason.REFUSED, "too wide"), Refusal(Reason.REFUSED)]


def test_a_refusal_in_many_lines_or_of_any_length_is_one_short_line() -> None:
    assert read_answer("line one\nline two \x1b[31mred") == Refusal(
        Reason.REFUSED, "line one line two \\x1b[31mred"
    )
    assert len(str(read_answer("x" * 10_000_000))) < 400


def test_in_a_cost_batch_zeros_are_not_modelled_and_rows_that_are_not_valid_are_refused() -> None:
    costs = CostBatch.zeros(3)
    costs.cycles[:], costs.energy_nj[:], costs.valid[:] = 1000, 2.5, [True, False, False]
    costs.reason[2] = Reason.L1_TOO_SMALL
    assert read_batch(costs, 3) == [
        {"cycles": 1000, "energy_nj": 2.5, "power": 0, "area": 0},
        Refusal(Reason.REFUSED, "valid is false, and reason 0"),
        Refusal(Reason.REFUSED, "L1 is too small"),
    ]


def test_what_a_function_prints_stays_out_of_the_results(dse: Dse, tmp_path: Path) -> None:
    file = write(
        tmp_path / "costs.py", "print('loading')" + FAIR.replace("steps =", "print('asked'); steps =")
    )
    found = dse("search", *WHERE, "--budget", "3", "--cost-model", f"{file}:price", "--json")
    assert found.json["samples"] == 3
    assert found.err.count("asked") == 3


def test_nothing_but_samples_is_asked_for_whatever_the_objective(tmp_path: Path) -> None:
    from dse.search.start import flat_objective

    body = "return {'cycles': 10**9, 'energy_nj': 1, 'power': 1}"
    file = write(tmp_path / "costs.py", COUNTING.format(mapping="mapping", body=body))
    assert flat_objective(Problem(LAYER, EDGE, "power", f"{file}:price")) is None
    assert not (tmp_path / "calls").exists()


def test_a_fault_passes_through_a_searcher_that_would_not_hear_of_it() -> None:
    class Deaf:
        def search(self, evaluate: Any, rng: np.random.Generator) -> None:
            for _ in range(5):
                try:
                    evaluate(evaluate.space.sample(rng, 2))
                except Exception:
                    continue

    from dse.search.run import Cell, run_cell

    problem = Problem(LAYER, EDGE, "edp", f"{outside.__name__}:ends")
    cell = Cell(problem, "deaf", Deaf(), 0, 20)
    cell.__dict__["settings"] = cell.__dict__["recorded_settings"] = {}
    with pytest.raises(PricesNothing, match="SystemExit: no licence"):
        run_cell(cell)
