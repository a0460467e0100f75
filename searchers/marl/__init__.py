"""The multi-agent mapper: small agents that share a reward, each with a few genes of the mapping to choose.

Krishnan, Jabbour, Zhang et al., "Multi-Agent Reinforcement Learning for Sample-Efficient Deep Neural Network
Mapping" (2025, arXiv:2507.16249). As there: PPO agents that learn apart from each other, an observation of
latency, power, energy and area, one agent for each gene or for each cluster of genes by Algorithm 1. Where it
departs:

- Policies are categorical, with a head for each gene, over the values that the gene has. The public
  environment acts by Gaussians that are rounded: `actions="gaussian"`.
- Episodes are one step long and there is no critic: the mean of a batch is its baseline.
- The reward is a point's rank in its batch, so that it has the same scale for all layers and objectives, and
  infeasible points tell the agents which way feasible ones lie.
- Mappings that were drawn before are drawn again, and agents that are stale start afresh.

Defaults were chosen among about 25 settings on the problems of results/campaigns/dev8.toml, where the median
best loss of 8 seeds is 1.59, 1.16, 1.08 and 1.012 times the best known at 500, 2,000, 5,000, 20,000 samples.
The reward mattered most: at 500 samples `rank` and `-log` came to 1.81 and 1.87 where `elite` came to 1.52.
Without restarts it ends at 1.21. Six agents come to 2.22, 1.25, 1.09 and 1.012: their dataset is charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from dse.search.abilities import FIRST, abilities_of, added
from dse.search.evaluator import BudgetExhausted
from dse.search.gene_groups import LINKAGES, cluster_genes, cluster_genes_at, gene_correlations
from dse.search.searcher import make_searcher, searchers
from dse.support.arrays import IntArray
from dse.support.errors import InputError, unknown_name
from dse.support.validation import positive_number, whole_number
from searchers.common.sub_budget import SubBudget
from searchers.common.visited import Visited
from searchers.marl.assignment import NAMED, named_groups, read_groups
from searchers.marl.ppo import Learning, learn_to_end

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator


_GROUPED = "2"
"""The version of searches with a dataset: genes without a choice count for no agent, the best points are a
share of the feasible ones. Without a dataset samples have never changed."""


@dataclass(frozen=True)
class MARL(Learning):
    """One agent a gene, or `agents` of them, which hold the genes that Algorithm 1 deals them."""

    agents: int = 0
    """How many agents there are, each with a gene that has a choice; 0: as many as genes."""
    linkage: str = added("average")
    """How Algorithm 1 clusters: `average`, by 1 - |r|; or `ward`, by its rows, whose distances are of the
    size of the paper's thresholds."""
    threshold: float = added(0.0)
    """The distance below which clusters are merged, and so how many agents there are; 0: `agents` says it."""
    warmup: str = "random"
    """The searcher that draws the dataset for Algorithm 1; one agent, or one a gene, needs none."""
    warmup_samples: int = 1000
    """Samples in the dataset, charged to the budget; if it is smaller, the dataset is all of it."""
    groups: str | tuple[tuple[str, ...], ...] = ()
    """The genes of each agent, by name, known beforehand: then there is no dataset. Or `k+c`: K's and C's
    tiles share an agent and each other gene has its own; or `k+c|rest`: all others share one too (Fig. 6)."""
    samples_elsewhere: int = 0
    """Samples that were drawn elsewhere to find `groups`: not charged here, and so declared."""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.agents, "agents", least=0)
        whole_number(self.warmup_samples, "warmup_samples", least=2)
        whole_number(self.samples_elsewhere, "samples_elsewhere", least=0)
        if self.linkage not in LINKAGES:
            raise unknown_name("linkage", self.linkage, LINKAGES)
        if self.threshold:
            positive_number(self.threshold, "threshold")
        if self.threshold and (self.agents or self.groups):
            given = "agents" if self.agents else "groups"
            raise InputError(f"threshold {self.threshold} says how many agents there are; leave {given} out")
        if self.warmup not in searchers():
            raise unknown_name("searcher", self.warmup, searchers(), "warmup")
        if not self.groups:
            if self.samples_elsewhere:
                raise InputError("samples_elsewhere are those that groups were found with; groups is empty")
            return
        if isinstance(self.groups, str):
            if self.groups not in NAMED:
                raise unknown_name("groups", self.groups, NAMED)
            if self.agents:
                raise InputError(f"groups {self.groups!r} say how many agents there are; leave agents out")
            return
        # Whether the space has these genes, and no others, is known once there is one.
        read_groups(self.groups)
        if self.agents not in (0, len(self.groups)):
            raise InputError(
                f"agents must be 0 or {len(self.groups)}, the number of groups, got {self.agents}"
            )

    @property
    def libraries(self) -> tuple[str, ...]:
        """The distributions that the samples depend on: for a dataset, who clusters, and its searcher's."""
        if not self._needs_dataset:
            return ()
        return ("scikit-learn", "scipy", *abilities_of(make_searcher(self.warmup)).libraries)

    @property
    def version(self) -> str:
        """Its own, and that of the searcher that draws its dataset where that one's samples have changed."""
        if not self._needs_dataset:
            return FIRST
        drawn = abilities_of(make_searcher(self.warmup)).version
        return _GROUPED if drawn in ("", FIRST) else f"{_GROUPED}, {self.warmup} {drawn}"

    @property
    def _needs_dataset(self) -> bool:
        """Whether Algorithm 1 is to deal the genes, unless there turn out to be as many as agents."""
        return bool(self.threshold) or (not self.groups and self.agents not in (0, 1))

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Deal the genes to agents and let these learn until the budget is spent."""
        visited = Visited(evaluate.space)
        learn_to_end(evaluate, rng, self, self._deal(evaluate, rng, visited), visited)

    def _deal(self, evaluate: Evaluator, rng: np.random.Generator, visited: Visited) -> IntArray:
        """The agent of each gene: (genes,)."""
        genes = evaluate.space.genes
        names = [gene.name for gene in genes]
        if isinstance(self.groups, str) and self.groups:
            return named_groups(self.groups, genes)
        if self.groups:
            return read_groups(self.groups, names)
        if not self._needs_dataset:
            return np.zeros(len(genes), np.int64) if self.agents == 1 else np.arange(len(genes))
        chosen = np.flatnonzero(evaluate.space.sizes > 1)
        if self.agents > len(chosen):
            most = f"at most {len(chosen)}, the number of genes with a choice"
            raise InputError(f"agents must be {most}, got {self.agents}")
        # A gene without a choice changes nothing, whoever holds it.
        agent_of = np.zeros(len(genes), np.int64)
        agent_of[chosen] = self._cluster(evaluate, rng, visited, chosen)
        return agent_of

    def _cluster(
        self, evaluate: Evaluator, rng: np.random.Generator, visited: Visited, chosen: IntArray
    ) -> IntArray:
        """The agents of the genes that have a choice, by Algorithm 1: (chosen,)."""
        if self.agents == len(chosen) or len(chosen) < 2:
            return np.arange(len(chosen))
        dataset = self._dataset(evaluate, rng)
        visited.renew(dataset.genes, lambda _, known: known, tries=0)
        matrix = gene_correlations(dataset.genes, dataset.losses)[np.ix_(chosen, chosen)]
        if self.threshold:
            return cluster_genes_at(matrix, self.threshold, self.linkage)
        return cluster_genes(matrix, self.agents, self.linkage)

    def _dataset(self, evaluate: Evaluator, rng: np.random.Generator) -> SubBudget:
        """The points that the warm-up searcher draws."""
        dataset = SubBudget(evaluate, self.warmup_samples)
        try:
            # A sub-budget has all that a searcher sees of an evaluator.
            make_searcher(self.warmup).search(cast("Evaluator", dataset), rng)
        except BudgetExhausted:
            if dataset.remaining:
                raise
        if dataset.remaining:
            raise RuntimeError(
                f"warmup {self.warmup!r} stopped with {dataset.remaining} of {dataset.budget} samples left"
            )
        return dataset
