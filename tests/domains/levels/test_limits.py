"""Limits on what levels hold and on the MACs at work: what breaks one, and optima under them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dse.core.certificate import INFEASIBLE
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.levels.machine import TENSORS, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from dse.support.errors import InputError
from tests.domains.levels.proof.test_certify_machines import LAYERS, least, random_machine
from workloads import load_layer

CHIP = Machine(
    "chip",
    (
        Level("DRAM", keeps=TENSORS),
        Level("Global Buffer", capacity=4096, keeps=("I", "O"), fan_out=16, spread=("K", "C")),
        Level("Regs", capacity=16, keeps=("W",)),
    ),
    1.0,
)
LAYER = load_layer("mlp:1")
FEW = 1200
"""Vectors of a space that is gone through."""


def problem(*limits: str, layer: Layer = LAYER) -> MachineProblem:
    return MachineProblem(layer, CHIP, "edp", limits=limits)


def test_what_breaks_a_limit_is_what_the_levels_hold_and_spread_over() -> None:
    free, seen = problem(), set()
    genes = free.space.sample(np.random.default_rng(0), 200)
    found, batch = free.price(genes), free.space.decode(genes)
    words, wide = free.space.measure(batch.rows)
    for limit, broken in (
        ("Global Buffer_use <= 0.1", words[:, 1] > 409),
        ("Regs_use <= 0.3", words[:, 2] > 4),
        ("pe_use >= 0.3", wide.prod(axis=1) < 5),
    ):
        limited = problem(limit).price(genes)
        expected = (found.reason == 0) & broken
        assert np.array_equal(limited.reason == Reason.BEYOND_LIMIT, expected)
        assert np.array_equal(limited.loss, np.where(expected, np.inf, found.loss))
        place = int(np.flatnonzero(expected)[0])
        why = problem(limit).explain(batch[place])
        assert f", and the limit is {limit}: " in why
        seen.add(why.split()[0])
    assert seen == {"Global", "Regs_use", "pe_use"}


def test_the_busy_share_that_evaluate_shows_is_what_a_limit_is_about() -> None:
    free = problem()
    mapping = free.space.decode(free.space.sample(np.random.default_rng(3), 1))[0]
    share = free.judge(mapping).breakdown.busy_pes
    assert ("busy PEs", f"{share:.1%}") in {line[:2] for line in free.judge(mapping).breakdown.lines}
    assert problem(f"pe_use >= {share}").explain(mapping) == "feasible"
    assert problem(f"pe_use >= {share + 0.01}").explain(mapping).startswith(f"pe_use is {share:.6g}, and")


def test_a_machine_says_which_figures_it_has() -> None:
    known = "unknown figure 'L2' in limit; expected one of Global Buffer_use, Regs_use, pe_use"
    with pytest.raises(InputError, match=known):
        problem("L2 <= 0.5")
    with pytest.raises(InputError, match=known.replace("L2", "l2_use")):
        problem("l2_use <= 0.5")
    with pytest.raises(InputError, match="did you mean 'Global Buffer_use'"):
        problem("GlobalBuffer_use <= 0.5")
    with pytest.raises(InputError, match="Regs_use takes '<='"):
        problem("Regs_use >= 0.5")
    assert problem("Global Buffer_use<=50%").identity["limits"] == ["Global Buffer_use <= 0.5"]
    assert "limits" not in problem().identity


def test_optima_under_random_limits_are_those_of_all_mappings() -> None:
    rng, seen = np.random.default_rng(4), {"bind": 0, "infeasible": 0}
    for number in range(60):
        layer, objective = LAYERS[number % len(LAYERS)], ("edp", "latency", "energy")[number % 3]
        machine = random_machine(rng)
        limits = [f"{one.name}_use <= {rng.uniform(0.2, 1):.2f}" for one in machine.levels if one.capacity]
        limits.append(f"pe_use >= {rng.choice([0.25, 0.5, 0.75, 1.0])}")
        chosen = rng.permutation(limits)[: rng.integers(1, len(limits) + 1)].tolist()
        asked = MachineProblem(layer, machine, objective, limits=chosen)
        if asked.space.vectors > FEW:
            continue
        found, best = certify(asked, cache=False), least(asked)
        assert found.lower_bound == best, (number, chosen)
        assert (found.best.loss if found.best else math.inf) == best
        seen["infeasible"] += best == math.inf
        seen["bind"] += best > least(asked.with_changes(limits=()))
    assert min(seen.values()) > 2, seen


def test_that_no_mapping_has_so_many_macs_at_work_is_known_from_the_factors_alone() -> None:
    # Channels alone are spread, and a depthwise layer has them once: 8 of 16 MACs at most.
    depthwise = Layer("DSCONV", 1, 8, 20, 20, 3, 3)
    found = certify(problem("pe_use >= 0.75", layer=depthwise), cache=False)
    assert (found.status, found.counts.groups) == (INFEASIBLE, 0)
    assert certify(problem("pe_use >= 0.5", layer=depthwise), cache=False).best is not None


def test_the_check_of_a_certificate_sees_a_mapping_that_breaks_a_limit() -> None:
    free = problem(layer=Layer.gemm(4, 4, 4))
    limited, found = free.with_changes(limits=["Regs_use <= 0.1"]), certify(free, cache=False)
    forged = replace(found, fingerprint=limited.fingerprint)
    said = failed_checks(verify(limited, forged))
    assert any(one.startswith("the best mapping keeps the limits: Regs_use") for one in said), said
