"""MAST's study compares like with like: small networks are as large as sparse ones, ratios are a seed's."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from experiments import mast, mast_figures, mast_trials, read_rows
from learners.listener import ArrayListener
from learners.recurrent import RecurrentQMIX
from learners.spread import ArraySpread
from learners.tag import UNITS
from tests.experiments.test_words import PAGE, said


@pytest.mark.parametrize("density", mast.DENSITIES)
def test_small_networks_have_as_many_connections_as_sparse_ones(density: float) -> None:
    team = ArraySpread.team
    small = mast.algorithm("small", density, team, 100, {}).begin(team, np.random.default_rng(0))
    sparse = mast.algorithm("static", density, team, 100, {}).begin(team, np.random.default_rng(0))
    for one, other in ((small.agents, sparse.agents), (small.mixer, sparse.mixer)):
        assert one.connections == pytest.approx(other.connections, rel=0.15)


def test_small_recurrent_networks_too_have_as_many_connections() -> None:
    dense, small, sparse = (
        mast.algorithm(arm, density, ArraySpread.team, 100, mast.RECURRENT_SPREAD, None, 64, True)
        .begin(ArraySpread.team, np.random.default_rng(0))
        .agents.connections
        for arm, density in (("dense", 1.0), ("small", 0.1), ("rigl", 0.1))
    )
    assert small == pytest.approx(sparse, rel=0.15)
    assert sparse == pytest.approx(0.1 * dense, rel=0.02)


def test_recurrent_arms_have_the_best_of_four_rates_each() -> None:
    for arm, base in mast.RECURRENT.items():
        rows = read_rows(mast.trials_file(arm))
        assert [json.loads(row["settings"]) for row in rows] == mast_trials.tried(arm)
        assert {row["round"] for row in rows} == {"trial"}
        (given,) = mast.trials_of(arm).best("trial")
        team, usual = ArraySpread.team, mast.RECURRENT_SPREAD
        made = mast.algorithm(base, mast.density_of(arm), team, 100, usual, given, 64, True)
        assert isinstance(made, RecurrentQMIX)
        best = min(rows, key=lambda row: float(row["score"]))
        assert made.learning_rate == json.loads(best["settings"])["learning_rate"]


def test_what_is_planned_has_every_arm_of_every_seed_once() -> None:
    planned = list(mast.plan("spread", 2))
    assert len(planned) == len(set(planned))
    own = {(arm, mast.density_of(arm)) for arm in (*mast.TUNED, *mast.WIDE, *mast.RECURRENT)}
    # What is nearest to the claim has twice the seeds.
    near = [f"{arm}, tuned" for arm in ("dense", "rigl", "mast")]
    more = {(arm, mast.density_of(arm), seed) for arm in near for seed in (2, 3)}
    few = {
        (arm, density, seed)
        for arm, density in {*own, *((arm, 0.1) for arm in mast.VARIED)}
        for seed in (0, 1)
    }
    assert set(planned) - set(mast.plan("refine", 2)) == more | few
    tuned = {("random", 1.0), ("dense, as rigl", 1.0), *((arm, mast.density_of(arm)) for arm in mast.TUNED)}
    for game in ("listener", "tag"):
        assert {(arm, density) for arm, density, _ in mast.plan(game, 2)} == tuned
    assert {arm for arm, _, _ in planned} >= {"dense", "random", "qmix", *mast.ARMS, *mast.ABLATIONS}


@pytest.mark.parametrize("arm", [*mast.TUNED.values(), *mast.WIDE])
def test_every_arm_has_had_its_trials_and_learns_with_what_was_best(arm: str) -> None:
    rows, base = read_rows(mast.trials_file(arm)), mast.WIDE.get(arm, arm)
    trials = mast_trials.tried(arm)
    tried = [json.loads(row["settings"]) for row in rows if row["round"] == "trial"]
    # What is drawn twice runs once.
    assert tried == [settings for place, settings in enumerate(trials) if settings not in trials[:place]]
    assert [row["round"] for row in rows].count("final") in ((2, 3, 4) if arm in mast.WIDE else (2, 3))
    (given,) = mast.trials_of(arm).best("final")
    for settings in trials:
        mast.algorithm(base, mast.density_of(arm), ArraySpread.team, 100, mast.SPREAD, settings)
    made = mast.algorithm(base, mast.density_of(arm), ArraySpread.team, 100, mast.SPREAD, given)
    assert made.learning_rate == given.get("learning_rate", 0.001)
    assert made.tau == given.get("tau", mast.SPREAD["tau"])
    # What is changed costs no more FLOPs: updates are as many and as large.
    assert (made.train_freq, made.batch_size) == (mast.SPREAD["train_freq"], mast.SPREAD["batch_size"])
    if base in ("rigl", "mast"):
        assert made.sparsity.share == given.get("share", 0.5)
        assert made.sparsity.every == max(100 // given.get("changes", 40), 1)


def test_a_seed_is_compared_with_the_same_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mast_figures, "HERE", tmp_path)
    with (tmp_path / "mast_spread.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(mast.HEAD)
        for arm, returns, flops in (("dense", (-10, -20), 100), ("random", (-40, -50), 0)):
            writer.writerows(
                (arm, 1.0, seed, "", earned, flops, flops) for seed, earned in enumerate(returns)
            )
        writer.writerows(("mast", 0.1, seed, "", earned, 10, 5) for seed, earned in enumerate((-11, -20)))
    found = mast_figures.Found("spread")
    assert np.exp(found.worse("mast", 0.1)).tolist() == pytest.approx([1.1, 1.0])
    assert found.gained("mast", 0.1).tolist() == pytest.approx([34 / 30, 25 / 30])
    assert found.fewer("mast", 0.1, "training") == 10
    # Student's t of two values: 12.706 times half their difference.
    assert mast_figures.between(np.array([1.0, 2.0])) == pytest.approx(
        (1.5, 1.5 - 6.353, 1.5 + 6.353), abs=1e-3
    )


@pytest.mark.parametrize(("worse", "verdict"), [(0.01, "borne out"), (0.2, "not borne out")])
def test_the_claim_is_judged_by_what_is_given_up_of_the_gain_over_random(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worse: float, verdict: str
) -> None:
    monkeypatch.setattr(mast_figures, "HERE", tmp_path)
    with (tmp_path / "mast_spread.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(mast.HEAD)
        for seed in range(5):
            for arm, density, earned in (
                ("dense", 1.0, -30),
                ("random", 1.0, -50),
                ("mast", 0.1, -30 - 20 * worse),
                ("mast, maximum", 0.1, -40),
            ):
                writer.writerow((arm, density, seed, "", earned + 0.01 * (seed % 2), 10, 5))
    said, aids = mast_figures.judged(mast_figures.Found("spread"))[::2]
    assert "not borne out of mast at 0.1, mast, maximum at 0.1" in said or verdict == "borne out"
    assert ": borne out of mast at 0.1; not borne out of mast, maximum" in said or verdict == "not borne out"
    assert aids.endswith("(significant).")


@pytest.mark.parametrize("task", mast.TASKS)
def test_the_committed_tables_are_those_of_the_committed_runs(task: str) -> None:
    page = (mast_figures.HERE / f"mast_{task}.md").read_text(encoding="utf-8")
    assert page.endswith(f"\n\n{mast_figures.table(task)}\n")


def arms_of(task: str) -> list[str]:
    """Of which arms the claim is borne out, is not, and is inconclusive, as a table says."""
    told = said(f"sparse/mast_{task}.md", "Less than 3%").partition(": ")[2].rstrip(".")
    return [part.partition(" of ")[2] for part in told.split("; ")]


def test_what_is_said_of_the_arms_follows_from_the_tables() -> None:
    borne_out, not_borne_out, inconclusive = arms_of("spread")
    assert borne_out == "mast, wide at 0.1, rigl, recurrent at 0.1"
    assert "Twice as wide they lose -4.7 [-10.5, 1.1] and 0.8 [-2.1, 3.7] %" in PAGE
    lost = said("sparse/mast_spread.md", "Given up beside dense, wide: ")
    assert lost.endswith("mast, wide -4.7 [-10.5, 1.1] %; rigl, wide 0.8 [-2.1, 3.7] %.")
    lost = said("sparse/mast_spread.md", "Given up beside dense, recurrent: ")
    assert "mast, recurrent 1.1 [-8.1, 10.4] %; rigl, recurrent -2.4 [-7.4, 2.7] %" in lost
    assert "`mast` loses 1.1 [-8.1, 10.4] %, `rigl` -2.4 [-7.4, 2.7] %" in PAGE
    assert "dense has 73 % of that gain" in PAGE
    gained = mast_figures.Found("spread").gained("dense, recurrent", 1.0).mean()
    assert f"{gained:.0%}" == "73%"
    assert "18 sparse arms with dense's settings lose significantly more than 3 %" in PAGE
    assert len(re.findall(r"(?<!tuned)(?<!recurrent) at 0", not_borne_out)) == 18
    assert "With QMIX the claim is inconclusive" in PAGE
    uncertain = (
        "mast, qmix at 0.1, mast, recurrent at 0.1, mast, tuned at 0.1, rigl, tuned at 0.1, rigl, wide at 0.1"
    )
    assert inconclusive == uncertain
    assert "It is inconclusive on mappings too, but for one arm" in PAGE
    assert arms_of("refine")[:2] == ["mast, one step at 0.1", "none"]
    assert "So tuned, `small` and `static` bear the claim out on" in PAGE
    assert arms_of("listener")[:2] == ["small, tuned at 0.1, static, tuned at 0.1", "none"]
    assert "and `rigl` on" in PAGE
    assert arms_of("tag")[:2] == ["rigl, tuned at 0.1", "none"]


def test_no_team_of_speaker_and_listener_has_learned_to_speak() -> None:
    """Whoever goes to the middle of the landmarks needs no word, and earns more than all of them."""

    def earned(hears: bool) -> float:
        games, total = ArrayListener(500), 0.0
        games.begin(np.random.default_rng(0))
        for _ in range(games.length):
            landmarks = games.places[:, 1:]
            goals = landmarks[np.arange(500), games.goals] if hears else landmarks.mean(axis=1)
            # Where it comes to rest if it does each of the five things, and then nothing.
            reached = games.places[:, :1] + 0.4 * games.speeds[:, np.newaxis] + 0.2 * UNITS
            nearest = np.square(reached - goals[:, np.newaxis]).sum(axis=2).argmin(axis=1)
            total += float(games.step(np.stack([nearest * 0, nearest], axis=1))[1].mean())
        return total

    rows = read_rows(mast_figures.HERE / "mast_listener.csv")
    assert max(float(row["outcome"]) for row in rows) < earned(hears=False) < earned(hears=True) - 5
    assert "but no team learns to speak" in PAGE


def test_what_is_said_of_the_aids_and_trials_follows_from_the_tables() -> None:
    words = "None of MAST's three aids makes a significant difference, nor does the order of its targets"
    assert words in PAGE
    lost = said("sparse/mast_spread.md", "Given up beside mast: ")
    for arm in ("maximum", "one memory", "one step", "one step first"):
        assert re.search(rf"mast, {arm} [^;]* % \(not significant\)", lost)
    assert "After nine to twelve" in PAGE
    tables = [read_rows(mast.trials_file(arm)) for arm in mast.TUNED.values()]
    counts = [sum(row["round"] == "trial" for row in rows) for rows in tables]
    assert (min(counts), max(counts)) == (9, 12)
