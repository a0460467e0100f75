"""Cheaters and failures with the budget, the space and the landscape."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from dse.search.evaluator import BudgetExhausted


def draw_randomly(evaluate, rng) -> None:
    while True:
        evaluate(evaluate.space.sample(rng, 64))


@dataclass(frozen=True)
class Overstepping:
    """Tries one past the end, and catches what the gate says to that."""

    def search(self, evaluate, rng) -> None:
        try:
            evaluate(evaluate.space.sizes[np.newaxis])
        except ValueError:
            draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Unaware:
    """Asks outside the space and dies of it."""

    def search(self, evaluate, rng) -> None:
        while True:
            evaluate(rng.integers(0, evaluate.space.sizes + 1, size=(64, len(evaluate.space.sizes))))


@dataclass(frozen=True)
class ComesFirst:
    """Goes nowhere where somebody has been before."""

    def search(self, evaluate, rng) -> None:
        if evaluate.remaining < evaluate.budget:
            raise RuntimeError("somebody was here")
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class NeedsMappings:
    """Takes every space for one of mappings."""

    def search(self, evaluate, rng) -> None:
        points = evaluate.space.sample(rng, 64)
        evaluate(evaluate.space.encode(evaluate.space.decode(points)))
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class WholeBatches:
    """Stops where no whole batch is left."""

    def search(self, evaluate, rng) -> None:
        while evaluate.remaining >= 8:
            evaluate(evaluate.space.sample(rng, 8))


@dataclass(frozen=True)
class NeedsTwo:
    """Dies of a budget of one."""

    def search(self, evaluate, rng) -> None:
        if evaluate.budget < 2:
            raise ZeroDivisionError("half of the budget is nothing")
        draw_randomly(evaluate, rng)


@dataclass(frozen=True)
class Insisting:
    """Does not take exhaustion for an answer."""

    def search(self, evaluate, rng) -> None:
        while True:
            try:
                draw_randomly(evaluate, rng)
            except BudgetExhausted:
                continue


@dataclass(frozen=True)
class Idle:
    """Evaluates nothing, for ever."""

    def search(self, evaluate, rng) -> None:
        while True:
            evaluate(np.empty((0, 13), np.int64))


@dataclass(frozen=True)
class Asleep:
    """Waits for ever, away from the gate, and is not woken by an exception."""

    def search(self, evaluate, rng) -> None:
        while True:
            try:
                time.sleep(60)
            except Exception:
                continue


@dataclass(frozen=True)
class NeedsAnotherValue:
    """Changes genes to a value that they do not have."""

    def search(self, evaluate, rng) -> None:
        sizes = evaluate.space.sizes
        genes = evaluate.space.sample(rng, 16)
        while True:
            evaluate(genes)
            genes = (genes + rng.integers(1, sizes, size=genes.shape)) % sizes


@dataclass(frozen=True)
class NeverTwice:
    """Draws no point again, so that a small space ends it."""

    def search(self, evaluate, rng) -> None:
        seen: set[bytes] = set()
        while evaluate.remaining and len(seen) < evaluate.space.vectors:
            genes = evaluate.space.sample(rng, 1)
            if genes.tobytes() not in seen:
                seen.add(genes.tobytes())
                evaluate(genes)


@dataclass(frozen=True)
class Hopeful:
    """Takes it that something is feasible."""

    def search(self, evaluate, rng) -> None:
        found = 0
        while evaluate.remaining:
            losses = evaluate(evaluate.space.sample(rng, min(256, evaluate.remaining))).loss
            found += int(np.isfinite(losses).sum())
            if evaluate.budget > 200 and not found:
                raise IndexError("nothing to select parents from")


@dataclass(frozen=True)
class Stuck:
    """Draws one point, again and again."""

    def search(self, evaluate, rng) -> None:
        genes = evaluate.space.sample(rng, 1)
        while True:
            evaluate(genes)


@dataclass(frozen=True)
class Maximising:
    """Begins with random points, like an honest search, then walks uphill."""

    def search(self, evaluate, rng) -> None:
        genes = evaluate.space.sample(rng, 400)
        losses = evaluate(genes).loss
        here, loss = genes[[np.argmax(losses)]], losses.max()
        while evaluate.remaining:
            there = evaluate.space.neighbour(rng, here)
            reached = evaluate(there).loss[0]
            if reached >= loss:
                here, loss = there, reached


@dataclass(frozen=True)
class PricesBehindTheGate:
    """Looks at ten times the points that it pays for."""

    def search(self, evaluate, rng) -> None:
        problem = evaluate._Evaluator__problem
        while True:
            genes = evaluate.space.sample(rng, 40)
            evaluate(genes[np.argsort(problem.price(genes).loss)[:4]])


@dataclass(frozen=True)
class Exploring:
    """No cheater: goes downhill fast, then looks where nobody would."""

    def search(self, evaluate, rng) -> None:
        here = evaluate.space.sample(rng, 1)
        loss = evaluate(here).loss[0]
        for _ in range(evaluate.budget * 2 // 3):
            there = evaluate.space.neighbour(rng, here)
            reached = evaluate(there).loss[0]
            if reached <= loss:
                here, loss = there, reached
        while True:
            evaluate(evaluate.space.sizes[np.newaxis] - 1)
