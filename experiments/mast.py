"""MAST's claim, up to 20 times fewer FLOPs and less than 3 % worse: `python -m experiments.mast TASK`.

Tasks are games of mpe2 with discrete actions and a reward that all share, where the mean return of the greedy
policy over 500 episodes is judged (2,000 of `tag`): `spread`, `listener` and `tag` (experiments.mast_games);
and the form `refine`, the best loss over the proven optimum on four problems of devhard.toml. Arms: `dense`;
`random` actions, of a team that never learns; at the same share of the dense networks' connections `small`
(dense, fewer units), `static`, `set`, `rigl`, `rlx2` (RigL, targets over many steps later; without its replay
of changing size), `mast` (RigL and the three aids); `mast` without one aid each. Agents' values are added up
(VDN), with which `spread` and `refine` are learned best; `qmix` and `mast, qmix` are dense and `mast` with
values mixed by a network. On `spread` also `mast` with targets over one step first and over many later,
`mast` and `rigl` with a layer's mean of squared gradients for connections that grow (learners.sparse,
`squares`), arms that are `tuned` by experiments.mast_trials, three of them with twice the seeds, three arms
twice as `wide`, and four of `recurrent` agents (learners.recurrent), half as wide. On `listener` and `tag`
are the arms tuned on `spread`, nothing was tuned there; and dense networks with the settings that were best
for `rigl`.

Writes results/sparse/mast_TASK.csv, a line a run, and goes on where it was stopped. `--show` prints the table
and writes mast_TASK.md (experiments.mast_figures says what is in it), `--figure` draws `spread` and `refine`
into results/sparse/mast.png.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments import RESULTS, write_rows
from experiments.mast_figures import HERE, draw, read, show
from experiments.mast_games import EPISODES, NAMES, SIDE_BY_SIDE, games_of
from experiments.tuning.ranges import Settings
from experiments.tuning.trials import Trials
from learners.tag import STEPS
from learners.team import Team
from searchers.common.torch_apart import torch_apart

HEAD = ("arm", "density", "seed", "problem", "outcome", "training_flops", "inference_flops")
UNITS, EMBEDDING = 128, 32
DENSITIES = (0.1, 0.05, 0.2)
_MAST: dict[str, Any] = {"soft_mellowmax": True, "returns": "hybrid", "recent_buffer_size": 1000}
AIDS: dict[str, dict[str, Any]] = {
    "mast": _MAST,
    "mast, maximum": {**_MAST, "soft_mellowmax": False},
    "mast, one step": {**_MAST, "returns": "one-step"},
    "mast, one memory": {**_MAST, "recent_buffer_size": 0},
    "mast, one step first": {**_MAST, "returns": "delayed"},
    "mast, mean squares": {**_MAST, "squares": "mean"},
    "rigl, mean squares": {"squares": "mean"},
    "mast, qmix": {**_MAST, "mixing": "qmix", "tau": 0.01},
    "qmix": {"mixing": "qmix", "tau": 0.01},
    "rlx2": {"returns": "delayed"},
}
ARMS = ("small", "static", "set", "rigl", "rlx2", "mast")
ABLATIONS = ("mast, maximum", "mast, one step", "mast, one memory")
VARIED = ("mast, one step first", "mast, mean squares", "rigl, mean squares")
"""Arms of `spread` that settle what MAST's abstract leaves open."""
TUNED = {f"{arm}, tuned": arm for arm in ("dense", "small", "static", "rigl", "mast")}
"""Arms of games with settings of their own, found on `spread`: those of experiments.mast_trials."""
WIDE = {f"{arm}, wide": arm for arm in ("dense", "rigl", "mast")}
"""Arms of `spread` with twice the units, and settings of TUNED but for a learning rate of their own."""
RECURRENT = {f"{arm}, recurrent": arm for arm in ("dense", "small", "rigl", "mast")}
"""Arms of `spread` whose agents remember, with RECURRENT_SPREAD and a learning rate of their own."""
SETTINGS = {
    **{name: (arm, arm) for name, arm in TUNED.items()},
    **{name: (arm, name) for name, arm in (*WIDE.items(), *RECURRENT.items())},
    "dense, as rigl": ("dense", "rigl"),
}
"""What arms with settings of trials are, and whose trials they are. The last is for `listener` and `tag`."""
GAMES, ROUNDS = 16, 120
"""Side by side on games of mpe2; how often, 25 steps each time."""
SPREAD: dict[str, Any] = {
    "mixing": "vdn",
    "batch_size": 128,
    "tau": 0.03,
    "exploration_steps": 15_000,
    "gamma": 0.9,
    "train_freq": 8,
}
"""With which the dense team learns: chosen on seeds 100 to 103, of two dozen trials."""
RECURRENT_SPREAD = {**SPREAD, "batch_size": 16, "train_freq": 16}
"""Of agents that remember, where a mini-batch is of whole episodes."""
REFINE_SAMPLES, REFINE_PROBLEMS = 2000, (0, 3, 6, 9)
REFINE: dict[str, Any] = {
    "mixing": "vdn",
    "batch_size": 32,
    "learning_rate": 0.002,
    "exploration_steps": REFINE_SAMPLES // 2,
    "exploration_final_eps": 0.5,
    "gamma": 0.3,
    "train_freq": 4,
}
"""With which the dense team ends lower than random actions, of ten trials on seeds 100 and 101."""


def plan(task: str, seeds: int) -> Iterator[tuple[str, float, int]]:
    """Arms with densities and seeds, a seed after the other, what tells most first."""
    if task in ("listener", "tag"):
        for seed in range(seeds):
            yield from ((arm, density_of(arm), seed) for arm in ("random", *TUNED, "dense, as rigl"))
        return
    for seed in range(seeds):
        yield from (("dense", 1.0, seed), ("random", 1.0, seed))
        yield from ((arm, DENSITIES[0], seed) for arm in ARMS)
    for density in DENSITIES[1:]:
        yield from ((arm, density, seed) for seed in range(seeds) for arm in ("small", "static", "mast"))
    yield from ((arm, DENSITIES[0], seed) for seed in range(seeds) for arm in ABLATIONS)
    for seed in range(seeds):
        yield from (("qmix", 1.0, seed), ("mast, qmix", DENSITIES[0], seed))
    for seed in range(seeds) if task == "spread" else ():
        yield from ((arm, DENSITIES[0], seed) for arm in VARIED)
        yield from ((arm, density_of(arm), seed) for arm in (*TUNED, *WIDE, *RECURRENT))
    for seed in range(seeds, 2 * seeds) if task == "spread" else ():
        yield from ((f"{arm}, tuned", density_of(arm), seed) for arm in ("dense", "rigl", "mast"))


def trials_file(arm: str) -> Path:
    """Where the trials of an arm are."""
    return RESULTS / "tuning" / "mast" / f"{arm.replace(', ', '-')}.csv"


def trials_of(arm: str) -> Trials:
    """What experiments.mast_trials has found: settings over SPREAD's, none where these were best."""
    return Trials(trials_file(arm), [GAMES * ROUNDS * STEPS])


def density_of(arm: str) -> float:
    """That of an arm with settings of its own, or by chance."""
    return 1.0 if arm.split(", ")[0] in ("dense", "random") else DENSITIES[0]


def algorithm(
    arm: str,
    density: float,
    team: Team,
    updates: int,
    usual: Settings,
    given: Settings | None = None,
    units: int = UNITS,
    recurrent: bool = False,
) -> Any:
    """The learner of an arm with the settings of a task, and those of a trial."""
    from learners.qmix import QMIX
    from learners.recurrent import RecurrentQMIX
    from learners.sparse import Sparsity

    settings = {**usual, **AIDS.get(arm, {}), **(given or {})}
    changes = {name: settings.pop(name) for name in ("share", "squares") if name in settings}
    every = max(updates // settings.pop("changes", 40), 1)
    kind, layers = (RecurrentQMIX, 1) if recurrent else (QMIX, 2)
    made = kind(net_arch=(units,) * layers, embedding=EMBEDDING, schedule=updates, **settings)
    if arm == "random":
        return replace(made, batch_size=made.buffer_size, exploration_final_eps=1.0)
    if arm == "small":
        units, embedding = shrunk(team, density, made.net_arch)
        return replace(made, net_arch=(units,) * layers, embedding=embedding)
    if density == 1:
        return made
    method = arm if arm in ("static", "set") else "rigl"
    return replace(made, sparsity=Sparsity(method, density, every, until=updates * 3 // 4, **changes))


def shrunk(team: Team, density: float, dense: tuple[int, ...] = (UNITS, UNITS)) -> tuple[int, int]:
    """Units and embedding of dense networks with about so large a share of the dense ones' connections."""
    # A GRU has six matrices of units by units.
    agents, square = len(team.names), 6 if len(dense) == 1 else 1

    def own(units: int) -> int:
        return units * (team.observed + agents + square * units + team.width)

    def mixing(units: int) -> int:
        return units * (agents * team.observed + units * (agents + 2) + 1)

    return tuple(
        min(range(1, most + 1), key=lambda units: abs(count(units) - density * count(most)))
        for count, most in ((own, dense[0]), (mixing, EMBEDDING))
    )


def particles(
    task: str, arm: str, density: float, seed: int, given: Settings | None = None
) -> Iterator[dict[str, Any]]:
    """A team on a game of mpe2; `given` are settings of a trial."""
    from learners.replay import Transitions

    base, tried = SETTINGS.get(arm, (arm, None))
    if given is None and tried is not None:
        (given,) = trials_of(tried).best("trial" if arm in RECURRENT else "final")
    rng, judging = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 3])
    games = games_of(task, GAMES)
    team = games.team
    usual = RECURRENT_SPREAD if arm in RECURRENT else SPREAD
    updates = GAMES * ROUNDS * games.length // usual["train_freq"]
    units = 2 * UNITS if arm in WIDE else UNITS // 2 if arm in RECURRENT else UNITS
    learner = algorithm(base, density, team, updates, usual, given, units, arm in RECURRENT).begin(team, rng)
    shape = (GAMES, len(team.names), team.width)
    for _ in range(0 if arm == "random" else ROUNDS):
        observations, steps = games.begin(rng), []
        learner.forget()
        for _ in range(games.length):
            chosen = learner.tries(observations).reshape(shape)
            following, paid = games.step(chosen.argmax(axis=2))
            rewards = np.tile(paid, (len(team.names), 1)).T
            steps.append((observations, chosen, rewards, following, np.zeros(shape[:2])))
            observations = following
        for game in range(GAMES):
            for step in steps:
                learner.learn(Transitions(*(np.asarray(part[game], np.float32) for part in step)))
    yield {
        "problem": NAMES[task],
        "outcome": judged(learner, games_of(task, SIDE_BY_SIDE), EPISODES[task], arm == "random", judging),
        "training_flops": learner.flops,
        "inference_flops": learner.inference_flops,
    }


def judged(learner: Any, games: Any, episodes: int, by_chance: bool, rng: np.random.Generator) -> float:
    """The mean return of the greedy policy, or of actions by chance; episodes are a seed's."""
    returns: list[float] = []
    while len(returns) * SIDE_BY_SIDE < episodes:
        observations, earned = games.begin(rng), 0.0
        learner.forget()
        for _ in range(games.length):
            actions = learner.greedy(observations)[..., 0]
            if by_chance:
                actions = rng.integers(games.team.real.sum(axis=(1, 2)), size=actions.shape)
            observations, paid = games.step(actions)
            earned += float(paid.mean())
        returns.append(earned)
    return float(np.mean(returns))


def refine(arm: str, density: float, seed: int) -> Iterator[dict[str, Any]]:
    """A team that refines mappings."""
    from dse.campaign.reference import optimum_figures
    from dse.domains.clustered.problem import Problem
    from dse.search.evaluator import BudgetExhausted, Evaluator
    from dse.search.record import Record
    from experiments.tuning.tune import development_problems
    from learners.training import learn_for_steps
    from searchers.common.play import Game

    campaign = development_problems()
    proven = optimum_figures(campaign)
    for place in REFINE_PROBLEMS:
        listed = campaign.problems[place]
        problem: Problem = listed.problem
        rng = np.random.default_rng([seed, 2, place])
        record = Record(len(problem.space.genes))
        env = Game("refine").environment(Evaluator(problem, REFINE_SAMPLES, record=record))
        team, updates = Team.of(env), REFINE_SAMPLES // REFINE["train_freq"]
        learner = algorithm(arm, density, team, updates, REFINE).begin(team, rng)
        with suppress(BudgetExhausted):
            learn_for_steps(learner, env, 2 * REFINE_SAMPLES, rng)
        best = float(record.evaluations().loss.min())
        yield {
            "problem": listed.label,
            "outcome": best / proven[listed.label]["loss"],
            "training_flops": learner.flops,
            "inference_flops": learner.inference_flops,
        }


TASKS: dict[str, Callable[[str, float, int], Iterator[dict[str, Any]]]] = {
    **{task: partial(particles, task) for task in NAMES},
    "refine": refine,
}


def run(task: str, seeds: int) -> None:
    """Do the runs that are missing, and write each as it is done."""
    path = HERE / f"mast_{task}.csv"
    rows = read(task)
    done = {(row["arm"], row["density"], row["seed"]) for row in rows}
    for arm, density, seed in plan(task, seeds):
        if (arm, str(density), str(seed)) in done:
            continue
        with torch_apart():
            for found in TASKS[task](arm, density, seed):
                outcome = f"{found.pop('outcome'):.5g}"
                rows.append({"arm": arm, "density": density, "seed": seed, **found, "outcome": outcome})
        write_rows(path, HEAD, rows)
        print(*rows[-1].values(), flush=True)


def main() -> None:
    """Run, or show what has been run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=sorted(TASKS), nargs="?", help="which; both if not given")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--show", action="store_true", help="run nothing, print the table")
    parser.add_argument("--figure", action="store_true", help="run nothing, draw results/sparse/mast.png")
    options = parser.parse_args()
    if options.figure:
        draw(HERE / "mast.png")
        return
    for task in [options.task] if options.task else TASKS:
        if not options.show:
            run(task, options.seeds)
        show(task)


if __name__ == "__main__":
    main()
