"""Genes of a layer's mappings that serve all its parts: each part reads them by the genes that it has.

They are those of the whole product: of every gene a part has as many values or fewer, and reads value `g` of
`n` as value `g * m // n` of its own `m`, as tiles inside of others are read everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.support.arrays import IntArray


@dataclass(frozen=True)
class Member:
    """The genes of the layer at `place`, from `start` on: of what it is run as by itself or in parts, or of
    the parts that go on with sums (`again`). `whole` is the problem that they are of.
    """

    name: str
    place: int
    again: bool
    shared: bool
    """Whether parts read them."""
    alone: bool
    """Whether the layer by itself does."""
    whole: AnyProblem
    start: int = 0

    @cached_property
    def slice(self) -> slice:
        """Where its genes are."""
        return slice(self.start, self.start + len(self.whole.space.genes))

    def reading(self, problem: AnyProblem) -> Reading:
        """How a part of this problem reads them."""
        return Reading(self, problem)


@dataclass(frozen=True)
class Reading:
    """How a part reads a member's genes: `space` is that of its mappings, with no limit of the home."""

    member: Member
    problem: AnyProblem

    @property
    def space(self) -> Any:
        """The mappings of the part."""
        return self.problem.space

    @cached_property
    def _columns(self) -> IntArray:
        names = [gene.name for gene in self.member.whole.space.genes]
        # A space without a choice has one gene of one value, which may be nobody else's.
        return np.array([names.index(one.name) if one.name in names else -1 for one in self.space.genes])

    @cached_property
    def _sizes(self) -> tuple[IntArray, IntArray]:
        of_all = np.array([*self.member.whole.space.sizes, 1])[self._columns]
        own = np.array(self.space.sizes)
        assert (own <= of_all).all()
        return own, of_all

    def own(self, genes: IntArray) -> IntArray:
        """The part's vectors (n, genes) that a member's stand for."""
        own, of_all = self._sizes
        padded = np.hstack([genes, np.zeros((len(genes), 1), dtype=np.int64)])
        found: IntArray = padded[:, self._columns] * own // of_all
        return found

    def member_genes(self, own: IntArray) -> IntArray:
        """The smallest vectors of the member that stand for a part's vectors."""
        sizes, of_all = self._sizes
        found = np.zeros((len(own), len(self.member.whole.space.genes) + 1), dtype=np.int64)
        found[:, self._columns] = -(-own * of_all // sizes)
        return found[:, :-1]

    def canonical(self, genes: IntArray) -> IntArray:
        """The smallest vectors of the member with the same mappings of the part."""
        return self.member_genes(self.space.canonical(self.own(genes)))


def same_genes(one: AnyProblem, other: AnyProblem) -> bool:
    """Whether two spaces have the same genes."""
    return [(gene.name, gene.size) for gene in one.space.genes] == [
        (gene.name, gene.size) for gene in other.space.genes
    ]


def members_of(
    layers: tuple[Layer, ...],
    problems: tuple[AnyProblem, ...],
    products: dict[int, AnyProblem],
    second: set[int],
    start: int,
) -> tuple[Member, ...]:
    """The members of a chain: each layer's own genes, and those of its parts.

    `problems` are the layers', `products` those of the layers that may be run in parts, as products; `second`
    are the places of layers that may go on with sums.
    """
    found: list[Member] = []

    def add(kind: str, place: int, whole: AnyProblem, **uses: bool) -> None:
        at = found[-1].slice.stop if found else start
        given = {"again": False, "shared": False, "alone": False} | uses
        found.append(Member(f"{layers[place].name}{kind}", place, whole=whole, start=at, **given))

    for place, problem in enumerate(problems):
        product = products.get(place)
        both = product is not None and same_genes(problem, product)
        add("", place, problem, alone=True, shared=both)
        if product is not None and not both:
            add(".part", place, product, shared=True)
        if product is not None and place in second:
            add(".again", place, product, again=True)
    return tuple(found)
