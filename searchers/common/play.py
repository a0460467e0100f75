"""Mapping as a game that agents play over the gate: who the agents are, and what a step of theirs is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from dse.search.abilities import FIRST
from dse.support.errors import InputError, StorageError, unknown_name
from dse.support.files import make_folder
from searchers.common.refusals import refusals_as_input_errors

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep
    from learners.policy import Policy
    from searchers.environments import MappingVectorEnv

Form = Literal["one-step", "construct", "refine"]
Agents = Literal["genes", "blocks", "one"]
Actions = Literal["categorical", "gaussian", "discrete"]
Reward = Literal["1/x", "-log"]

ENDLESS = 2**62
"""Steps that no search gets to: its budget ends it."""

_KNOWN = {
    "form": get_args(Form),
    "agents": get_args(Agents),
    "actions": get_args(Actions),
    "reward": get_args(Reward),
}


@dataclass(frozen=True)
class Game:
    """The environment that a team searches in, as data: a policy is saved with the game that it is for.

    `form` is what a step is: `one-step`, all agents choose a point together; `construct`, one after the other
    sets its genes; `refine`, all move the genes of a point, episodes beginning at the best one so far. An
    agent has a gene, a block of genes that belong together, or all. Of Options of searchers.environments
    come `actions` (gaussian ones in one step alone, discrete ones for one agent with all genes), `reward` and
    `episode_steps`.
    """

    form: Form = "one-step"
    agents: Agents = "genes"
    actions: Actions = "categorical"
    reward: Reward = "-log"
    episode_steps: int | None = None

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        if self.actions == "discrete" and (self.form, self.agents) != ("one-step", "one"):
            raise InputError("discrete actions are for one agent, in the form one-step")

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Game:
        """The game that `to_dict` gave. TypeError or InputError where it is none."""
        return Game(**plain)

    def to_dict(self) -> dict[str, Any]:
        """The game as plain data."""
        return asdict(self)

    def environment(self, evaluate: Evaluator) -> ParallelEnv:
        """The game over an evaluator."""
        from searchers.environments import MappingEnv, MappingParallelEnv, Options, SequentialParallelEnv

        groups = None
        if self.agents == "blocks":
            groups = [block.genes for block in evaluate.space.blocks]
        elif self.agents == "one":
            groups = [tuple(range(len(evaluate.space.sizes)))]
        options: Options = {"evaluator": evaluate, "actions": self.actions, "reward": self.reward}
        if self.episode_steps is not None:
            options["episode_steps"] = self.episode_steps
        if self.actions == "discrete":
            from learners.team import OneAgent

            return OneAgent(MappingEnv(**options))
        if self.form == "one-step":
            return MappingParallelEnv(groups, **options)
        return SequentialParallelEnv(
            groups, self.form, "best" if self.form == "refine" else "anywhere", **options
        )

    def side_by_side(self, evaluate: Evaluator, count: int) -> MappingVectorEnv:
        """So many environments of the form one-step over an evaluator, drawn from in one call."""
        from searchers.environments import MappingVectorEnv

        return MappingVectorEnv(
            count,
            evaluator=evaluate,
            actions=self.actions,
            reward=self.reward,
            episode_steps=self.episode_steps,
        )


class Playing:
    """What searchers declare whose agents play a game: each has its own `version`, not by inheritance."""

    libraries: ClassVar[tuple[str, ...]] = ("gymnasium", "pettingzoo", "torch")
    portable: ClassVar[bool] = False
    has_policy: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def game(self) -> Game:
        """What is played."""


def version_of(searcher: Playing) -> str:
    """The version of a searcher that learns from episodes: another one where these have a time limit.

    In the first a time limit counted as an end, after which nothing is worth anything.
    """
    game = searcher.game()
    return "2" if game.form == "refine" or (game.episode_steps or 1) > 1 else FIRST


def keep_learned(keep: Keep, learned: Callable[[], Policy], game: Game) -> None:
    """Give `keep` a function that returns what is learned by then. InputError where it could not be saved."""
    from learners.plain_data import import_safetensors

    with refusals_as_input_errors():
        import_safetensors()
    keep(lambda: Learned(learned(), game))


@dataclass(frozen=True)
class Learned:
    """A policy and the game that it is for: what a searcher's `keep` is to save."""

    policy: Policy
    game: Game

    def save(self, folder: Path, about: Mapping[str, Any]) -> None:
        """See Saveable of dse.search.keeping."""
        from learners.policy import save_policy

        make_folder(folder)
        try:
            save_policy(self.policy, folder, {**about, "game": self.game.to_dict()})
        except OSError as error:
            raise StorageError(f"policy {str(folder)!r} cannot be written: {error.strerror}") from None
