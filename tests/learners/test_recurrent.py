"""Recurrent teams remember what they saw, learn from whole episodes, and cost what their connections do."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from learners.errors import InputError
from learners.qmix import QMIX
from learners.recurrent import Recurrent, RecurrentQMIX
from learners.replay import Transitions
from learners.segments import Segments
from learners.sparse import Sparsity, forward_flops, training_flops
from learners.team import Team
from learners.training import learn_for_steps, train
from tests.learners.toys import Signals

STEPS, AGENTS = 4, 2
TEAM = Team(("one", "two"), 2, True, np.ones((AGENTS, 1, 2), np.bool_))
SMALL = RecurrentQMIX(
    mixing="vdn",
    net_arch=(16,),
    batch_size=8,
    learning_rate=0.01,
    train_freq=4,
    run=STEPS,
    exploration_steps=1000,
    gamma=0.5,
    tau=0.05,
)
AIDED = replace(
    SMALL,
    soft_mellowmax=True,
    returns="hybrid",
    recent_buffer_size=64,
    schedule=200,
    sparsity=Sparsity("rigl", 0.5, every=20, until=150),
)


def episode(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Observations (steps + 1, agents, 2) of which the first says what is right, and that, (agents,)."""
    right = rng.integers(2, size=AGENTS)
    seen = np.zeros((STEPS + 1, AGENTS, 2), np.float32)
    seen[0] = np.eye(2)[right]
    return seen, right


def played(learner, rng: np.random.Generator, episodes: int) -> None:
    for _ in range(episodes):
        seen, right = episode(rng)
        learner.forget()
        for step in range(STEPS):
            actions = learner.act(seen[step])
            paid = np.full(AGENTS, (actions.argmax(axis=1) == right).mean(), np.float32)
            ended = np.full(AGENTS, step == STEPS - 1, np.float32)
            learner.learn(Transitions(seen[step], actions, paid, seen[step + 1], ended))


def right_at_last(learner, rng: np.random.Generator) -> float:
    """The share of agents that know at the last step what they saw at the first."""
    seen, right = zip(*(episode(rng) for _ in range(100)), strict=True)
    learner.forget()
    for step in range(STEPS):
        chosen = learner.greedy(np.stack(seen)[:, step])[..., 0]
    return float((chosen == np.stack(right)).mean())


@pytest.mark.parametrize(
    "settings", [SMALL, replace(SMALL, mixing="qmix"), AIDED], ids=["vdn", "qmix", "mast"]
)
def test_a_recurrent_team_acts_on_what_it_saw_long_ago(settings: RecurrentQMIX) -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    learner = settings.begin(TEAM, rng)
    played(learner, rng, 200)
    assert right_at_last(learner, rng) > 0.9


def test_a_team_that_does_not_remember_cannot() -> None:
    rng = np.random.default_rng(0)
    learner = QMIX(mixing="vdn", net_arch=(16,), train_freq=4, exploration_steps=1000).begin(TEAM, rng)
    played(learner, rng, 100)
    # It does the same whatever was right: of many, half.
    assert 0.3 < right_at_last(learner, rng) < 0.7


def test_the_units_are_torch_s_own_whole_or_step_by_step() -> None:
    networks = Recurrent.begun(np.random.default_rng(0), 5, 6, 3)
    enter, enter_bias, given, given_bias, held, held_bias, leave, leave_bias = (
        weight.detach()[0] for weight in networks.weights
    )
    unit = torch.nn.GRU(6, 6, batch_first=True)
    parts = {"weight_ih_l0": given.T, "bias_ih_l0": given_bias[0]}
    unit.load_state_dict(parts | {"weight_hh_l0": held.T, "bias_hh_l0": held_bias[0]})
    rows = torch.from_numpy(np.random.default_rng(1).normal(size=(4, 7, 5)).astype(np.float32))
    with torch.no_grad():
        states, last = unit(torch.relu(rows @ enter + enter_bias))
        found, state = networks.unrolled(rows)
        assert torch.allclose(found, states @ leave + leave_bias, atol=1e-5)
        assert torch.allclose(state, last[0], atol=1e-5)
        before, state = networks.unrolled(rows[:, :3])
        after, _ = networks.unrolled(rows[:, 3:], state)
    assert torch.allclose(torch.cat([before, after], dim=1), found, atol=1e-5)


def test_a_team_that_forgets_begins_anew() -> None:
    learner = SMALL.begin(TEAM, np.random.default_rng(0))
    one, other = np.random.default_rng(1).normal(size=(2, 5, AGENTS, 2)).astype(np.float32)
    learner.forget()
    fresh = learner._now(torch.from_numpy(other))
    learner.forget()
    learner._now(torch.from_numpy(one))
    assert not torch.allclose(learner._now(torch.from_numpy(other)), fresh)
    learner.forget()
    assert torch.equal(learner._now(torch.from_numpy(other)), fresh)


def test_runs_begin_where_episodes_do_also_where_the_oldest_are_gone() -> None:
    memory, rng = Segments(3 * STEPS - 1), np.random.default_rng(0)
    for number in range(4):
        for step in range(STEPS):
            row = np.full((AGENTS, 2), 10 * number + step, np.float32)
            ended = np.full(AGENTS, step == STEPS - 1, np.float32)
            memory.add(Transitions(row, row, np.zeros(AGENTS, np.float32), row + 1, ended))
    runs, there = memory.begun(rng, 50, STEPS + 1)
    firsts = runs.observations[:, 0, 0, 0]
    # Of the episode before the last two the first step is no longer held.
    assert set(firsts.tolist()) == {20.0, 30.0}
    assert there.sum(axis=1).tolist() == [STEPS] * 50
    assert (runs.observations[:, :STEPS, 0, 0] - firsts[:, None] == np.arange(STEPS)).all()


def test_targets_go_over_one_step_or_to_the_end_as_by_hand() -> None:
    for returns in ("one-step", "delayed"):
        settings = replace(SMALL, returns=returns, schedule=1, decay=0.8)
        learner = settings.begin(TEAM, np.random.default_rng(0))
        played(learner, np.random.default_rng(1), 4)
        steps, there = learner._large.begun(np.random.default_rng(2), 5, STEPS)
        found = learner._targets(steps, there).numpy()
        whole = torch.from_numpy(np.concatenate([steps.observations[:, :1], steps.following], axis=1))
        with torch.no_grad():
            values = learner._along(learner._target_agents, whole)[0][:, 1:]
        later = values.amax(dim=4).mean(dim=3).sum(dim=2).numpy()
        paid = steps.rewards.mean(axis=2)
        for run in range(5):
            # Nothing follows on the last step.
            wanted = paid[run, -1]
            assert found[run, -1] == pytest.approx(wanted, abs=1e-5)
            for step in range(STEPS - 2, -1, -1):
                share = settings.decay if returns == "delayed" else 0.0
                follows = (1 - share) * later[run, step] + share * wanted
                wanted = paid[run, step] + settings.gamma * follows
                assert found[run, step] == pytest.approx(wanted, abs=1e-5)


def test_sparse_recurrent_networks_cost_what_their_connections_do() -> None:
    dense, sparse = (
        replace(SMALL, sparsity=sparsity).begin(TEAM, np.random.default_rng(0))
        for sparsity in (Sparsity(), Sparsity("static", 0.2))
    )
    shapes = ((4, 16), (16, 48), (16, 48), (16, 2))
    connections, biases = sum(one * other for one, other in shapes), 16 + 48 + 48 + 2
    assert dense.agents.connections == connections
    assert sparse.agents.connections == pytest.approx(0.2 * connections, abs=4)
    assert dense.inference_flops == AGENTS * forward_flops(connections, biases)
    played(dense, np.random.default_rng(1), SMALL.batch_size // STEPS)
    rows = SMALL.batch_size * STEPS
    update = rows * training_flops(connections, biases, connections)
    # Targets see a run's first step too.
    update += (rows + SMALL.batch_size) * forward_flops(connections, biases)
    assert dense.flops == AGENTS * update


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(InputError, match=re.escape("one number, got [64, 64]")):
        RecurrentQMIX(net_arch=(64, 64))


@pytest.mark.parametrize("small", [{"buffer_size": 3, "batch_size": 2}, {"recent_buffer_size": 3}])
def test_a_memory_that_is_smaller_than_an_episode_is_refused(small: dict[str, int]) -> None:
    rng = np.random.default_rng(0)
    learner = replace(SMALL, **small).begin(TEAM, rng)
    with pytest.raises(InputError, match="must hold an episode, and this one holds 3 steps"):
        played(learner, rng, 5)


def test_that_a_recurrent_team_is_no_policy_of_one_observation_is_said_before_it_learns() -> None:
    env = Signals()
    env.step = lambda actions: pytest.fail("it has begun to learn")
    with pytest.raises(InputError, match="act with `greedy`"):
        train(SMALL, env, 100, np.random.default_rng(0))


def test_a_team_that_plays_begins_each_episode_without_memory() -> None:
    torch.set_num_threads(1)
    rng, env = np.random.default_rng(0), Signals()
    learner, begun = SMALL.begin(Team.of(env), rng), []
    acts = learner.act
    learner.act = lambda seen: begun.append(learner._state is None) or acts(seen)
    learn_for_steps(learner, env, 6, rng)
    # Episodes have two steps.
    assert begun == [True, False] * 3
