"""How far a proof is: nodes from the lowest bound on, a round of them at a time, on all cores."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, product
from os import cpu_count

import numpy as np

from dse.core.certificate import Counts
from dse.core.clock import Clock
from dse.core.objective import Objective, objective_named
from dse.domains.levels.layout import RowArray
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof.branch import Branch
from dse.models.timeloop.proof.components import components_of
from dse.models.timeloop.proof.counts import Counts as ComponentCounts
from dse.models.timeloop.proof.frontier import pack, unpack
from dse.models.timeloop.proof.nodes import Found, Node, split
from dse.models.timeloop.proof.orders import Pattern, orders_of
from dse.models.timeloop.proof.parallel import busy_components
from dse.models.timeloop.proof.room import SLACK
from dse.models.timeloop.proof.terms import unit_of_loss
from dse.models.timeloop.proof.whole import Rows
from dse.support.arrays import BoolArray

FIRST_POINTS, STEPS_DOWN, STARTS = 4096, 200, 4
ROUNDS = 24
"""Of the relaxation, for one node."""
AT_ONCE = 8
"""Nodes that are settled in a round. What they have to beat is the same for all, whatever the cores."""
MAX_LOOKED, MAX_LOOKED_TIGHT = 50_000, 1_000_000
"""Choices of factors up to which a node is enumerated. Where figures are limited most are passed over."""
LIKE = 0.005
"""Bounds of latency that are in a range of this share are alike: of these nodes the deepest comes first."""
PRICED_AT_ONCE = 256
MAX_WHOLE = 8192
"""Mappings up to which a space is priced whole: to bound parts of it takes longer."""
MAX_TIED = 200_000
"""Mappings equal to the best but for rounding, up to which each is priced: beyond, one of them is enough."""


@dataclass
class _Step:
    """What settling a node came to: its parts, mappings that may be better, and what was looked at."""

    parts: list[Node] = field(default_factory=list)
    found: list[tuple[Pattern, Found]] = field(default_factory=list)
    divided: bool = False
    ruled_out: int = 0
    looked: int = 0
    enumerated: bool = False


@dataclass
class Proof:
    """`row` is the best mapping, `loss` its loss, `left` the lowest bound that is not settled."""

    problem: MachineProblem
    loss: float = math.inf
    row: RowArray | None = None
    left: float = math.inf
    ruled_out: int = 0
    solved: int = 0
    open: int = 0
    looked: int = 0
    tied: int = 0
    may_be_whole: bool = True
    """Whether a small space is priced whole."""
    _objective: Objective = field(init=False)
    _unit: float = field(init=False)
    _branches: list[Branch] = field(init=False)
    _of_latency: bool = field(init=False)
    _queue: list[tuple[tuple[float, int], int, Node]] = field(default_factory=list)

    def __post_init__(self) -> None:
        hertz = float(self.problem.criteria.hertz)
        self._objective = objective_named(self.problem.objective)
        self._unit = unit_of_loss(self._objective, hertz)
        every = components_of(self.problem)
        # A dim of size 1 has no loops: without others it stands for all.
        looped = [one for one in every if (one.temporal * one.spatial).max() > 1] or every[:1]
        fan_outs = [level.fan_out for level in self.problem.accelerator.levels]
        busy = busy_components(looped, fan_outs, self.problem.use.least_macs)
        self._components = looped if busy is None else busy
        workload, machine = self.problem.space.workload, self.problem.accelerator
        counts = [ComponentCounts(workload, machine, component) for component in self._components]
        orders = orders_of(self.problem)
        self._branches = [
            Branch(self.problem, number, self._components, counts, orders, keep)
            for number, keep in enumerate(() if busy is None else _bypasses(self.problem))
        ]
        self._rows = Rows(self.problem, self._components, orders)
        self._places = count()
        self._of_latency = self._objective.exponents == {"latency": 1}

    def begin(self, clock: Clock) -> None:
        """Find a good mapping to begin with, if there may be any."""
        if not self._branches:
            return
        space, rng = self.problem.space, np.random.default_rng(0)
        genes = space.sample(rng, FIRST_POINTS)
        losses = self.problem.price(genes).loss
        for place in np.argsort(losses, kind="stable")[:STARTS].tolist():
            here, loss = genes[place], losses[place]
            for _ in range(STEPS_DOWN):
                if clock.over:
                    break
                near = np.concatenate([block.neighbours(here) for block in space.blocks])
                found = self.problem.price(near).loss if len(near) else np.array([math.inf])
                if found.min() >= loss:
                    break
                here, loss = near[int(found.argmin())], found.min()
            if loss < self.loss:
                self.loss, self.row = float(loss), space.decode(here[np.newaxis]).rows[0].copy()

    @property
    def is_small(self) -> bool:
        """Whether every mapping is priced, without any bounds."""
        return self.may_be_whole and self.problem.space.mappings <= MAX_WHOLE

    @property
    def target(self) -> float:
        """The logarithm of the loss that a node has to be below to be of use, in cycles, pJ or both."""
        if self.loss == math.inf:
            return math.inf
        best = self.loss / self._unit
        if self._of_latency:
            # Cycles are whole.
            return math.log(best - 1 + 1e-6) if best > 1 else -math.inf
        if best <= 0:
            return -math.inf
        return math.log(best) + (SLACK if self.tied <= MAX_TIED else -SLACK)

    def run(self, clock: Clock, unsettled: bytes = b"") -> None:
        """Settle every node, or those that the time is enough for; `unsettled` are those left before."""
        if self.is_small:
            self._price_whole()
            return
        nodes = unpack(unsettled, self._branches)
        for node in nodes:
            self._push(node)
        roots = [] if nodes else [branch.root() for branch in self._branches]
        with ThreadPoolExecutor(cpu_count() or 1) as pool:
            # Some bound is there, however short the time.
            for step in pool.map(self._settle, roots, [self.target] * len(roots)):
                self._take(step)
            advanced = not nodes
            while self._queue and self._first_bound < self.target:
                # Every run comes some way, however short its time.
                if clock.over and advanced:
                    self._stop()
                    return
                target = self.target
                first = [heapq.heappop(self._queue)[2] for _ in range(min(AT_ONCE, len(self._queue)))]
                for step in pool.map(self._settle, first, [target] * len(first)):
                    advanced |= step.divided or step.enumerated
                    self._take(step)
        self.ruled_out += len(self._queue)

    def counts(self, before: Counts | None) -> Counts:
        """What was looked at, in this run and before it."""
        ruled_out, solved, looked = self.ruled_out, self.solved, self.looked
        if before is not None:
            ruled_out, solved = ruled_out + before.bounded, solved + before.solved
            looked += before.inner_levels
        nodes = ruled_out + solved + self.open
        return Counts(nodes, 0, ruled_out, solved, self.open, looked, self.problem.space.mappings)

    def unsettled(self) -> bytes:
        """The nodes that are left, for a later run."""
        return pack([node for _, _, node in self._queue if node.bound < self.target])

    def _push(self, node: Node) -> None:
        key = (node.bound, 0)
        if self._of_latency:
            key = (np.floor(node.bound / LIKE), -node.depth)
        heapq.heappush(self._queue, (key, next(self._places), node))

    @property
    def _first_bound(self) -> float:
        """What no node that is left is below: the first one's bound, or where its range begins."""
        (bound, _), _, _ = self._queue[0]
        return bound * LIKE if self._of_latency else bound

    def _stop(self) -> None:
        """Note what is left as the time ends; nothing, if no node is below the target."""
        bounds = [node.bound for _, _, node in self._queue if node.bound < self.target]
        self.open = len(bounds)
        self.ruled_out += len(self._queue) - self.open
        if bounds:
            self.left = math.exp(min(bounds)) * self._unit

    def _take(self, step: _Step) -> None:
        """Take in what a step came to."""
        self.ruled_out += step.ruled_out
        self.solved += step.enumerated
        self.looked += step.looked
        for pattern, found in step.found:
            self._price(pattern, found)
        for part in step.parts:
            self._push(part)

    def _settle(self, node: Node, target: float) -> _Step:
        """Bound a node that has none yet; else enumerate it, or divide it and bound its parts."""
        branch, step = self._branches[node.branch], _Step()
        if node.bound >= target:
            step.ruled_out += 1
            return step
        if node.base == -math.inf:
            self._bound(branch, node, target, step)
            return step
        level = branch.undecided(node.pattern) if node.level is None else node.level
        if node.by_steps is not None:
            parts = split(node, self._components)
        elif level is not None:
            chosen = (branch.choose(node, level, choice) for choice in branch.orders.choices(level))
            parts = [
                part for part in chosen if part is not None and not branch.orders.is_second(part.pattern)
            ]
        else:
            most = MAX_LOOKED_TIGHT if branch.is_tight else MAX_LOOKED
            found, step.looked = branch.whole(node, target, most)
            if found is not None:
                step.found.append((node.pattern, found))
                step.enumerated = True
                return step
            parts = split(node, self._components)
        step.divided = True
        for part in parts:
            self._bound(branch, part, target, step)
        return step

    @staticmethod
    def _bound(branch: Branch, node: Node, target: float, step: _Step) -> None:
        """Bound a node: it is a part of the step, or ruled out."""
        new, found = branch.relaxed(node, target, ROUNDS)
        step.found.append((node.pattern, found))
        if new is None:
            step.ruled_out += 1
        else:
            step.parts.append(new)

    def _price_whole(self) -> None:
        """Price every mapping: all chains of each branch, in all orders."""
        for branch in self._branches:
            root = branch.root()
            sides = np.meshgrid(*root.chains, indexing="ij")
            chains = np.stack([side.ravel() for side in sides], axis=1)
            self._price(root.pattern, Found(branch.number, chains, np.full(len(chains), -math.inf)))
            self.solved += 1
            self.looked += len(chains)

    def _price(self, pattern: Pattern, found: Found) -> None:
        """Price whole chains in the orders of a pattern, the likeliest first."""
        ranked = np.argsort(found.losses, kind="stable")
        for start in range(0, len(ranked), PRICED_AT_ONCE):
            chosen = ranked[start : start + PRICED_AT_ONCE]
            if found.losses[chosen[0]] - SLACK >= self.target:
                return
            rows = self._rows.write(pattern, self._branches[found.branch].keep, found.chains[chosen])
            if not len(rows):
                continue
            losses = self.problem.price_rows(rows).loss
            best = int(losses.argmin())
            self.tied += int((found.losses[chosen] >= self.target - 3 * SLACK).sum())
            if losses[best] < self.loss:
                self.loss, self.row = float(losses[best]), rows[best].copy()


def _bypasses(problem: MachineProblem) -> Iterator[BoolArray]:
    """What levels keep: (levels, tensors), once for every choice that is open."""
    names = problem.space.workload.tensor_names
    levels = problem.space.levels
    open_ = [(level.place, names.index(tensor)) for level in levels for tensor in level.open]
    for choice in product((False, True), repeat=len(open_)):
        keep = np.array([[name in level.keeps for name in names] for level in levels])
        for (place, tensor), kept in zip(open_, choice, strict=True):
            keep[place, tensor] = kept
        yield keep
