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
every tile twice, the time of double buffers, published relative energies; or what MAESTRO counts, if the
first samples say so. So the first samples, after the
dataflow templates, are its choice; as long as they are few, teams go on until they are at rest, and more of
them begin where the critic likes it best of random points.

How far it errs beyond the deviations that it states is observed, and these are calibrated by it. It learns
from the samples of its own local search, and from some of the best of earlier ones: a local search that no
longer improves gives way to another, from new random points, whose critic is mistaken elsewhere. What earlier
local searches have evaluated is remembered at no cost.

The spatial mapping (the parallel dims and the cluster size) decides how good a mapping can become, and wide
local searches may never come by the best one, as it is good with few tiles and orders only. So after the
first three local searches half of the samples go to restricted searches: short local searches that keep a
spatial mapping of their own, and end early where they lag behind the best. Which spatial mapping is next, a
Gaussian process of what is known of the others says.

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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dse.support.errors import unknown_name
from dse.support.validation import INT64_MAX, positive_number, whole_number
from searchers.common.settings import MAX_DATA, MAX_POINTS, MAX_REPEATS, check_probability

if TYPE_CHECKING:
    import numpy as np

    from dse.core.space import Space
    from dse.search.evaluator import Evaluator
    from searchers.team.features import Features
    from searchers.team.training import TrainingSet

POLICIES = ("critic", "uniform")
INITIAL_DESIGNS = ("templates", "random")
_WHOLE = {
    "n_startup_trials": (2, MAX_POINTS),
    "n_informed_startup_trials": (1, MAX_POINTS),
    "n_restart_trials": (1, MAX_POINTS),
    "n_restricted_startup_trials": (1, MAX_POINTS),
    "max_training_samples": (10, MAX_DATA),
    "borrowed_samples": (0, MAX_DATA),
    "n_teams": (1, MAX_POINTS),
    "extra_teams": (0, MAX_POINTS),
    "restricted_teams": (1, MAX_POINTS),
    "moves": (1, MAX_REPEATS),
    "early_moves": (1, MAX_REPEATS),
    "max_candidates": (2, MAX_POINTS),
    "perturbation": (1, MAX_REPEATS),
    "max_batch_size": (1, MAX_POINTS),
    "restricted_batch_size": (1, MAX_POINTS),
    "patience": (1, INT64_MAX),
    "restricted_patience": (1, INT64_MAX),
    "restricted_grace_period": (0, INT64_MAX),
}
"""The least and the greatest of the settings that are whole numbers."""
_POSITIVE = (
    *("mean_start_rank", "batch_fraction", "late_batch_fraction", "exploration", "early_exploration"),
    *("patience_fraction", "restricted_max_lag"),
)


@dataclass(frozen=True)
class Team:
    """Agents, each with some of the genes, that respond to a learned critic, in local searches."""

    initial_design: str = "templates"
    """`templates`: the first samples are the dataflow templates, or else what it is given; or `random`."""
    expert_prior: bool = True
    """Whether the critic begins with what an architect expects of mappings onto a two-level machine."""
    n_informed_startup_trials: int = 3
    """Points that the first local search begins with where something is expected: if templates are fewer, and
    nothing else is known, the others are random."""
    n_startup_trials: int = 20
    """Random points that the first local search begins with where nothing is."""
    max_training_samples: int = 250
    """Samples that the critic learns from at most."""
    n_teams: int = 4
    """Teams that propose at a time: one begins at the best sample, the others at good ones, perturbed."""
    moves: int = 2
    """Moves of a team, each by the agent that gains most, before proposals are compared."""
    max_candidates: int = 40
    """Values of its block that an agent weighs at most."""
    mean_start_rank: float = 3.0
    """The mean rank of the samples at which teams begin."""
    perturbation: int = 3
    """Blocks set at random where a team begins from a perturbed sample: one to so many."""
    batch_fraction: float = 0.03
    """Size of a batch, as a part of the samples of the local search; at least one."""
    late_batch_fraction: float = 0.004
    """Likewise, as a part of all samples so far: it bounds the time of a large budget."""
    max_batch_size: int = 32
    """Size of a batch, at most."""
    exploration: float = 3.0
    """By what the critic's calibrated deviations are multiplied for the expected improvement."""
    early_exploration: float = 1.0
    """The same where something is expected, but for restricted searches; it grows while nothing improves."""
    early_moves: int = 8
    """Moves of a team as long as a local search has few samples, where something is expected."""
    extra_teams: int = 3
    """More teams then, which begin where the critic likes it best of random points."""
    patience: int = 80
    """Samples without improvement that end a local search, if they are also that fraction of it."""
    patience_fraction: float = 0.5
    """Of a local search's samples, the part that must have been without improvement for it to end."""
    n_restart_trials: int = 8
    """Random points that the local searches after the first begin with."""
    borrowed_samples: int = 60
    """Samples that a critic borrows from other local searches, of each spatial mapping the best first."""
    restricted_fraction: float = 0.5
    """Part of the samples, after the first three local searches, that goes to restricted searches: local
    searches that keep the parallel dims and the cluster size with which they began."""
    n_restricted_startup_trials: int = 6
    """Random points that a restricted search begins with."""
    restricted_teams: int = 2
    """Teams that propose at a time in a restricted search."""
    restricted_batch_size: int = 2
    """Size of a batch in a restricted search, at least."""
    restricted_patience: int = 30
    """Like `patience`, for a restricted search."""
    restricted_grace_period: int = 8
    """Samples after which a restricted search may end for being behind."""
    restricted_max_lag: float = 12.0
    """It does when log2 of its best over the best of all, times its samples beyond the grace, is more."""
    policy: str = "critic"
    """`critic`, or the control: `uniform` has every agent and the batch choose uniformly, as often."""

    aliases: ClassVar[Mapping[str, str]] = {
        "begin": "initial_design",
        "expects": "expert_prior",
        "informed_start": "n_informed_startup_trials",
        "start": "n_startup_trials",
        "memory": "max_training_samples",
        "teams": "n_teams",
        "values": "max_candidates",
        "ranks": "mean_start_rank",
        "kick": "perturbation",
        "batch": "batch_fraction",
        "late_batch": "late_batch_fraction",
        "most": "max_batch_size",
        "curiosity": "exploration",
        "early_curiosity": "early_exploration",
        "scouts": "extra_teams",
        "share": "patience_fraction",
        "later_start": "n_restart_trials",
        "lent": "borrowed_samples",
        "surveys": "restricted_fraction",
        "survey_start": "n_restricted_startup_trials",
        "survey_teams": "restricted_teams",
        "survey_batch": "restricted_batch_size",
        "survey_patience": "restricted_patience",
        "grace": "restricted_grace_period",
        "lag": "restricted_max_lag",
    }
    random_start: ClassVar[dict[str, Any]] = {"initial_design": "random", "expert_prior": False}

    def __post_init__(self) -> None:
        for name, (least, most) in _WHOLE.items():
            whole_number(getattr(self, name), name, least=least, most=most)
        for name in _POSITIVE:
            positive_number(getattr(self, name), name)
        check_probability(self.restricted_fraction, "restricted_fraction")
        if self.policy not in POLICIES:
            raise unknown_name("policy", self.policy, POLICIES)
        if self.initial_design not in INITIAL_DESIGNS:
            raise unknown_name("initial_design", self.initial_design, INITIAL_DESIGNS)

    @property
    def version(self) -> str:
        """Another one where something is expected: since there are two hypotheses."""
        return "2" if self.expert_prior else "1"

    def begins(self, space: Space) -> str:
        """With what it begins in a space, in words."""
        from searchers.team.features import two_level_structure

        informed = self.expert_prior and two_level_structure(space) is not None
        return f"{self.initial_design}, expectations" if informed else "random"

    def features(self, space: Space) -> Features:
        """What the critic sees of the designs of a space."""
        from searchers.team.features import features_of

        return features_of(space, self.expert_prior)

    def source_training_set(
        self, space: Space, describe: Features, factors: tuple[str, ...]
    ) -> TrainingSet | None:
        """What was learned before the search, by other ones, of the objective's factors and of the needs."""
        return None

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask, evaluate and tell until the budget is spent."""
        from searchers.team.search import Search

        search = Search(self, evaluate.space, evaluate.objective, rng)
        search.add_known(evaluate.known)
        while evaluate.remaining:
            batch = search.ask()
            search.tell(batch, evaluate(batch.genes))
