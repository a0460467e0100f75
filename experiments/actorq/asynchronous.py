"""ActorQ with all its processes: `python -m experiments.actorq.asynchronous CartPole-v1 --inference 8`.

    python -m experiments.actorq.asynchronous CartPole-v1 --actors 2 --communication 8 --inference 8
    python -m experiments.actorq.asynchronous Pendulum-v1 --policy large --idle --steps 2000 --pull-every 10

This process learns, in full precision, by D4PG where actions are numbers and by DQN where they are choices.
One quantises: where it is free, it is handed the newest policy, at most every `--pull-every` steps, and makes
a message of it, in the format of safetensors. 1 to 4 act: each pulls a message every so many steps and waits
for it, and pushes its steps without waiting, until the learner is 64 steps behind. A step is learned from 16
times. All goes over pipes.

With `--idle` the policy is sent around as ever, but nothing is learned: what actors can do at most. It prints
JSON: a line for each of `breakdown` (where an actor's time for 1,000 steps went, seconds of the wall and of
the CPU), `curve` (what the policy earns, judged afterwards) and `run`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import queue
import time
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np
import torch

from dse.support.arrays import SingleArray
from experiments.actorq.setting import SIZES, Setting, environment, learner_of
from learners.actors import Actors, Taking, exploration_spreads
from learners.phases import Stopwatch
from learners.policy import Policy
from learners.quantised import FULL, QuantisedWeights, quantise_weights
from learners.quantised_networks import named_weights
from learners.replay import Transitions
from learners.team import Team
from learners.training import begin_episode, play_step

PHASES = ("step", "push", "pull", "deserialise", "load")
REPORTED = 1000
"""Steps of an actor between breakdowns."""
LOOKS = 15
"""How often the policy is looked at in a run."""
BEHIND = 64


def act(
    setting: Setting, number: int, parameters: Connection, steps: Any, told: Any, stop: Any, learner: Taking
) -> None:
    """An actor: it pulls, acts, and pushes what came of it, until it is told to stop."""
    torch.set_num_threads(1)
    env = environment(setting.task)
    team, rng = Team.of(env), np.random.default_rng([setting.seed, 31, number])
    deviation = exploration_spreads(setting.spread, setting.actors)[number : number + 1]
    actors = Actors(team, learner, deviation, setting.inference, rng)
    wall, cpu = Stopwatch(), Stopwatch(time.process_time)
    observations, done, message = begin_episode(env, team, rng), 0, b""
    while not stop.is_set():
        if done % setting.pull_every == 0:
            with wall("pull"), cpu("pull"):
                parameters.send_bytes(b"?")
                message = parameters.recv_bytes()
            with wall("deserialise"), cpu("deserialise"):
                weights = QuantisedWeights.from_bytes(message)
            with wall("load"), cpu("load"):
                actors.load(weights)
        with wall("step"), cpu("step"):
            step = play_step(env, team, actors.act(observations), observations)
            observations = step.following
            if not env.agents:
                observations = begin_episode(env, team, rng)
        with wall("push"), cpu("push"):
            for folded in actors.fold(0, step):
                while not stop.is_set():
                    try:
                        steps.put(as_bytes(folded), timeout=0.2)
                        break
                    except queue.Full:
                        continue
        done += 1
        if done % REPORTED == 0:
            told.put(breakdown(number, done, len(message), wall, cpu))
            wall, cpu = Stopwatch(), Stopwatch(time.process_time)
    told.put({"actor": number, "done": done, "cpu_s": time.process_time()})
    steps.cancel_join_thread()


def breakdown(number: int, done: int, size: int, wall: Stopwatch, cpu: Stopwatch) -> dict[str, Any]:
    """Where the time since the last one went."""
    seconds = {f"{phase}_s": wall.seconds.get((phase,), 0.0) for phase in PHASES}
    busy = {f"{phase}_cpu_s": cpu.seconds.get((phase,), 0.0) for phase in PHASES}
    return {"actor": number, "steps": done, "message_bytes": size, **seconds, **busy}


def quantise_on(setting: Setting, source: Connection, actors: list[Connection], told: Any) -> None:
    """The quantiser: it turns the learner's messages into those of few bits, and hands them to who asks."""
    torch.set_num_threads(1)
    message, waiting, made, spent = b"", [], 0, 0.0
    while True:
        for ready in wait([source, *actors]):
            if ready is source:
                whole = source.recv_bytes()
                if not whole:
                    told.put({"quantised": made, "quantising_cpu_s": spent, "cpu_s": time.process_time()})
                    return
                begun = time.process_time()
                plain = QuantisedWeights.from_bytes(whole).dequantise()
                message = quantise_weights(plain, setting.communication).to_bytes()
                made, spent = made + 1, spent + time.process_time() - begun
                source.send_bytes(b"!")
            else:
                assert isinstance(ready, Connection)
                try:
                    ready.recv_bytes()
                except EOFError:
                    actors.remove(ready)
                    continue
                waiting.append(ready)
        while message and waiting:
            waiting.pop().send_bytes(message)


def as_bytes(step: Transitions) -> bytes:
    """A step of one agent as single-precision numbers in a row."""
    columns = [getattr(step, name).ravel() for name in Transitions.__dataclass_fields__]
    return np.concatenate(columns).astype(np.float32).tobytes()


def from_bytes(row: bytes, team: Team) -> Transitions:
    """The step that `as_bytes` made a row of."""
    numbers: SingleArray = np.frombuffer(row, np.float32)
    sizes = (team.observed, team.width, 1, team.observed, 1)
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    seen, chosen, rewards, following, ended = parts
    return Transitions(seen[None], chosen[None], rewards, following[None], ended)


class Wanted:
    """What of a learner an actor has to know."""

    def __init__(self, learner: Taking) -> None:
        self.n_steps, self.gamma = learner.n_steps, learner.gamma
        self.learning_starts = learner.learning_starts


def run(setting: Setting, judge: int = 3) -> dict[str, list[dict[str, Any]]]:
    """Run it: its breakdowns, its curve, and one line on the whole."""
    torch.set_num_threads(1)
    team, rng = Team.of(environment(setting.task)), np.random.default_rng([setting.seed, 29])
    learner = learner_of(setting, team, rng)
    context = mp.get_context("spawn")
    steps, told, stop = context.Queue(BEHIND), context.Queue(), context.Event()
    mine, theirs = context.Pipe()
    ends = [context.Pipe() for _ in range(setting.actors)]
    quantiser = context.Process(target=quantise_on, args=(setting, theirs, [b for _, b in ends], told))
    crew = [
        context.Process(target=act, args=(setting, number, a, steps, told, stop, Wanted(learner)))
        for number, (a, _) in enumerate(ends)
    ]
    for process in (quantiser, *crew):
        process.start()
    send(mine, learner)
    policies: list[tuple[int, float, Policy]] = []
    first = next_step(steps, [quantiser, *crew])  # The processes have started once the first step is there.
    begun, busy = time.perf_counter(), time.process_time()
    learner.take(from_bytes(first, team))
    sent = 0
    for taken in range(2, setting.steps + 1):
        learner.take(from_bytes(next_step(steps, [quantiser, *crew]), team))
        if taken - sent >= setting.pull_every and mine.poll():
            mine.recv_bytes()
            send(mine, learner)
            sent = taken
        if taken % (setting.steps // LOOKS) == 0 and not setting.idle:
            policies.append((taken, time.perf_counter() - begun, learner.policy()))
    seconds, busy = time.perf_counter() - begun, time.process_time() - busy
    stop.set()
    said = finish(mine, steps, told, crew, quantiser)
    curve = [
        {"steps": at, "wall_s": when, "return": earned(policy, setting.task, judge)}
        for at, when, policy in policies
    ]
    acting = [line for line in said if "done" in line]
    quantising = next(line for line in said if "quantised" in line)
    whole = {
        "wall_s": seconds,
        "learner_cpu_s": busy,
        "actors_cpu_s": sum(line["cpu_s"] for line in acting),
        "quantiser_cpu_s": quantising["cpu_s"],
        "messages": quantising["quantised"],
        "steps_per_s": setting.steps / seconds,
    }
    return {"breakdown": [line for line in said if "step_s" in line], "curve": curve, "run": [whole]}


def earned(policy: Policy, task: str, episodes: int) -> float:
    """What a policy earns, without noise, on average."""
    env, rng, total = environment(task), np.random.default_rng(23), 0.0
    for _ in range(episodes):
        observations = begin_episode(env, policy.team, rng)
        while env.agents:
            step = play_step(env, policy.team, policy.act(observations), observations)
            observations, total = step.following, total + float(step.rewards[0])
    return total / episodes


def next_step(steps: Any, processes: list[Any]) -> bytes:
    """The next step that was pushed. RuntimeError where a process that it may come from has died."""
    while True:
        try:
            row: bytes = steps.get(timeout=1.0)
            return row
        except queue.Empty:
            if any(process.exitcode is not None for process in processes):
                raise RuntimeError("an actor or the quantiser has died: see what it said above") from None


def send(connection: Connection, learner: Taking) -> None:
    """Hand the learner's policy to the quantiser."""
    connection.send_bytes(quantise_weights(named_weights(learner.actors), FULL).to_bytes())


def finish(mine: Connection, steps: Any, told: Any, crew: list[Any], quantiser: Any) -> list[dict[str, Any]]:
    """Let all come to their end: what they had to say."""
    said: list[dict[str, Any]] = []
    while sum("done" in line for line in said) < len(crew):
        try:
            said.append(told.get(timeout=0.05))
        except queue.Empty:
            while not steps.empty():
                steps.get()
            if mine.poll():
                mine.recv_bytes()
    mine.send_bytes(b"")
    while not any("quantised" in line for line in said):
        said.append(told.get())
    for process in (*crew, quantiser):
        process.join()
    return said


def main() -> None:
    """Run what was asked for, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--policy", choices=tuple(SIZES), default="small")
    for name in ("communication", "inference"):
        parser.add_argument(f"--{name}", type=int, choices=(*range(2, 9), 16, 32), default=FULL)
    parser.add_argument("--actors", type=int, choices=(1, 2, 3, 4), default=1)
    parser.add_argument("--pull-every", type=int, default=100, help="steps of an actor")
    parser.add_argument("--steps", type=int, default=20_000, help="steps of all actors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--idle", action="store_true", help="learn nothing")
    setting = Setting(**vars(parser.parse_args()))
    print(json.dumps({"setting": asdict(setting)}))
    for kind, lines in run(setting).items():
        for line in lines:
            print(json.dumps({kind: line}))


if __name__ == "__main__":
    main()
