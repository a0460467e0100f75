"""Policies that searchers have learned: kept without a trace in the search, and played by another."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse as arena
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.abilities import abilities_of
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.keeping import Kept
from dse.search.record import Record
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from dse.testing.toy_problem import ToyProblem
from tests.conftest import Dse
from workloads import load_layer

pytest.importorskip("safetensors")

TEACHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "one step": ("maddpg", {"form": "one-step", "batch_size": 8, "train_freq": 10}),
    "construct": ("masac", {"form": "construct", "batch_size": 8, "train_freq": 10, "agents": "blocks"}),
    "refine": ("maddpg", {"form": "refine", "batch_size": 8, "train_freq": 10}),
    "ppo": ("ppo", {"n_envs": 20, "n_steps": 2}),
    "a2c": ("a2c", {"n_envs": 20}),
    "d4pg": ("d4pg", {"actors": 20, "learning_starts": 20, "batch_size": 8, "train_freq": 20}),
    "actorq": ("actorq", {"actors": 20, "learning_starts": 20, "train_freq": 20, "pull_every": 2}),
    "ddpg": ("ddpg", {"n_envs": 20, "learning_starts": 20, "batch_size": 8}),
    "dqn": ("dqn", {"n_envs": 20, "batch_size": 8}),
    "categorical ppo": ("ppo", {"n_envs": 20, "n_steps": 2, "actions": "categorical"}),
}
PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["edge"], "edp")
OTHER = Problem(load_layer("alexnet:conv3"), PRESETS["edge"], "edp")


def searched(name: str, settings: dict[str, Any], budget: int = 60, **kept: Any) -> list[list[int]]:
    record = Record(7)
    with pytest.raises(BudgetExhausted):
        make_searcher(name, settings).search(
            Evaluator(ToyProblem(), budget, record=record), np.random.default_rng(0), **kept
        )
    return record.genes().tolist()


@pytest.mark.parametrize(("name", "settings"), TEACHERS.values(), ids=TEACHERS)
def test_a_policy_is_kept_without_a_trace_and_played(
    name: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    kept = Kept(tmp_path)
    drawn = searched(name, settings, keep=kept)
    assert drawn == searched(name, settings)
    kept.save(name, {"samples": 60})
    played = searched("policy", {"folder": str(tmp_path)}, budget=30)
    assert played == searched("policy", {"folder": str(tmp_path)}, budget=30)
    assert len({tuple(point) for point in played}) > 10
    assert make_searcher("policy", {"folder": str(tmp_path)}).samples_elsewhere == 60  # type: ignore[attr-defined]


def test_who_has_a_policy_says_so() -> None:
    assert {name for name, _ in TEACHERS.values()} == {
        *("a2c", "actorq", "d4pg", "ddpg", "dqn", "maddpg", "masac", "ppo")
    }
    assert all(abilities_of(make_searcher(name)).has_policy for name, _ in TEACHERS.values())
    assert not abilities_of(make_searcher("random")).has_policy


@pytest.mark.parametrize("actions", ["gaussian", "categorical"])
def test_an_agent_of_stable_baselines3_is_as_likely_to_do_what_it_does_here(actions: str) -> None:
    import torch
    from gymnasium import spaces
    from stable_baselines3 import PPO

    from learners.sb3 import policy_of
    from learners.team import Team
    from searchers.common.sb3_env import StableBaselinesEnv
    from searchers.environments import MappingParallelEnv, MappingVectorEnv

    env = MappingVectorEnv(2, evaluator=Evaluator(ToyProblem(), 9), actions=actions)
    agent = PPO("MlpPolicy", StableBaselinesEnv(env), n_steps=2, batch_size=4, seed=0, device="cpu")
    with torch.no_grad():
        agent.policy.action_net.weight.mul_(300)
    one = MappingParallelEnv([range(7)], evaluator=Evaluator(ToyProblem(), 9), actions=actions)
    team = Team.of(one)
    policy = policy_of(agent, team)
    one.reset()
    for seen in np.random.default_rng(2).random((5, 4), dtype=np.float32):
        theirs, _ = agent.predict(seen, deterministic=True)
        (ours,) = team.actions(policy.act(seen[None]), one).values()
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    rng = np.random.default_rng(0)
    drawn = np.array([policy.act(seen[None], rng)[0] for _ in range(3000)])
    states = torch.from_numpy(np.repeat(seen[None], 3000, axis=0))
    torch.manual_seed(0)
    with torch.no_grad():
        theirs = agent.policy(states)[0].numpy()
    if isinstance(env.single_action_space, spaces.Box):
        theirs = theirs.clip(-1, 1)
    else:
        theirs = np.concatenate([np.eye(24)[column] for column in theirs.T], axis=1)
    assert abs(drawn.mean(axis=0) - theirs.mean(axis=0)).max() < 0.06
    assert abs(drawn.std(axis=0) - theirs.std(axis=0)).max() < 0.06


def saved(folder: Path, settings: dict[str, Any], **options: Any) -> None:
    arena.search(PROBLEM, "maddpg", settings=settings, budget=20, save_policy=folder, **options)


def test_a_policy_of_moves_fits_another_layer_and_one_of_values_does_not(tmp_path: Path) -> None:
    saved(tmp_path / "moves", {"form": "refine"})
    saved(tmp_path / "values", {"form": "one-step"})
    found = arena.search(OTHER, "policy", settings={"folder": str(tmp_path / "moves")}, budget=20)
    assert found.cell.settings["samples_elsewhere"] == 20
    assert len(found.record) == 20
    why = "the policy's agent 'outer.tile.K' chooses among 14 values, here it chooses among 16 values"
    with pytest.raises(InputError, match=why):
        arena.search(OTHER, "policy", settings={"folder": str(tmp_path / "values")}, budget=20)


def test_the_policy_of_a_search_that_is_done_is_learned_again_and_nothing_priced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"batch_size": 8, "train_freq": 4}
    saved(tmp_path / "first", settings, out=tmp_path / "search")
    monkeypatch.setattr(Problem, "price", lambda *_: pytest.fail("priced"))
    saved(tmp_path / "second", settings, out=tmp_path / "search")
    for name in ("policy.json", "policy.safetensors"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


SEARCH = (
    "search",
    "--layer",
    "alexnet:conv2",
    "--accelerator",
    "edge",
    "--objective",
    "edp",
    "--budget",
    "20",
)


def _without_game(described: dict[str, Any]) -> None:
    del described["about"]["game"]


def _other_game(described: dict[str, Any]) -> None:
    described["about"]["game"]["form"] = "chess"


def _no_samples(described: dict[str, Any]) -> None:
    described["about"]["samples"] = -1


def _other_layers(described: dict[str, Any]) -> None:
    described["observed"] = 5


def _other_head(described: dict[str, Any]) -> None:
    described["head"] = "normal"


def _other_activation(described: dict[str, Any]) -> None:
    described["activation"] = "os.system"


def _fewer_agents(described: dict[str, Any]) -> None:
    described["agents"] = described["agents"][1:]


SPOILT: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (_without_game, "is for no game of mappings: save it by dse search --save-policy"),
    (_other_game, "unknown form 'chess'"),
    (_no_samples, "samples must be how many taught it, got -1"),
    (_other_layers, "the layers of its networks do not fit onto each other"),
    (_other_head, "unknown head 'normal'"),
    (_other_activation, "unknown activation 'os.system'"),
    (_fewer_agents, "is damaged: ValueError: the agents and what they choose do not fit together"),
]


def test_a_wrong_or_damaged_folder_is_refused_in_a_line(dse: Dse, tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    taught = dse(*SEARCH, "--searcher", "maddpg", "--json", "--save-policy", str(folder))
    assert taught.code == 0, taught
    play = (*SEARCH, "--searcher", "policy", "--json", "--set", f"folder={folder}")
    assert dse(*play).json["samples"] == 20
    description = folder / "policy.json"
    whole = description.read_text()
    for spoil, complaint in SPOILT:
        described = json.loads(whole)
        spoil(described)
        description.write_text(json.dumps(described))
        assert complaint in dse(*play).refused()
    for text in ("", "[]", "null", '{"format": 1}', whole[:200]):
        description.write_text(text)
        assert f"policy {str(folder)!r}" in dse(*play).refused()
    nowhere = (*SEARCH, "--searcher", "policy", "--set", f"folder={tmp_path / 'nowhere'}")
    assert "nowhere' cannot be read: No such file or directory" in dse(*nowhere).refused()


def test_who_learns_no_policy_cannot_save_one(dse: Dse, tmp_path: Path) -> None:
    place = ("--save-policy", str(tmp_path / "p"))
    assert "'random' learns no policy" in dse(*SEARCH, "--searcher", "random", *place).refused()
    assert not (tmp_path / "p").exists()
    network = ("search", "--network", "alexnet", "--accelerator", "edge", *place)
    assert "--save-policy is for --layer" in dse(*network).refused()
