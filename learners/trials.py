"""What policies in few bits are worth: beside the policy that they were made of, in the same runs.

A trial knows what a policy is for. It measures one in a number of runs, which are paired: what is drawn in a
run is the same for every policy, as far as these do the same. It teaches the policy again as well, as it was
taught, but aware of rounding.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from learners.arrays import FloatArray
from learners.errors import InputError
from learners.gymnasium_tasks import episode_returns, train_policy
from learners.policy import Policy, stored_weights
from learners.qat import Rounding
from learners.quantised import FULL, HALF, Precision
from learners.quantised_networks import executable_networks

AS_IT_IS, AWARE = "after", "in training"
"""When a policy was quantised."""

_REPEATS, _CALLS = 5, 100
_RESAMPLES = 2000


class Trial(Protocol):
    """What a policy is for."""

    @property
    def quality(self) -> str:
        """What is measured, in words."""
        ...

    def measure(self, policy: Policy) -> FloatArray:
        """How well a policy does: a number for each run."""
        ...

    def teach(self, rounding: Rounding) -> Policy:
        """The policy learned again, aware of rounding."""
        ...

    def worse(self, full: FloatArray, few: FloatArray) -> FloatArray:
        """By what share `few`, (..., runs), are worse than `full`."""
        ...


@dataclass(frozen=True)
class Tried:
    """A policy in one precision.

    `size` is the bytes of its weights, `microseconds` the time of one inference, `worse` the share by which
    it is worse than in full precision, with its 95 % interval.
    """

    precision: Precision
    quantised: str
    policy: Policy
    size: int
    microseconds: float
    runs: FloatArray
    worse: tuple[float, float, float]


def precision_of(bits: int, activations: bool = True, per_channel: bool = False) -> Precision:
    """The precision of so many bits: of weights, and of activations where these are whole numbers too."""
    whole = activations and bits < HALF
    return Precision(bits, bits if whole else FULL, per_channel and bits < HALF)


def try_all(
    policy: Policy, trial: Trial, precisions: Iterable[Precision], aware: bool = False
) -> Iterator[Tried]:
    """The policy in full precision, then in each other, and where `aware` also taught again in each."""
    full = trial.measure(policy)
    yield _tried(policy, Precision(), "", trial, full, full)
    for precision in precisions:
        few = policy.quantised(precision)
        yield _tried(few, precision, AS_IT_IS, trial, full, trial.measure(few))
        if aware:
            taught = trial.teach(Rounding(precision, on=False)).quantised(precision)
            yield _tried(taught, precision, AWARE, trial, full, trial.measure(taught))


def _tried(
    policy: Policy, precision: Precision, quantised: str, trial: Trial, full: FloatArray, runs: FloatArray
) -> Tried:
    size = sum(array.nbytes for array in stored_weights(policy.actors).values())
    worse = worse_with_interval(trial, full, runs)
    return Tried(precision, quantised, policy, size, inference_microseconds(policy), runs, worse)


def worse_with_interval(trial: Trial, full: FloatArray, few: FloatArray) -> tuple[float, float, float]:
    """By what share it is worse, with a 95 % interval: a bootstrap over runs, which are paired."""
    rows = np.random.default_rng(0).integers(len(full), size=(_RESAMPLES, len(full)))
    drawn = trial.worse(full[rows], few[rows])
    low, high = np.percentile(drawn, (2.5, 97.5)) if np.isfinite(drawn).all() else (np.nan, np.nan)
    return float(trial.worse(full, few)), float(low), float(high)


def inference_microseconds(policy: Policy) -> float:
    """Microseconds (wall time) of an inference in layers that compute in its precision: the least mean."""
    networks, rows = (
        executable_networks(policy.actors),
        torch.zeros(len(policy.team.names), 1, policy.team.observed),
    )
    means = []
    with torch.inference_mode():
        for _ in range(1 + _REPEATS):
            begun = time.perf_counter()
            for _ in range(_CALLS):
                networks(rows)
            means.append((time.perf_counter() - begun) / _CALLS)
    return 1e6 * min(means[1:])


@dataclass(frozen=True)
class GymnasiumTrial:
    """A policy for a task of Gymnasium: a run is an episode."""

    policy: Policy
    about: Mapping[str, Any]
    episodes: int

    @property
    def quality(self) -> str:
        """What is measured, in words."""
        return "mean return"

    def measure(self, policy: Policy) -> FloatArray:
        """The return of each episode."""
        return episode_returns(policy, str(self.about["task"]), self.episodes, seed=0)

    def teach(self, rounding: Rounding) -> Policy:
        """As the command that taught it wrote down."""
        try:
            task, steps, seed = str(self.about["task"]), int(self.about["samples"]), int(self.about["seed"])
            settings = dict(self.about["settings"])
        except (KeyError, TypeError, ValueError):
            raise InputError("the policy does not say how it was taught: seed, samples, settings") from None
        return train_policy(self.policy.algorithm, task, steps, seed, settings, rounding)

    def worse(self, full: FloatArray, few: FloatArray) -> FloatArray:
        """The share of the mean return that is lost; of its size where it is negative."""
        lost: FloatArray = (full.mean(-1) - few.mean(-1)) / np.abs(full.mean(-1))
        return lost
