"""What campaigns beside the paper's own tell of its claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper.elsewhere import joined, plain_steps, steps_lines, table3_line, unrefused
from tests.experiments.verdict_cases import Steps, study

VGG = (("vgg16:conv1_2", "paper", "latency"),)
OWN: dict[str, Steps] = {
    "marl": [(0, 9.0), (700, 2.0)],
    "marl-plain": [(0, 9.0), (700, 3.0)],
    "ppo": [(0, 9.0), (300, 2.0)],
    "ppo-plain": [(0, 9.0)],
    "genetic": [(0, 4.0)],
    "random": [(0, 6.0)],
}


def test_runs_of_another_campaign_take_the_place_of_ones_of_that_name(tmp_path: Path) -> None:
    own = study(tmp_path / "own", OWN, VGG)
    other = study(tmp_path / "other", {"ppo-plain": [(0, 1.0)], "random": [(0, 1.0)]}, VGG, seeds=2)
    both = joined(own, other, ["ppo-plain"])
    assert {cell.best for cell in both.cells(VGG[0], "ppo-plain")} == {1.0}
    assert len(both.cells(VGG[0], "ppo-plain")) == 2
    assert {cell.best for cell in both.cells(VGG[0], "random")} == {6.0}
    assert set(both.searchers) == set(own.searchers)


def test_a_single_agent_with_more_samples_settles_how_many_steps_it_takes(tmp_path: Path) -> None:
    own = study(tmp_path / "own", OWN, VGG)
    longer = study(tmp_path / "longer", {"ppo-plain": [(0, 9.0), (900, 2.0)]}, VGG)
    cut_off = {line.claim: line.row for line in steps_lines(own, own)}
    settled = {line.claim: line.row for line in steps_lines(own, longer)}
    claim = "times fewer steps, vgg16, latency"
    assert cut_off[claim][2].startswith("at least")
    assert cut_off[claim][4] == "not tested"
    assert settled[claim][2].startswith("0.18")
    assert settled[claim][4] == "not borne out"
    (one,) = plain_steps(own, longer)
    assert one.verdict == "not borne out"
    assert [row[0] for row in one.rows] == ["marl", "marl-plain"]


def test_a_baseline_with_fewer_samples_tests_nothing(tmp_path: Path) -> None:
    own = study(tmp_path / "own", OWN, VGG)
    untuned = study(tmp_path / "untuned", {"genetic-plain": [(0, 12.0)], "tpe": [(0, 12.0)]}, VGG)
    few = replace(untuned, about=untuned.about | {"limits": {"tpe": {"budget": 500}}})
    both = joined(own, few, ["genetic-plain", "tpe"])
    genetic = table3_line(both, "latency", "vgg16", "genetic", 1.28).row
    assert (genetic[3], genetic[4]) == ("4.00", "borne out")
    assert genetic[5].startswith("2.00")
    bayesian = table3_line(both, "latency", "vgg16", "bayesian", 1.49)
    # After 500 samples marl-plain is at 9, and at 3 in the end.
    assert bayesian.found[1] == ("1.33", "not tested")
    assert bayesian.departs.endswith("f")


@pytest.mark.parametrize(("random", "verdict"), [(1.0, "borne out"), (9.0, "inconclusive")])
def test_where_nothing_is_refused_ppo_is_judged_beside_random_again(
    tmp_path: Path, random: float, verdict: str
) -> None:
    runs = OWN | {"random": [(0, random)], "marl-1": [(0, 4.0)]}
    here = study(tmp_path / "here", runs, VGG)
    lines = {line.claim: line.row for line in unrefused(here, here)}
    assert lines["nothing refused: PPO is worse than random, vgg16, latency"][4] == verdict
    assert lines["nothing refused: it is the many agents: one over marl, vgg16, latency"][5].startswith(
        "2.00"
    )
