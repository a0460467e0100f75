"""The contract of cost models: the list of rules, and the check of a model by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dse.core.cost_models import cost_model
from dse.domains.clustered.cost_model import CostModel
from dse.support.errors import InputError, shorten
from dse.testing.cost_models import abilities, prices
from dse.testing.cost_models.candidate import MAPPINGS, ModelCandidate
from dse.testing.verdict import ContractRule, Verdict, judge

__all__ = ["COST_MODEL_RULES", "check_cost_model", "check_cost_model_rules"]

Rule = ContractRule[ModelCandidate]

PRICED = ("never-raises", "columns")

COST_MODEL_RULES: tuple[Rule, ...] = (
    Rule("configuration", "has a name, a version and known units, and pickles", prices.configuration),
    Rule("never-raises", "raises on no mapping, however odd", prices.never_raises),
    Rule(
        "columns", "returns a row a mapping, in arrays of the right types", prices.columns, ("never-raises",)
    ),
    Rule("input-kept", "does not change the mappings that it is given", prices.input_kept, PRICED),
    Rule("deterministic", "prices the same mappings the same again", prices.deterministic, PRICED),
    Rule(
        "vectorised", "prices a batch as it prices one by one", prices.vectorised, (*PRICED, "deterministic")
    ),
    Rule("prepared", "prices the same once it is made ready", prices.prepared, (*PRICED, "deterministic")),
    Rule("threads", "prices the same on any number of threads", prices.threads, (*PRICED, "deterministic")),
    Rule("reasons", "says why it refuses a mapping, and only then", prices.reasons, PRICED),
    Rule("figures", "gives finite and positive figures of what it accepts", prices.figures, PRICED),
    Rule("accepts", "accepts ordinary mappings that do all of a layer's work", prices.accepts, PRICED),
    Rule(
        "strides",
        "prices strides and paddings as they are, if it says so",
        abilities.strides,
        (*PRICED, "accepts"),
    ),
    Rule("cases", "prices cases as it prices mappings, if it says so", abilities.cases, PRICED),
    Rule("detail", "explains figures by parts that add up, if it says so", abilities.detail, PRICED),
    Rule("constants", "depends on its constants, and can be named with them", abilities.constants, PRICED),
    Rule("rates", "takes no longer with the wider links that it declares", abilities.rates, PRICED),
    Rule("proofs", "can be certified, if it says so", abilities.proofs, (*PRICED, "accepts")),
    Rule(
        "bounds",
        "bounds boxes of mappings by no more than their prices, if it bounds them",
        abilities.bounds,
        (*PRICED, "accepts", "proofs"),
    ),
    Rule(
        "proofs-any-tiles",
        "can be certified over tiles of any size, if it says so",
        abilities.proofs_of_any_tiles,
        (*PRICED, "accepts", "proofs", "bounds"),
    ),
)


def check_cost_model_rules(
    model: CostModel | str, *, rules: Iterable[Rule] = COST_MODEL_RULES, mappings: int = MAPPINGS
) -> Iterator[Verdict]:
    """Judge a cost model, or the one in words, rule by rule, as the verdicts are reached.

    `mappings` of each kind are priced some dozen times in each of four settings. An unknown name, or what is
    no cost model, is an InputError.
    """
    subject = cost_model(model) if isinstance(model, str) else model
    if not isinstance(subject, CostModel):
        raise InputError(f"expected an object of a subclass of dse.CostModel, got {shorten(subject)}")
    return judge(tuple(rules), ModelCandidate(subject, mappings))


def check_cost_model(
    model: CostModel | str, *, rules: Iterable[Rule] = COST_MODEL_RULES, mappings: int = MAPPINGS
) -> list[Verdict]:
    """All verdicts of `check_cost_model_rules`, in the order of the rules."""
    return list(check_cost_model_rules(model, rules=rules, mappings=mappings))
