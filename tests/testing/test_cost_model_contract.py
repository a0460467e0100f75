"""Every installed cost model keeps the contract, and the suite that says so catches who does not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.core.cost_models import cost_model, cost_models
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.intervals import IntervalBoxes
from dse.support.errors import InputError
from dse.testing import COST_MODEL_RULES, broken, check_cost_model
from tests.conftest import Dse
from tests.models import bus_model
from tests.testing.cheaters import models
from tests.third_party import offered

CHEATERS: list[tuple[str, CostModel, str]] = [
    ("configuration", models.Unpicklable(), "expected to pickle, for campaigns send problems to workers"),
    ("never-raises", models.Fragile(), "it raised ZeroDivisionError: a cluster of nothing (models.py:"),
    ("columns", models.Floating(), "expected cycles to be int64 of shape (0,) for 0 mappings, got float64"),
    ("input-kept", models.Tidying(), "of a convolution was changed"),
    ("deterministic", models.Noisy(), "expected the same again for a convolution; energy_nj of mapping"),
    ("vectorised", models.Relative(), "expected the same alone as among others; mapping 0"),
    ("prepared", models.Otherwise(), "expected the same as by evaluate for a convolution; power of mapping"),
    ("threads", models.Threaded(), "expected the same on 2 threads for a convolution; cycles of mapping"),
    ("reasons", models.Speechless(), "expected a dse.core.reasons.Reason of a model for a refused mapping"),
    ("reasons", models.Leftover(), "expected figures of 0 for a refused mapping"),
    ("figures", models.Free(), "expected a finite energy_nj above 0; mapping"),
    ("figures", models.Endless(), "expected a finite power of at least 0; mapping"),
    ("accepts", models.Refusing(), "none is: the best of them, because the inner level does no work"),
    ("accepts", models.Skipping(), "none is: the best of them, because fewer MACs than the layer has"),
    ("strides", models.Lowering(), "to cost otherwise than its lowered layer, all figures are the same"),
    ("cases", models.Caseless(), "NotImplementedError: cost model 'honest' prices no cases"),
    ("cases", models.Dearer(), "to cost what the mappings cost; energy_nj of mapping"),
    ("detail", models.Vague(), "which it accepts, got None"),
    ("detail", models.Miscounting(), "expected parts of cycles that add up to"),
    ("constants", models.Deaf(), "expected some figure to depend on mac_pj; doubled, it changes none"),
    (
        "rates",
        models.Congested(),
        "expected no more cycles with twice the noc_bandwidth; a convolution",
    ),
    ("rates", models.Misnamed(), "expected rates among noc_bandwidth and offchip_bandwidth, got simd_lanes"),
    ("proofs", models.Unproven(), "expected an optimum to be certified; cost model"),
]

PROOFS: list[tuple[str, Callable[[Problem], IntervalBoxes], str]] = [
    ("bounds", models.bounds_too_high, "expected that bounds are below the prices in their boxes, of a conv"),
    ("proofs-any-tiles", models.boxes_of_factors, "to be certified; tiles of any size are too many"),
]
"""The same of a cost model whose boxes are wrong."""


@pytest.mark.parametrize("name", cost_models())
def test_every_installed_cost_model_keeps_the_contract(name: str) -> None:
    assert not broken(check_cost_model(name))


def test_the_least_that_a_cost_model_is_keeps_the_contract() -> None:
    assert not broken(check_cost_model(models.Honest()))


@pytest.mark.parametrize(("rule", "cheater", "why"), CHEATERS, ids=[type(c).__name__ for _, c, _ in CHEATERS])
def test_a_cheater_breaks_the_rule_that_it_was_written_against_and_no_other(
    rule: str, cheater: CostModel, why: str
) -> None:
    verdicts = check_cost_model(cheater)
    failed = [verdict for verdict in verdicts if verdict.passed is False]
    assert [verdict.rule for verdict in failed] == [rule]
    assert why in failed[0].why
    # What builds on the broken rule is not judged, and everything else is kept.
    needing = {item.name for item in COST_MODEL_RULES if rule in item.needs}
    assert needing <= {verdict.rule for verdict in verdicts if verdict.passed is None}


@pytest.mark.parametrize(("rule", "make_boxes", "why"), PROOFS, ids=[rule for rule, *_ in PROOFS])
def test_so_does_one_whose_proofs_are_wrong(
    rule: str, make_boxes: Any, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_model, "make_boxes", make_boxes)
    with offered(tmp_path, {"bus": bus_model.Bus}):
        failed = [verdict for verdict in check_cost_model("bus") if verdict.passed is False]
    assert [verdict.rule for verdict in failed] == [rule]
    assert why in failed[0].why


def test_every_rule_has_a_cheater_that_breaks_it() -> None:
    assert {rule for rule, *_ in (*CHEATERS, *PROOFS)} == {rule.name for rule in COST_MODEL_RULES}


def test_what_is_no_cost_model_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected an object of a subclass of dse\.CostModel, got 3"):
        check_cost_model(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown cost model 'mastro'; did you mean 'maestro'"):
        check_cost_model("mastro")


def test_the_command_prints_the_verdicts_and_exits_with_them(dse: Dse) -> None:
    outcome = dse("check-cost-model", "loopnest", "--json")
    assert outcome.code == 0
    assert outcome.json["cost_model"] == "loopnest"
    assert outcome.json["passed"] is True
    assert [rule["rule"] for rule in outcome.json["rules"]] == [rule.name for rule in COST_MODEL_RULES]
    assert (
        dse("check-cost-model", "mastro").refused() == "unknown cost model 'mastro'; did you mean 'maestro'?"
    )


PRICES = [rule for rule in COST_MODEL_RULES if rule.name in ("never-raises", "columns", "reasons", "figures")]
JUDGE = """import json, sys
for line in sys.stdin:
    case = json.loads(line)
    tiles = case["mapping"]["outer"]["tile"].values()
    print(json.dumps({"id": case["id"], "cycles": 10**9 + sum(tiles)}), flush=True)
"""


def test_a_program_that_says_cycles_alone_keeps_the_contract(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(JUDGE)
    spec = f"command:{sys.executable} {tmp_path / 'judge.py'}"
    verdicts = check_cost_model(cost_model(spec), mappings=4, rules=PRICES)
    assert not broken(verdicts)
    evaluated = ["evaluate", "--layer", "resnet18:3", "--accelerator", "edge", "--mapping", "nvdla"]
    found = dse(*evaluated, "--cost-model", spec)
    assert found.code == 0
    assert any(line.split()[:2] == ["energy", "unknown"] for line in found.out.splitlines())
    refused = dse(*evaluated, "--cost-model", spec, "--objective", "edp")
    assert (refused.code, "says no energy_nj" in refused.err) == (2, True)


def test_a_reason_that_no_model_has_is_said_in_words() -> None:
    verdicts = check_cost_model(models.Crowded(), mappings=4, rules=PRICES)
    (wrong,) = [verdict for verdict in verdicts if verdict.passed is False]
    assert "has reason 32 (L1 is too small)" in wrong.why
