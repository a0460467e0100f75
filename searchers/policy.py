"""A saved policy as a searcher: it draws points by what it was taught elsewhere, and learns nothing more.

`dse search --save-policy DIR` saves what a searcher that has a policy learns. It fits where the agents are
the same, with as many choices each: a policy whose actions are numbers, or moves, fits every layer. The
samples that it was taught with count as spent elsewhere. Without a folder it has learned nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.errors import InputError, shorten
from searchers.common.play import ENDLESS, Game
from searchers.common.refusals import refusals_as_input_errors
from searchers.common.torch_apart import torch_apart

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator
    from learners.policy import Policy as TeamPolicy
    from learners.policy import SavedPolicy
    from learners.team import Team


@dataclass(frozen=True)
class Policy:
    """Draws by a frozen policy. Beside where it is, a record's identity has what is in it."""

    folder: str = ""
    """Where the policy was saved, from where the search runs; empty for one that has not learned."""

    digest: str = field(init=False, default="")
    """A SHA-256 of what the folder holds."""

    samples_elsewhere: int = field(init=False, default=0)
    """The samples that it was taught with."""

    libraries: ClassVar[tuple[str, ...]] = ("gymnasium", "pettingzoo", "torch")
    portable: ClassVar[bool] = False
    random_start: ClassVar[dict[str, Any]] = {"folder": ""}

    def __post_init__(self) -> None:
        if self.folder:
            saved = self._saved()
            object.__setattr__(self, "digest", saved.digest)
            object.__setattr__(self, "samples_elsewhere", _samples(saved, self.folder))
            _game(saved, self.folder)

    def begins(self, space: Space) -> str:
        """With what it begins where it has a folder, in words."""
        return "saved policy"

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Play by the policy until the budget is spent."""
        with torch_apart(), refusals_as_input_errors():
            from learners.policy import Frozen
            from learners.team import Team
            from learners.training import learn_for_steps

            game = Game()
            if self.folder:
                saved = self._saved()
                game = _game(saved, self.folder)
            env = game.environment(evaluate)
            team = Team.of(env)
            policy = saved.policy if self.folder else _unlearned(team, rng)
            learn_for_steps(Frozen(policy).begin(team, rng), env, ENDLESS, rng)

    def _saved(self) -> SavedPolicy:
        with torch_apart(), refusals_as_input_errors():
            from learners.policy import load_policy

            saved = load_policy(Path(self.folder))
        if self.digest and saved.digest != self.digest:
            raise InputError(f"policy {self.folder!r} has changed since the search was set up")
        return saved


def _unlearned(team: Team, rng: np.random.Generator) -> TeamPolicy:
    from learners.maddpg import MADDPG

    return MADDPG(net_arch=()).begin(team, rng).policy()


def _samples(saved: SavedPolicy, folder: str) -> int:
    samples = saved.about.get("samples")
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 0:
        raise InputError(f"policy {folder!r}: samples must be how many taught it, got {shorten(samples)}")
    return samples


def _game(saved: SavedPolicy, folder: str) -> Game:
    plain: Any = saved.about.get("game")
    try:
        return Game.of(plain)
    except (TypeError, InputError) as error:
        raise InputError(
            f"policy {folder!r} is for no game of mappings: save it by dse search --save-policy ({error})"
        ) from None
