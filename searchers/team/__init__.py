"""Our own mapper: teams of agents, one agent a block of the mapping, that respond to one learned critic.

Each agent has a block of genes (a dim's tiles, a level's loop order, the parallel dims, the cluster size)
and, with those of the others held, would set it to the value that the critic likes best; the agent that gains
most moves, and the others respond to that. Some teams do so at a time, from the best sample and from good
ones with a few blocks perturbed, and what is evaluated of their proposals is selected by expected improvement
times the chance to fit. A search repeats (see `Search` in search.py):

- `ask`: fit the critic, start teams, let their agents respond, select a batch;
- `tell`: calibrate the critic by what was evaluated.

The critic predicts each factor of the objective and each buffer's need, and learns from samples that did not
fit too. It works on what the loops of a mapping imply (turns, reuse, footprints, traffic): a sum of such
counts with learned weights, and a Gaussian process around it with an ARD length scale for each kind of them.
Before there are samples the weights are what an architect expects (see expectations.py): buffers that hold
every tile twice, the time of double buffers, published relative energies. So the first samples, after the
dataflow templates, are its choice; as long as they are few, teams go on until they are at rest, and more of
them begin where the critic likes it best of random points.

How far it errs beyond the deviations that it states is observed, and these are calibrated by it. It learns
from the samples of its own descent, and from some of the best of earlier ones: a descent that no longer
improves gives way to another, from new random points, whose critic is mistaken elsewhere. What earlier
descents have evaluated is remembered at no cost.

The spatial mapping (the parallel dims and the cluster size) decides how good a mapping can become, and wide
descents may never come by the best one, as it is good with few tiles and orders only. So after the first
three descents half of the samples go to restricted searches: short descents that keep a spatial mapping of
their own, and end early where they lag behind the best. Which spatial mapping is next, a Gaussian process of
what is known of the others says.

Of mappings onto any number of levels the critic learns from tiles, reuse and words moved at every level, and
there are no restricted searches. In a space whose designs are not mappings the critic learns from the
features that the space has for surrogates, with a length scale for each and without sums, and predicts the
objective as a whole; there are no restricted searches. All else stays the same.

Departures from the usual scheme of centralised training and decentralised execution (Lowe et al.,
"Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments", NeurIPS 2017): there is no policy
network, each agent's policy being its best response; and the critic is no network but a Gaussian process,
which at these sample sizes predicts better. `policy = "uniform"` is the control in which all choose
uniformly, as often.

Defaults were chosen on the problems of results/campaigns/devhard.toml, those for few samples on those of
experiments/tuning/varied.py: see results/tuning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dse.support.errors import unknown
from dse.support.validation import INT64_MAX, positive_number, whole_number
from searchers.common.settings import MOST_DATA, MOST_POINTS, MOST_REPEATS, probability

if TYPE_CHECKING:
    import numpy as np

    from dse.core.space import Space
    from dse.search.evaluator import Evaluator
    from searchers.team.features import Features
    from searchers.team.training import Lessons

POLICIES = ("critic", "uniform")
BEGINNINGS = ("templates", "random")


@dataclass(frozen=True)
class Team:
    """Agents, each with some of the genes, that respond to a learned critic, in descents."""

    begin: str = "templates"
    """`templates`: the first samples are the dataflow templates, or else what it is given; or `random`."""
    expects: bool = True
    """Whether the critic begins with what an architect expects of mappings onto a two-level machine."""
    informed_start: int = 3
    """Points that the first descent begins with where something is expected: if templates are fewer, and
    nothing else is known, the others are random."""
    start: int = 20
    """Random points that the first descent begins with where nothing is."""
    memory: int = 250
    """Samples that the critic learns from at most."""
    teams: int = 4
    """Teams that propose at a time: one begins at the best sample, the others at good ones, perturbed."""
    moves: int = 2
    """Moves of a team, each by the agent that gains most, before proposals are compared."""
    values: int = 40
    """Values of its block that an agent weighs at most."""
    ranks: float = 3.0
    """The mean rank of the samples at which teams begin."""
    kick: int = 3
    """Blocks set at random where a team begins from a perturbed sample: one to so many."""
    batch: float = 0.03
    """Size of a batch, as a part of the samples of the descent; at least one."""
    late_batch: float = 0.004
    """Likewise, as a part of all samples so far: it bounds the time of a large budget."""
    most: int = 32
    """Size of a batch, at most."""
    curiosity: float = 3.0
    """By what the critic's calibrated deviations are multiplied for the expected improvement: exploration."""
    early_curiosity: float = 1.0
    """The same where something is expected, but for restricted searches; it grows while nothing improves."""
    early_moves: int = 8
    """Moves of a team as long as a descent has few samples, where something is expected."""
    scouts: int = 3
    """More teams then, which begin where the critic likes it best of random points."""
    patience: int = 80
    """Samples without improvement that end a descent, if they are also the `share` of it."""
    share: float = 0.5
    """Of a descent's samples, how many must have been without improvement for it to end."""
    later_start: int = 8
    """Random points that the descents after the first begin with."""
    lent: int = 60
    """Samples that a critic borrows from other descents, of each spatial mapping the best first."""
    surveys: float = 0.5
    """Part of the samples, after the first three descents, that goes to restricted searches: descents that
    keep the parallel dims and the cluster size with which they began."""
    survey_start: int = 6
    """Random points that a restricted search begins with."""
    survey_teams: int = 2
    """Teams that propose at a time in a restricted search."""
    survey_batch: int = 2
    """Size of a batch in a restricted search, at least."""
    survey_patience: int = 30
    """Like `patience`, for a restricted search."""
    grace: int = 8
    """Samples after which a restricted search may end for being behind."""
    lag: float = 12.0
    """It does when log2 of its best over the best of all, times its samples beyond the grace, is more."""
    policy: str = "critic"
    """`critic`, or the control: `uniform` has every agent and the batch choose uniformly, as often."""

    random_start: ClassVar[dict[str, Any]] = {"begin": "random", "expects": False}

    def __post_init__(self) -> None:
        for name, least, most in (
            ("start", 2, MOST_POINTS), ("informed_start", 1, MOST_POINTS), ("early_moves", 1, MOST_REPEATS),
            ("scouts", 0, MOST_POINTS), ("memory", 10, MOST_DATA), ("teams", 1, MOST_POINTS),
            ("moves", 1, MOST_REPEATS), ("values", 2, MOST_POINTS), ("kick", 1, MOST_REPEATS),
            ("most", 1, MOST_POINTS), ("patience", 1, INT64_MAX), ("later_start", 1, MOST_POINTS),
            ("survey_start", 1, MOST_POINTS), ("survey_teams", 1, MOST_POINTS),
            ("survey_batch", 1, MOST_POINTS), ("survey_patience", 1, INT64_MAX),
            ("lent", 0, MOST_DATA), ("grace", 0, INT64_MAX),
        ):  # fmt: skip
            whole_number(getattr(self, name), name, least=least, most=most)
        for name in ("ranks", "batch", "late_batch", "curiosity", "early_curiosity", "share", "lag"):
            positive_number(getattr(self, name), name)
        probability(self.surveys, "surveys")
        if self.policy not in POLICIES:
            raise unknown("policy", self.policy, POLICIES)
        if self.begin not in BEGINNINGS:
            raise unknown("begin", self.begin, BEGINNINGS)

    def begins(self, space: Space) -> str:
        """With what it begins in a space, in words."""
        from searchers.team.features import two_level_structure

        informed = self.expects and two_level_structure(space) is not None
        return f"{self.begin}, expectations" if informed else "random"

    def features(self, space: Space) -> Features:
        """What the critic sees of the designs of a space."""
        from searchers.team.features import features_of

        return features_of(space)

    def elsewhere(self, space: Space, describe: Features, factors: tuple[str, ...]) -> Lessons | None:
        """What was learned before the search, by other ones, of the objective's factors and of the needs."""
        return None

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask, evaluate and tell until the budget is spent."""
        from searchers.team.search import Search

        search = Search(self, evaluate.space, evaluate.objective, rng)
        search.begin(evaluate.known)
        while evaluate.remaining:
            batch = search.ask()
            search.tell(batch, evaluate(batch.genes))
