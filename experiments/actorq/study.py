"""The study of ActorQ again: `python -m experiments.actorq.study idle whole pulls learning searches mapper`.

- `idle`: what an actor can do at most, and where its time goes, by the precision of what is executed and of
  what is sent, and by how often it is pulled: Table 4's throughput, Figs. 8 and 9.
- `whole`: all processes, one actor, policy and learner of their size: who is busy, and who waits.
- `learning`: all processes, one actor, until it has learned: Table 4's time to 95 % of the reward.
- `pulls`: in lockstep, the same numbers each time: what seldom pulls cost, Fig. 7.
- `searches`: the searchers `d4pg` and `actorq` on the twelve problems of devhard.toml.
- `mapper`: what a mapper's actor and its cost models take for a sample.

From three seeds each; `pulls`, precisions in `idle`, and most tasks from five. Writes actorq-*.csv in
results/quantised, a line or more a run, and goes on where it was stopped. Its last column is the bits of the
activations beside weights of 8 (learners.quantised_networks); nothing stands there where that was not written
down. For tables:
`python -m experiments.actorq.tables`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from experiments import RESULTS, read_rows, write_rows
from experiments.actorq.asynchronous import earned, run
from experiments.actorq.setting import Setting

HERE = RESULTS / "quantised"
SEEDS, MORE_SEEDS = (0, 1, 2), (0, 1, 2, 3, 4)
KEY = ("task", "policy", "communication", "inference", "actors", "pull_every", "steps", "seed", "idle")
LEARNED = {
    ("CartPole-v1", "small"): (30_000, 3),
    ("CartPole-v1", "medium"): (30_000, 5),
    ("Acrobot-v1", "small"): (20_000, 5),
    ("Pendulum-v1", "small"): (20_000, 5),
    ("cartpole-balance", "small"): (30_000, 3),
    ("cartpole-balance", "medium"): (45_000, 5),
    ("walker-stand", "small"): (30_000, 1),
    ("walker-stand", "medium"): (100_000, 3),
    ("MountainCar-v0", "small"): (60_000, 1),
}
"""Steps of a run, and from how many seeds, by task and policy."""
PULLS, PULLED_STEPS = (1, 10, 100, 1000), 12_000
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "d4pg": ("d4pg", {}),
    "actorq 8 bits": ("actorq", {"pull_every": 1}),
    "actorq 8 bits, seldom": ("actorq", {"pull_every": 25}),
    "actorq 4 bits": ("actorq", {"pull_every": 1, "bits": 4}),
}
SEARCHED = 2000
ACTIVATIONS = "int8_activations"

Row = dict[str, Any]


def idle() -> Iterator[Setting]:
    """Large and small policies, the three precisions; and what is sent alone, at two paces."""
    for seed in MORE_SEEDS:
        for bits in (32, 16, 8):
            for policy in ("large", "small"):
                yield Setting("CartPole-v1", policy, bits, bits, steps=2000, seed=seed, idle=True)
    for seed in SEEDS:
        for pull_every, steps in ((100, 2000), (10, 1100)):
            for sent in (32, 8):
                yield Setting("CartPole-v1", "large", sent, 32, 1, pull_every, steps, seed, True)


def learning() -> Iterator[Setting]:
    """One actor, the three precisions."""
    for (task, policy), (steps, seeds) in LEARNED.items():
        for seed in range(seeds):
            for bits in (32, 16, 8):
                yield Setting(task, policy, bits, bits, steps=steps, seed=seed)


def whole() -> Iterator[Setting]:
    """One actor and a learner of their size, for so few steps that nothing is learned yet."""
    for seed in SEEDS:
        for bits in (32, 16, 8):
            yield Setting("CartPole-v1", "large", bits, bits, steps=2500, seed=seed)


def processes(settings: Iterable[Setting]) -> None:
    """Run those that are missing."""
    done = {tuple(row[name] for name in KEY) for row in read("runs")}
    for setting in dict.fromkeys(settings):
        key = {name: str(getattr(setting, name)) for name in KEY}
        if tuple(key.values()) in done:
            continue
        found = run(setting)
        for name, kind in (("breakdown", "breakdown"), ("curves", "curve"), ("runs", "run")):
            write(name, [{**key, **line} for line in found[kind]])
        print(*key.values(), f"{found['run'][0]['steps_per_s']:.0f} steps/s", flush=True)


def pulls() -> None:
    """Four actors of 8 bits that pull after so many steps each, in lockstep."""
    done = {(row["pull_every"], row["seed"]) for row in read("pulls")}
    for seed in MORE_SEEDS:
        for every in PULLS:
            if (str(every), str(seed)) not in done:
                lines = [
                    {"task": "CartPole-v1", "bits": 8, "pull_every": every, "seed": seed, **line}
                    for line in pulled("CartPole-v1", 8, every, seed)
                ]
                write("pulls", lines)
                print("pulls", every, seed, [line["return"] for line in lines], flush=True)


def pulled(task: str, bits: int, every: int, seed: int) -> list[Row]:
    """What a policy earns after so many steps."""
    import gymnasium
    import torch
    from gymnasium.vector import AutoresetMode

    from learners.actors import Actors, exploration_spreads, play_in_lockstep
    from learners.dqn import DQN
    from learners.team import OneAgent, Team

    torch.set_num_threads(1)
    env = gymnasium.make_vec(
        task, 4, vectorization_mode="sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}
    )
    team, rng = Team.of(OneAgent(gymnasium.make(task))), np.random.default_rng([seed, 37])
    learner = DQN().begin(team, rng)
    actors = Actors(team, learner, exploration_spreads(0.2, 4), bits, rng)
    lines: list[Row] = []
    steps = 0

    def going_on(rewards: np.ndarray) -> bool:
        nonlocal steps
        steps += len(rewards)
        if steps % 1000 == 0:
            lines.append({"steps": steps, "return": round(earned(learner.policy(), task, 3), 2)})
        return steps < PULLED_STEPS

    play_in_lockstep(learner, actors, team, env, every, bits, rng, going_on)
    return lines


def searches() -> None:
    """The searchers on development problems."""
    from dse.campaign.reference import optimum_figures
    from dse.search.run import Cell, run_cell
    from dse.search.searcher import make_searcher
    from experiments.tuning.tune import development_problems

    campaign = development_problems()
    proven = optimum_figures(campaign)
    done = {(row["arm"], row["problem"], row["seed"]) for row in read("searches")}
    for seed in SEEDS:
        for arm, (name, settings) in ARMS.items():
            for place, item in enumerate(campaign.problems):
                if (arm, str(place), str(seed)) in done:
                    continue
                cell = Cell(item.problem, name, make_searcher(name, settings), 3000 + seed, SEARCHED)
                best = np.minimum.accumulate(run_cell(cell).evaluations().loss)
                ratios = {
                    f"at_{n}": f"{best[n - 1] / proven[item.label]['loss']:.4f}" for n in (500, SEARCHED)
                }
                write("searches", [{"arm": arm, "problem": place, "seed": seed, **ratios}])
        print("searches", seed, flush=True)


def mapper() -> None:
    """Microseconds of CPU of a mapper's actor and of cost models, for one point at a time."""
    import torch

    from dse.domains.clustered.accelerator import PRESETS
    from dse.domains.clustered.problem import Problem
    from learners.actors import executable_policy
    from learners.networks import Networks
    from learners.quantised import quantise_weights
    from learners.quantised_networks import named_weights
    from workloads import load_layer

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    lines: list[Row] = []
    for name, hidden in (("2 x 64", (64, 64)), ("2 x 512", (512, 512)), ("3 x 2048", (2048,) * 3)):
        networks = Networks.drawn(rng, 1, (17, *hidden, 13))
        row = torch.zeros(1, 1, 17)
        for bits in (32, 16, 8):
            act = executable_policy(quantise_weights(named_weights(networks), bits), "relu", bits)
            lines += timed("inference", f"{name}, {bits} bits", lambda act=act, row=row: act(row))  # type: ignore[misc]
    for model in ("loopnest", "maestro"):
        problem = Problem(load_layer("alexnet:conv2"), PRESETS["edge"], "edp", model)
        genes = problem.space.sample(rng, 1)
        lines += timed("cost model", model, lambda problem=problem, genes=genes: problem.price(genes))  # type: ignore[misc]
    (HERE / "actorq-mapper.csv").unlink(missing_ok=True)
    write("mapper", lines)
    for line in lines:
        print(*line.values(), flush=True)


def timed(kind: str, name: str, call: Callable[[], Any]) -> list[Row]:
    """Nine times of CPU for a call, in microseconds, each of as many calls as 30 ms hold."""
    call()
    begun, calls = time.process_time(), 0
    while time.process_time() - begun < 0.03:
        call()
        calls += 1
    found = []
    for _ in range(9):
        begun = time.process_time()
        for _ in range(calls):
            call()
        found.append(1e6 * (time.process_time() - begun) / calls)
    return [{"kind": kind, "name": name, "microseconds": f"{value:.2f}"} for value in found]


def read(name: str) -> list[dict[str, str]]:
    """The lines of a table, none where it is not there."""
    return read_rows(HERE / f"actorq-{name}.csv")


def write(name: str, rows: list[Row]) -> None:
    """Add lines to a table."""
    from learners.quantised_networks import activation_bits

    if not rows:
        return
    rows = [{**row, ACTIVATIONS: activation_bits(8)} for row in rows]
    lines = [{key: short(value) for key, value in row.items()} for row in rows]
    write_rows(HERE / f"actorq-{name}.csv", lines[0], lines, add=True)


def short(value: Any) -> Any:
    """A number with as many digits as it is worth."""
    return f"{value:.6g}" if isinstance(value, float) else value


PARTS: dict[str, Callable[[], None]] = {
    "idle": lambda: processes(idle()),
    "pulls": pulls,
    "learning": lambda: processes(learning()),
    "whole": lambda: processes(whole()),
    "searches": searches,
    "mapper": mapper,
}


def main() -> None:
    """Run what is missing of the parts named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=tuple(PARTS))
    for part in parser.parse_args().parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
