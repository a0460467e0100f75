"""What a check of a proof over several sizes of tiles is to see."""

from __future__ import annotations

from dataclasses import replace

from dse.core.certificate import BOUNDED
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.tile_sets import one_tile_each
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks


def expect_a_bound_that_is_too_high_to_be_seen(problem: Problem) -> None:
    found = certify(problem, cache=False)
    checks = verify(problem, found)
    assert failed_checks(checks) == []
    part = one_tile_each(problem)[0]
    one = verify(part, certify(part, cache=False))
    assert [check.name for check in checks if "one size" not in check.name] == [check.name for check in one]
    wrong = replace(found, status=BOUNDED, best=None, lower_bound=found.best.loss * 1.02)
    failed = [check.name for check in verify(problem, wrong) if not check.passed]
    # Not by mappings drawn at random, which are far from the best.
    assert failed
    assert "random mappings do not beat it" not in failed
