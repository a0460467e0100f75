"""`dse quantise`: a policy in fewer bits, measured on what it is for, taught again, written, refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from learners.heads import Choices
from learners.networks import Networks
from learners.policy import Policy, load_policy, save_policy
from learners.team import Team
from searchers.commands.quantise_view import print_table
from tests.conftest import Dse
from tests.learners.toys import Signals

pytest.importorskip("safetensors")

TEACHING = ("--set", "n_envs=8", "--set", "net_arch=[8]", "--set", "patience=0")
LAYER = ("--layer", "alexnet:conv2", "--accelerator", "edge", "--objective", "edp")


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from learners.gymnasium_tasks import train_policy

    folder = tmp_path_factory.mktemp("policies") / "cartpole"
    settings = {"n_steps": 32, "batch_size": 32, "net_arch": [32]}
    about = {"task": "CartPole-v1", "seed": 0, "samples": 64, "settings": settings}
    save_policy(train_policy("ppo", "CartPole-v1", 64, 0, settings), folder, about)
    return folder


def test_a_policy_of_a_task_is_measured_and_taught_again(cartpole: Path, dse: Dse, tmp_path: Path) -> None:
    out = tmp_path / "out"
    data = dse(
        "quantise", str(cartpole), "--bits", "8,2", "--runs", "3", "--qat", "--out", str(out), "--json"
    )
    assert data.code == 0, data.err
    full, *few = data.json["precisions"]
    assert [(row["bits"], row["quantised"]) for row in few] == [
        (bits, when) for bits in (8, 2) for when in ("after", "in training")
    ]
    assert full["bytes"] > 2 * few[0]["bytes"] > 2 * few[2]["bytes"]
    assert full["mean"] == np.mean(full["values"]) > 8
    assert few[0]["worse"] == pytest.approx((full["mean"] - few[0]["mean"]) / full["mean"])
    assert all(row["low"] <= row["worse"] <= row["high"] for row in few)
    assert json.loads((out / "quantise.json").read_text())["precisions"][1]["bits"] == 8
    assert (out / "quantise.png").read_bytes().startswith(b"\x89PNG")
    assert load_policy(out / "2-bits-aware").policy.actors.quantised.bits == 2


def test_a_policy_of_mappings_is_measured_where_it_was_taught_or_elsewhere(
    dse: Dse, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "taught")
    taught = dse("search", *LAYER, "--searcher", "ppo", "--budget", "64", *TEACHING, "--save-policy", folder)
    assert taught.code == 0, taught.err
    asked = ("quantise", folder, "--samples", "32", "--runs", "2", "--weights-alone", "--json")
    first = dse(*asked, "--bits", "16,3", "--qat").json
    assert first["quality"] == "edp of the best of 32 samples"
    assert [row["activations"] for row in first["precisions"]] == [32] * 5
    assert np.isfinite(first["precisions"][0]["values"]).all()
    halves = first["precisions"][1]
    np.testing.assert_allclose(halves["values"], first["precisions"][0]["values"], rtol=0.5)
    again = dse(*asked, "--bits", "3").json
    assert again["precisions"][1]["values"] == first["precisions"][3]["values"]
    other = dse(*asked, "--bits", "8", "--layer", "alexnet:conv3", "--accelerator", "edge").json
    assert other["quality"] == "latency of the best of 32 samples"
    other["precisions"][1]["values"][0] = np.inf
    print_table(other, None)
    assert "in 1 runs nothing feasible was drawn" in capsys.readouterr().out


def test_what_cannot_be_quantised_is_refused_in_a_line(cartpole: Path, dse: Dse, tmp_path: Path) -> None:
    assert "cannot be read" in dse("quantise", str(tmp_path)).refused()
    for bits in ("9", "32", "x"):
        assert f"got {bits!r}" in dse("quantise", str(cartpole), "--bits", bits).refused()
    assert "for policies of mappings" in dse("quantise", str(cartpole), "--layer", "alexnet:conv2").refused()
    team = Team.of(Signals())
    made = Networks.drawn(np.random.default_rng(0), 3, (team.observed, team.width))
    aimless = Policy("made", team, Choices(team.real), made)
    save_policy(aimless, tmp_path / "aimless")
    assert "neither a task nor a game" in dse("quantise", str(tmp_path / "aimless")).refused()
    save_policy(aimless, tmp_path / "lost", {"task": "NoSuchTask-v0"})
    assert "'NoSuchTask-v0' cannot be made" in dse("quantise", str(tmp_path / "lost")).refused()
    save_policy(aimless, tmp_path / "gone", {"game": {}, "search": {}})
    assert "name --layer" in dse("quantise", str(tmp_path / "gone")).refused()
