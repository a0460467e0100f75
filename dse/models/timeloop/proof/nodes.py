"""Nodes of the search: some chains of every component under a pattern of orders, with their bound.

Those that a proof has left are kept as bytes.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np

from dse.models.timeloop.proof.components import Component
from dse.models.timeloop.proof.orders import EMPTY, OPEN, First, Pattern
from dse.support.arrays import AnyArray, BoolArray, FloatArray, IntArray

MOST_KEPT = 50_000
"""Chains of a node that is kept with them; each takes 16 bytes, and a proof may have thousands of nodes."""
Cut = tuple[int, IntArray]
"""Where to divide a node: a component, and of each of its chains the number of the part."""


@dataclass(frozen=True)
class Node:
    """`chains` of each component, by place; `bound` is the logarithm of a loss that none of it is below.

    `z`, `atoms` and `mixed` are where the relaxation ended. A mapping of some chains is at least as far above
    `base` as their `over` add up to, and has to be below the target, or `goal` where `base` is related to it.
    `by_steps` says where to divide it first; then comes the loop of `level`, if one is named, and `cut`.
    `depth` is how often it was divided, and `steps_said` whether the last time was by steps. `whole` says
    that its chains are all those of the pattern, but such as are of no use.

    One without any component is of several branches. Of one whose first chains are none the branch makes
    them again: see `unmade_node`.
    """

    branch: int
    pattern: Pattern
    chains: tuple[IntArray, ...]
    bound: float
    base: float
    z: FloatArray
    atoms: tuple[IntArray, ...]
    mixed: tuple[FloatArray, ...]
    over: tuple[FloatArray, ...]
    cut: Cut | None = None
    by_steps: Cut | None = None
    level: int | None = None
    goal: float | None = None
    depth: int = 0
    steps_said: bool = False
    whole: bool = False

    def room(self, target: float) -> float:
        """By how much a mapping that is better than `target` may be above `base`."""
        return (target if self.goal is None else self.goal) - self.base

    def less(self, left: Sequence[BoolArray]) -> Node:
        """The node with those chains that are left of each component."""
        return replace(
            self,
            chains=tuple(one[here] for one, here in zip(self.chains, left, strict=True)),
            over=tuple(one[here] for one, here in zip(self.over, left, strict=True)),
        )

    @property
    def held(self) -> int:
        """The chains of all components."""
        return sum(map(len, self.chains))

    @property
    def size(self) -> float:
        """How many choices of chains there are."""
        return math.prod(map(len, self.chains))


def unbounded_node(first: int) -> Node:
    """A node of several branches, from that number on, of which nothing is known."""
    return Node(first, (), (), -math.inf, -math.inf, np.empty(0), (), (), ())


def unmade_node(branch: int, pattern: Pattern = ()) -> Node:
    """A node of all chains of a branch under a pattern, none of which is there; () says nothing of it."""
    nothing, none = np.empty(0, dtype=np.int64), np.empty(0)
    return Node(branch, pattern, (nothing,), -math.inf, -math.inf, none, (nothing,), (none,), (none,))


def put_away(node: Node) -> Node:
    """A node as it is kept where it is not gone on with for now: of how its relaxation ended nothing is
    known, and many chains are made again.
    """
    if not node.chains or not len(node.chains[0]):
        return node
    if node.whole and node.held > MOST_KEPT:
        return unmade_node(node.branch, node.pattern)
    return replace(
        unmade_node(node.branch, node.pattern),
        chains=node.chains,
        over=tuple(np.zeros(len(one)) for one in node.chains),
        depth=node.depth,
        whole=node.whole,
    )


class WholeChains(NamedTuple):
    """A chain of each component (n, components), with the logarithm of the least loss that it may have."""

    chains: IntArray
    losses: FloatArray


def every_chain(node: Node) -> WholeChains:
    """All whole chains of a node, of whose losses nothing is known."""
    sides = np.meshgrid(*node.chains, indexing="ij")
    chains = np.stack([side.ravel() for side in sides], axis=1)
    return WholeChains(chains, np.full(len(chains), -math.inf))


def split_node(node: Node, components: Sequence[Component]) -> list[Node]:
    """Parts of a node's chains."""
    part, numbers = node.by_steps or node.cut or _widest(node, components)
    found = []
    for number in np.unique(numbers).tolist():
        left = [np.ones(len(places), dtype=np.bool_) for places in node.chains]
        left[part] = numbers == number
        found.append(
            replace(
                node.less(left),
                cut=None,
                by_steps=None,
                steps_said=node.by_steps is not None,
                depth=node.depth + 1,
                whole=False,
            )
        )
    return found


def _widest(node: Node, components: Sequence[Component]) -> Cut:
    """The component and what of it leaves less of one dim at one loop, where that is mixed the most."""
    best, cut = 0.0, None
    for part, (places, weights) in enumerate(zip(node.atoms, node.mixed, strict=True)):
        heavy = weights > 1e-6
        if heavy.sum() < 2:
            continue
        values = np.log(components[part].lengths[places[heavy]])
        share = weights[heavy] / weights[heavy].sum()
        mean = share @ values
        spread = share @ (values - mean) ** 2
        column = int(spread.argmax())
        if spread[column] > best:
            best, cut = float(spread[column]), (part, column, float(mean[column]))
    part, column, value = cut or _halves(node, components)
    return part, (np.log(components[part].lengths[node.chains[part], column]) > value).astype(np.int64)


def _halves(node: Node, components: Sequence[Component]) -> tuple[int, int, float]:
    """Where to split the component with the most chains, if no mixture says where."""
    part = int(np.argmax([len(places) for places in node.chains]))
    values = np.log(components[part].lengths[node.chains[part]])
    column = int(values.std(axis=0).argmax())
    return part, column, float((values[:, column].min() + values[:, column].max()) / 2)


def choices_within(over: Sequence[FloatArray], room: float) -> float:
    """About how many choices there are of one number of each, for a sum of at most `room`; no fewer."""
    bins = 256
    ways = np.zeros(bins + 1)
    ways[0] = 1.0
    for one in over:
        # Rounded down: a choice is rather counted than not.
        where = np.minimum(np.floor(one / max(room, 1e-12) * bins).astype(np.int64), bins)
        ways = np.convolve(ways, np.bincount(where, minlength=bins + 1))[: bins + 1]
    return float(ways.sum())


def pack_nodes(nodes: AnyArray, bounds: FloatArray) -> bytes:
    """Branch, pattern and chains of nodes, and their bounds; where their relaxations ended is found again."""
    about = [
        (node.branch, [list(choice) if isinstance(choice, First) else choice for choice in node.pattern])
        for node in nodes
    ]
    parts = [chains for node in nodes for chains in node.chains]
    file = io.BytesIO()
    np.savez_compressed(
        file,
        about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
        bounds=bounds,
        counts=np.array([len(node.chains) for node in nodes], dtype=np.int32),
        lengths=np.array([len(part) for part in parts], dtype=np.int32),
        chains=np.concatenate([*parts, np.empty(0)]).astype(np.int32),
    )
    return file.getvalue()


def unpack_nodes(data: bytes) -> tuple[list[Node], FloatArray]:
    """The nodes that `pack_nodes` wrote, and their bounds; none where it was not `pack_nodes` that did."""
    try:
        with np.load(io.BytesIO(data)) as file:
            about = json.loads(file["about"].tobytes())
            bounds, lengths, counts = file["bounds"], file["lengths"], file["counts"]
            parts = np.split(file["chains"].astype(np.int64), np.cumsum(lengths)[:-1])
    except (OSError, ValueError, KeyError, BadZipFile):
        return [], np.empty(0)
    found = []
    for (branch, pattern), count in zip(about, counts.tolist(), strict=True):
        chains, parts = tuple(parts[:count]), parts[count:]
        if not count:
            found.append(unbounded_node(branch))
            continue
        choices = (one if one in (OPEN, EMPTY) else First(tuple(one[0]), bool(one[1])) for one in pattern)
        node = unmade_node(branch, tuple(choices))
        over = tuple(np.zeros(len(part)) for part in chains)
        found.append(replace(node, chains=chains, over=over))
    return found, bounds
