"""The agents, one for each block of a design: each would set its block to what the critic likes best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dse.core.space import Block
from dse.support.arrays import FloatArray, IntArray
from searchers.common.choices import Choices

Judge = Callable[[IntArray], FloatArray]
"""What agents go by: for vectors (n, genes) a number each, the less the better."""


@dataclass(frozen=True)
class Candidates:
    """What teams of agents have considered: vectors (n, genes), what the judge said, and of which team."""

    genes: IntArray
    judged: FloatArray
    team: IntArray

    def best(self, team: int, count: int) -> IntArray:
        """The vectors of a team that are judged best, best first: (m, genes), m at most `count`."""
        rows = np.flatnonzero(self.team == team)
        best: IntArray = self.genes[rows[np.argsort(self.judged[rows], kind="stable")[:count]]]
        return best


class Agents:
    """An agent for each block that has a choice."""

    def __init__(self, choices: Choices, values: int, rng: np.random.Generator) -> None:
        """`values` is how many values of its block an agent weighs at most."""
        self._choices = choices
        self._values = values
        self._rng = rng

    def perturbed(self, vector: IntArray, most: int, blocks: tuple[Block, ...]) -> IntArray:
        """The vector (genes,) with one to `most` of the blocks set at random."""
        count = int(self._rng.integers(1, most + 1))
        for index in self._rng.permutation(len(blocks))[:count].tolist():
            vector = self._choices.drawn(blocks[index], vector, self._rng, 1)[0]
        return vector

    def respond(self, teams: IntArray, moves: int, judge: Judge, blocks: tuple[Block, ...]) -> Candidates:
        """Teams begin at the vectors (t, genes); in each of so many moves all agents weigh their values.

        What is liked best, of all agents of a team, is what the team does next: the agent whose response
        gains most moves, and the others respond to that.
        """
        here, value, active = teams.copy(), judge(teams), np.arange(len(teams))
        genes, judged, owners = [teams], [value.copy()], [active]
        for _ in range(moves):
            if not len(active):
                break
            offers, owner = self._choices.changes(here[active], self._rng, self._values, blocks)
            if not len(offers):
                break
            liked, owner = judge(offers), active[owner]
            genes.append(offers)
            judged.append(liked)
            owners.append(owner)
            order = np.lexsort((liked, owner))
            best = order[np.searchsorted(owner[order], active)]
            gains = liked[best] < value[active]
            # A team that has come to rest would be offered much the same again.
            active, best = active[gains], best[gains]
            here[active], value[active] = offers[best], liked[best]
        return Candidates(np.concatenate(genes), np.concatenate(judged), np.concatenate(owners))
