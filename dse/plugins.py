"""What packages of others import: searchers, cost models and what they are handed. All else may change.

A searcher (entry point `dse.searchers`) is a frozen dataclass with `search(evaluate, rng)`:

    Searcher, Abilities                its method, and what its class may declare
    Evaluator, Evaluations             the gate: genes (n, genes) in, arrays of length n out
    BudgetExhausted, Known             raised once the budget is spent; the samples that a search begins with
    Space, Gene, Block                 what is searched: vectors of integers, and their moves
    Structure, MappingStructure, HierarchyStructure, mappings_of, machine_mappings_of
                                       the mappings behind the vectors, for those that look at them
    AskTell, drive                     an algorithm of `ask` and `tell`, and the loop that runs it
    Keep, Saveable                     for a policy that can be saved
    Limits                             the bounds of a setting, in its annotation
    numerics                           exp, log, sums: the same bits on every CPU

A cost model (entry point `dse.cost_models`) is a subclass of CostModel with a `name` and `evaluate`:

    CostModel                          its methods, and what its class may declare
    CostBatch, Reason                  what it returns: figures (n,), and why a mapping has none
    Layer, DIMS, Accelerator           what is priced: sizes in elements, bandwidths in elements a cycle
    Mapping, Level, MappingBatch       onto what: one mapping, one of its levels, n as integers (n, 27)
    OUTER_PARALLEL, OUTER_ORDER, OUTER_TILE, CLUSTER, INNER_PARALLEL, INNER_ORDER, INNER_TILE
                                       the columns of a MappingBatch at which each begins
    Detail                             what the figures of a mapping are made of
    CaseExtras                         what cases say beside what every model prices
    ModelSettings, ModelConstants      what a user may set of a model

A cost model that can be proven names as `proof_module` a module that one call of `interval_proof` makes:

    Problem                            what is proven: its `space`, `layer`, `accelerator` and `objective`
    interval_proof                     a proof by lower bounds over intervals of tiles, and by prices
    TileBoxes, LowerBounds             such intervals; figures that no mapping of them is below
    Certifier, MappingBoxes, Boxes     what such a module has, for one that knows a faster way
    Bounded, Children, Found, Rounds   what these give

A domain (entry point `dse.domains`) is a kind of designs, made of what users name:

    Domain, AnyProblem, Hardware       how its problems are made; a problem; what designs run on
    AnyCostModel                       what all cost models declare; a domain's own adds how it prices
    Prover, Check, Claims              what it brings to proofs, and to the checks of certificates
    Timed, Other                       what `dse bench cost` times of it
    Criteria, parse_objectives         what figures are judged by; the objectives in a text
    Evaluation, Explanation            one design judged in full; why designs are not feasible
    digest                             of a problem's identity: its fingerprint

What is wrong with an input is an InputError, of one line. `dse check` and `dse check-cost-model` judge both.
"""

from __future__ import annotations

from typing import NoReturn

from dse.core.cost_model import AnyCostModel, Detail, Other, Timed
from dse.core.domains import Domain
from dse.core.evaluation import Evaluation, Explanation
from dse.core.evaluations import Criteria, Evaluations
from dse.core.figures import CostBatch
from dse.core.layer import DIMS, Layer
from dse.core.model_settings import ModelConstants, ModelSettings
from dse.core.objective import parse_objectives
from dse.core.problem import AnyProblem, Hardware
from dse.core.proofs import Check, Claims, Prover
from dse.core.reasons import Reason
from dse.core.space import Block, Gene, Space, Structure
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.bounding import LowerBounds, TileBoxes
from dse.domains.clustered.cost_model import CaseExtras, CostModel
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
    Level,
    Mapping,
    MappingBatch,
)
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import Certifier, MappingBoxes
from dse.domains.clustered.proof.intervals import interval_proof
from dse.domains.clustered.structure import MappingStructure, mappings_of
from dse.domains.levels.structure import HierarchyStructure, machine_mappings_of
from dse.proof.contract import Bounded, Boxes, Children, Found, Rounds
from dse.search.abilities import Abilities
from dse.search.evaluator import BudgetExhausted, Evaluator, Known
from dse.search.keeping import Keep, Saveable
from dse.search.searcher import AskTell, Searcher, drive
from dse.support import numerics
from dse.support.errors import InputError
from dse.support.hashing import digest
from dse.support.schema import Limits

__all__ = [
    "Abilities",
    "Accelerator",
    "AnyCostModel",
    "AnyProblem",
    "AskTell",
    "Block",
    "Bounded",
    "Boxes",
    "BudgetExhausted",
    "CLUSTER",
    "CaseExtras",
    "Certifier",
    "Children",
    "Check",
    "Claims",
    "CostBatch",
    "CostModel",
    "Criteria",
    "DIMS",
    "Detail",
    "Domain",
    "Evaluation",
    "Evaluations",
    "Evaluator",
    "Explanation",
    "Found",
    "Gene",
    "Hardware",
    "HierarchyStructure",
    "INNER_ORDER",
    "INNER_PARALLEL",
    "INNER_TILE",
    "InputError",
    "Keep",
    "Known",
    "Layer",
    "Level",
    "Limits",
    "LowerBounds",
    "Mapping",
    "MappingBatch",
    "MappingBoxes",
    "MappingStructure",
    "ModelConstants",
    "ModelSettings",
    "OUTER_ORDER",
    "OUTER_PARALLEL",
    "OUTER_TILE",
    "Problem",
    "Other",
    "Prover",
    "Reason",
    "Rounds",
    "Saveable",
    "Searcher",
    "Space",
    "Structure",
    "TileBoxes",
    "Timed",
    "digest",
    "drive",
    "interval_proof",
    "machine_mappings_of",
    "mappings_of",
    "numerics",
    "parse_objectives",
]


def __getattr__(name: str) -> NoReturn:
    if name == "enumerated":
        raise InputError(
            "dse.plugins.enumerated is interval_proof now: its lower_bound takes (problem, boxes), where "
            "tiles are intervals (see docs/extending.md), and proves tiles 'any' too"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
