"""A searcher that could price by itself, in a module of its own: the whole file is at fault."""

from __future__ import annotations

from dataclasses import dataclass

from dse.core.cost_models import DEFAULT_COST_MODEL


@dataclass(frozen=True)
class KnowsTheModel:
    def search(self, evaluate, rng) -> None:
        assert DEFAULT_COST_MODEL
        while True:
            evaluate(evaluate.space.sample(rng, 64))
