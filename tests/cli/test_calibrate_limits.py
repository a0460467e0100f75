"""What `dse calibrate` does not know it says: intervals that hold the truth, figures and fits of no use."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.core.calibration import (
    MEASURE,
    NO_BETTER,
    NO_BETTER_THAN_SAMPLES,
    USELESS,
    WRONG_ORDER,
    FitNote,
    large_error_in_words,
    reason_of_no_use,
)
from dse.domains.clustered.accelerator import PRESETS, Accelerator, load_accelerator
from dse.domains.clustered.problem import Problem
from tests.conftest import Dse
from workloads import load_layer

EDGE, GEMM, SLOWER = PRESETS["edge"], "mlp:1", 1.1
TRUE = replace(EDGE, noc_bandwidth=12, offchip_bandwidth=3, noc_latency=20)
WARNING = f"dse: warning: the fitted machine: {NO_BETTER}: {USELESS}"


def written(file: Path, rows: list[dict[str, Any]]) -> str:
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return str(file)


def samples(layer: str, machine: Accelerator, count: int = 30, **settings: float) -> list[dict[str, Any]]:
    """Mappings of a layer on a machine, priced exactly, whose cycles are 1.1 times as long."""
    words = ", ".join(f"{name}={value}" for name, value in settings.items())
    problem = Problem(load_layer(layer), machine, cost_model=f"loopnest({words})" if words else "loopnest")
    genes = problem.space.sample(np.random.default_rng(1), count)
    priced = problem.price(genes)
    return [
        {
            "layer": layer,
            "mapping": mapping.to_dict(),
            "cycles": float(np.ceil(cycles * SLOWER)),
            "energy_nj": float(energy),
        }
        for mapping, cycles, energy, reason in zip(
            problem.space.decode(genes), priced.cycles, priced.energy_nj, priced.reason, strict=True
        )
        if not reason
    ]


def noisy(rows: list[dict[str, Any]], name: str, deviation: float) -> list[dict[str, Any]]:
    """The samples with a figure times noise, log-normal."""
    noise = np.exp(deviation * np.random.default_rng(0).standard_normal(len(rows)))
    return [row | {name: row[name] * each} for row, each in zip(rows, noise, strict=True)]


def fitted(dse: Dse, file: str, *words: str) -> dict[str, Any]:
    found = dse("calibrate", file, "--accelerator", "edge", "--json", *words)
    assert found.code == 0
    data: dict[str, Any] = json.loads(found.out)
    return data


def test_a_machine_between_those_of_the_grid_is_found_and_lies_in_the_intervals(
    dse: Dse, tmp_path: Path
) -> None:
    said = fitted(dse, written(tmp_path / "gemm.jsonl", samples(GEMM, TRUE)))
    for name in ("noc_bandwidth", "offchip_bandwidth", "noc_latency"):
        figure, truth = said["constants"][name], getattr(TRUE, name)
        assert figure["fitted"] == truth
        assert figure["low"] <= truth <= figure["high"]
    clock = said["constants"]["clock_ghz"]
    assert clock["fitted"] == pytest.approx(1 / SLOWER, rel=1e-4)
    assert clock["low"] < 1 / SLOWER < clock["high"]
    assert (said["error"]["after"] < 1e-3, said["useful"]) == (True, True)


def test_intervals_hold_the_truth_of_noisy_samples_and_are_no_single_points(dse: Dse, tmp_path: Path) -> None:
    rows = noisy(samples(GEMM, TRUE), "cycles", 0.05)
    said = fitted(dse, written(tmp_path / "noisy.jsonl", rows))["constants"]
    for name in ("noc_bandwidth", "offchip_bandwidth", "noc_latency"):
        assert said[name]["low"] <= getattr(TRUE, name) <= said[name]["high"]
        # Of one whole number, too: its neighbours are ruled out, and what lies between was not tried.
        assert said[name]["low"] < said[name]["high"]


def test_a_figure_that_samples_do_not_show_stays_as_it_was_said_though_another_value_fits_better(
    dse: Dse, tmp_path: Path
) -> None:
    rows = noisy(samples(GEMM, TRUE), "cycles", 0.4)
    file, out = written(tmp_path / "rough.jsonl", rows), tmp_path / "mine"
    said = fitted(dse, file, "--out", str(out))["constants"]
    latency, width = said["noc_latency"], said["offchip_bandwidth"]
    assert (latency["low"], latency["high"]) == (0, 64)
    assert (latency["fitted"], latency["remark"]) == (EDGE.noc_latency, "the samples do not show it")
    assert width["fitted"] < width["said"], "what they show is fitted all the same"
    assert load_accelerator(str(out / "machine.toml")).noc_latency == EDGE.noc_latency


def test_energies_that_always_come_together_have_intervals_that_say_so(dse: Dse, tmp_path: Path) -> None:
    # One mapping over and over: only the sum of its energies is known.
    again = noisy(20 * samples(GEMM, TRUE)[:1], "energy_nj", 0.03)
    said = fitted(dse, written(tmp_path / "sum.jsonl", again))["energies"]["constants"]
    for constant in said.values():
        assert constant["low"] < 1e-3 * constant["said"]
        assert constant["high"] > 1.4 * constant["said"]
    many = noisy(samples("resnet18:3", EDGE, 60), "energy_nj", 0.02)
    dram = fitted(dse, written(tmp_path / "many.jsonl", many))["energies"]["constants"]["dram_pj"]
    assert 0.9 * 300 < dram["low"] < 300 < dram["high"] < 1.1 * 300


def test_figures_that_stop_where_trials_end_are_remarked(dse: Dse, tmp_path: Path) -> None:
    wide = replace(EDGE, offchip_bandwidth=1, noc_bandwidth=2**20, noc_latency=0)
    file, out = written(tmp_path / "wide.jsonl", samples(GEMM, wide)), tmp_path / "mine"
    said = fitted(dse, file, "--out", str(out))["constants"]
    assert said["noc_bandwidth"]["fitted"] == 16 * EDGE.noc_bandwidth
    assert said["noc_bandwidth"]["remark"] == "at the edge of what is tried"
    # No bandwidth is below 1, which is therefore no edge.
    assert (said["offchip_bandwidth"]["fitted"], said["offchip_bandwidth"]["remark"]) == (1, "")
    assert "was 32; at the edge of what is tried" in (out / "machine.toml").read_text()
    shown = dse("calibrate", file, "--accelerator", "edge").out
    assert "at the edge" in " ".join(shown.split())


def test_figures_that_no_sample_shows_stay_as_they_were_said(dse: Dse, tmp_path: Path) -> None:
    again = noisy(20 * samples(GEMM, TRUE)[:1], "cycles", 0.03)
    said = fitted(dse, written(tmp_path / "again.jsonl", again))["constants"]
    for name in ("noc_bandwidth", "offchip_bandwidth", "noc_latency"):
        assert said[name]["fitted"] == said[name]["said"]
        assert said[name]["remark"] == "the samples do not show it"


def test_an_energy_that_would_have_to_be_below_0_is_remarked(dse: Dse, tmp_path: Path) -> None:
    own, double = samples("resnet18:3", EDGE), samples("resnet18:3", EDGE, l2_pj=18.0)
    rows = [
        row | {"energy_nj": row["energy_nj"] - 1.3 * (other["energy_nj"] - row["energy_nj"])}
        for row, other in zip(own, double, strict=True)
    ]
    constants = fitted(dse, written(tmp_path / "energies.jsonl", rows))["energies"]["constants"]
    assert constants["l2_pj"]["fitted"] < 1e-3
    assert constants["l2_pj"]["remark"].startswith("at the edge of what is tried")
    assert constants["dram_pj"]["remark"] == ""


def test_a_fit_that_foretells_no_better_is_warned_of_and_certify_repeats_it(dse: Dse, tmp_path: Path) -> None:
    # A latency that is not tried, and energies of which the file is right and noise is all that is left.
    rows = noisy(samples(GEMM, replace(EDGE, noc_latency=300)), "energy_nj", 0.5)
    file, out = written(tmp_path / "slow.jsonl", rows), tmp_path / "mine"
    found = dse("calibrate", file, "--accelerator", "edge", "--out", str(out), "--json")
    said = json.loads(found.out)
    assert (found.code, said["useful"], said["energies"]["useful"]) == (0, False, False)
    assert said["error"]["after"] >= said["error"]["before"]
    assert found.err.splitlines() == [WARNING, WARNING.replace("machine", "energies")]
    for name in ("machine.toml", "constants.toml"):
        assert "\nuseful = false" in (out / name).read_text()
    asked = ["certify", "--layer", "resnet18:3", "--accelerator", str(out / "machine.toml")]
    asked += ["--constants", str(out / "constants.toml"), "--tiles", "factors", "--objective", "latency"]
    certified = dse(*asked)
    assert certified.code == 0
    assert certified.out.count(f"; {NO_BETTER}; {USELESS}") == 2
    best = min(row["cycles"] for row in rows)
    # The fitted clock is another, so that cycles alone would not compare.
    time = f"{best:,.0f} cycles of 1 GHz, {best / 1e6:#.4g} ms"
    assert f"{MEASURE} (the best samples: {GEMM} {time})" in certified.out


def test_a_fit_that_ranks_unseen_samples_the_wrong_way_round_is_of_no_use(dse: Dse, tmp_path: Path) -> None:
    rows = [row | {"cycles": 1e12 / row["cycles"]} for row in samples(GEMM, TRUE)]
    out = tmp_path / "mine"
    said = fitted(dse, written(tmp_path / "inverse.jsonl", rows), "--out", str(out))
    assert (said["rank"]["after"] < 0, said["useful"]) == (True, False)
    note = (out / "machine.toml").read_text()
    assert WRONG_ORDER in note
    assert (NO_BETTER in note) == (said["error"]["after"] >= said["error"]["before"])
    assert "the machine that was fitted with them is of no use" in (out / "constants.toml").read_text()


def test_a_fit_that_orders_mappings_poorly_says_that_its_optimum_need_not_be_better_than_samples(
    dse: Dse, tmp_path: Path
) -> None:
    rows = noisy(samples(GEMM, TRUE, 80), "cycles", 1.6)
    file, out = written(tmp_path / "rough.jsonl", rows), tmp_path / "mine"
    found = dse("calibrate", file, "--accelerator", "edge", "--out", str(out), "--json")
    said = json.loads(found.out)
    assert 0 < said["rank"]["after"] < 0.6
    assert (said["useful"], said["orders_poorly"]) == (True, True)
    assert said["best"] == {GEMM: min(row["cycles"] for row in rows)}
    error, warning = [line for line in found.err.splitlines() if "machine" in line]
    off = f"its figures are off by {said['error']['after']:.1%}"
    assert said["error"]["after"] > 0.5
    assert off in error
    rank = f"rank correlation {said['rank']['after']:.2f}"
    assert rank in warning
    assert NO_BETTER_THAN_SAMPLES in warning
    assert NO_BETTER_THAN_SAMPLES in (out / "machine.toml").read_text()
    certified = dse(
        "certify", "--layer", GEMM, "--accelerator", str(out / "machine.toml"), "--tiles", "factors"
    )
    line = next(line for line in certified.out.splitlines() if line.startswith("machine fitted"))
    assert off in line
    assert rank in line
    assert NO_BETTER_THAN_SAMPLES in line
    assert MEASURE in certified.out


def test_an_error_is_large_above_a_half() -> None:
    assert large_error_in_words(0.5) == ""
    assert "off by 142.8%" in large_error_in_words(1.428)
    assert "off by 142.8%" in str(FitNote(20, 1.428, 0.9))
    assert "off by" not in str(FitNote(20, 0.3, 0.9))


def test_a_rank_correlation_that_chance_gives_is_of_no_use_and_more_samples_show_a_smaller_one() -> None:
    assert reason_of_no_use(True, 0.09, 55) == reason_of_no_use(True, -0.5, 55) == WRONG_ORDER
    assert reason_of_no_use(True, 0.25, 55) == reason_of_no_use(True, 0.09, 1000) == ""
    assert reason_of_no_use(False, 0.25, 20) == f"{NO_BETTER}, and {WRONG_ORDER}"


def test_an_order_that_no_layer_shows_is_not_known(dse: Dse, tmp_path: Path) -> None:
    again = 10 * samples(GEMM, TRUE)[:1]
    out = tmp_path / "mine"
    said = fitted(dse, written(tmp_path / "again.jsonl", again), "--out", str(out))
    assert said["rank"] == {"before": None, "after": None}
    assert "rank = nan" in (out / "machine.toml").read_text()
    assert load_accelerator(str(out / "machine.toml")).num_pes == EDGE.num_pes


def test_samples_that_are_not_fitted_are_counted_with_their_reasons(dse: Dse, tmp_path: Path) -> None:
    rows = samples(GEMM, TRUE)
    broken = json.loads(json.dumps(rows[:3]))
    for row in broken:
        row["mapping"]["cluster_size"] = 10 * EDGE.num_pes
    file = written(tmp_path / "some.jsonl", rows + broken)
    found = dse("calibrate", file, "--accelerator", "edge", "--json")
    why = "the cluster size is not between 1 and the PE count"
    assert json.loads(found.out)["left_out"] == {why: 3}
    assert f"3 of {len(rows) + 3} samples are left out: 3 because {why}" in found.err
    few = dse("calibrate", written(tmp_path / "few.jsonl", rows[:5] + broken), "--accelerator", "edge")
    assert (few.code, f"got 5 (3 not, {why})" in few.err) == (2, True)


@pytest.mark.parametrize("times", [1.0, 150.0])
def test_constants_lie_in_their_intervals_also_where_energies_are_of_another_size(
    dse: Dse, tmp_path: Path, times: float
) -> None:
    rows = [row | {"energy_nj": row["energy_nj"] * times} for row in samples("resnet18:3", EDGE)]
    file = written(tmp_path / "energies.jsonl", noisy(rows, "energy_nj", 0.05))
    constants = fitted(dse, file)["energies"]["constants"]
    for constant in constants.values():
        assert constant["low"] <= constant["fitted"] <= constant["high"]
    assert constants["dram_pj"]["fitted"] == pytest.approx(300 * times, rel=0.1)


def test_energies_far_above_the_models_show_a_constant_that_is_most_of_them(dse: Dse, tmp_path: Path) -> None:
    rows = samples("resnet18:3", EDGE, mac_pj=2000.0)
    mac = fitted(dse, written(tmp_path / "macs.jsonl", rows))["energies"]["constants"]["mac_pj"]
    assert mac["fitted"] == pytest.approx(2000, rel=0.05)
    assert mac["remark"] == ""


def test_a_fit_of_use_warns_of_nothing(dse: Dse, tmp_path: Path) -> None:
    file, out = written(tmp_path / "gemm.jsonl", samples(GEMM, TRUE)), tmp_path / "mine"
    found = dse("calibrate", file, "--accelerator", "edge", "--out", str(out), "--json")
    assert "warning" not in found.err
    assert "useful" not in (out / "machine.toml").read_text()
    certified = dse(
        "certify", "--layer", GEMM, "--accelerator", str(out / "machine.toml"), "--tiles", "factors"
    )
    assert "slower than the best sample" not in certified.out


def test_a_table_whose_use_is_no_truth_value_is_refused_in_a_line(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "constants.toml").write_text(
        "dram_pj = 120.0\n[calibration]\nsamples = 9\nerror = 0.1\nuseful = 2\n"
    )
    asked = ["certify", "--layer", "resnet18:3", "--accelerator", "edge"]
    found = dse(*asked, "--constants", str(tmp_path / "constants.toml"))
    assert (found.code, "useful must be true or false, got 2" in found.err) == (2, True)


def test_a_counter_that_is_far_off_every_term_follows_nothing_and_is_no_equation(
    dse: Dse, tmp_path: Path
) -> None:
    rng, rows = np.random.default_rng(5), samples(GEMM, TRUE)
    wild = [
        row | {"counters": {"dram_words": float(row["cycles"] * np.exp(3 * rng.standard_normal()))}}
        for row in rows
    ]
    (counter,) = fitted(dse, written(tmp_path / "wild.jsonl", wild))["counters"]
    assert (counter["term"], counter["times"], counter["fitted"]) == ("", None, False)
    assert counter["error"] > 0.5
    shown = dse("calibrate", str(tmp_path / "wild.jsonl"), "--accelerator", "edge").out
    assert any("dram_words" in line and "nothing" in line for line in shown.splitlines())
