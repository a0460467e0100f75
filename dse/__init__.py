"""A budgeted arena for searchers of DNN-layer mappings onto spatial accelerators.

    import dse
    from workloads import load_layer

    layer, edge = load_layer("resnet18:1"), dse.load_accelerator("edge")
    problem = dse.Problem(layer, edge, "edp")

    result = dse.search(problem, "team", budget=1_000)   # a Result
    print(result.best.loss, result.best.mapping.inner.tile["K"])
    result.history                                       # every sample, a pandas DataFrame
    dse.certify(problem).best                            # the proven optimum, over tiles of any size
    dse.compare(problem, ["team", "random"], budget=200, seeds=3)

What is minimised is in seconds (`latency`), joules (`energy`) or joule seconds (`edp`). A function of one's
own prices too: `Problem(layer, edge, "edp", cost_model=price)`, see
`help("dse.models.outside.python.Python")`. What is wrong with an input is an `InputError`
of one line. In a shell, `dse list` has the networks, accelerators, searchers and cost models that there are,
and `dse --help` the commands.

`search` gives a Result, `certify` a Certificate that `verify` checks, `compare` a Comparison, and
`codesign(network, "space.toml")` a Codesign: the best machine for a network, with its mappings and the proof.
`suite("short")` is a list of problems with known optima, for a searcher of anybody's.
`execute_schedule` runs what `dse certify --chains --out` has written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from dse.core.certificate import Certificate
    from dse.core.domains import make_problem
    from dse.core.figures import CostBatch
    from dse.core.layer import Layer
    from dse.domains.clustered.accelerator import Accelerator, load_accelerator
    from dse.domains.clustered.cost_model import CostModel
    from dse.domains.clustered.mapping import Mapping, MappingBatch
    from dse.domains.clustered.problem import Problem
    from dse.domains.clustered.space.mapping_space import MappingSpace
    from dse.optimum.codesign import codesign
    from dse.optimum.codesign.result import Codesign
    from dse.optimum.default import certify, verify
    from dse.optimum.executor import RefusedError, execute_schedule
    from dse.report.comparing import Comparison, compare
    from dse.search.api import Result, search
    from dse.suite.suites import suite
    from dse.support.errors import InputError

_HOMES = {
    "Accelerator": "dse.domains.clustered.accelerator",
    "Certificate": "dse.core.certificate",
    "Codesign": "dse.optimum.codesign.result",
    "Comparison": "dse.report.comparing",
    "CostBatch": "dse.core.figures",
    "CostModel": "dse.domains.clustered.cost_model",
    "InputError": "dse.support.errors",
    "Layer": "dse.core.layer",
    "Mapping": "dse.domains.clustered.mapping",
    "MappingBatch": "dse.domains.clustered.mapping",
    "MappingSpace": "dse.domains.clustered.space.mapping_space",
    "Problem": "dse.domains.clustered.problem",
    "RefusedError": "dse.optimum.executor",
    "Result": "dse.search.api",
    "certify": "dse.optimum.default",
    "codesign": "dse.optimum.codesign",
    "compare": "dse.report.comparing",
    "execute_schedule": "dse.optimum.executor",
    "load_accelerator": "dse.domains.clustered.accelerator",
    "make_problem": "dse.core.domains",
    "search": "dse.search.api",
    "suite": "dse.suite.suites",
    "verify": "dse.optimum.default",
}

__all__ = [
    "Accelerator",
    "Certificate",
    "Codesign",
    "Comparison",
    "CostBatch",
    "CostModel",
    "InputError",
    "Layer",
    "Mapping",
    "MappingBatch",
    "MappingSpace",
    "Problem",
    "RefusedError",
    "Result",
    "certify",
    "codesign",
    "compare",
    "execute_schedule",
    "load_accelerator",
    "make_problem",
    "search",
    "suite",
    "verify",
]


def __getattr__(name: str) -> Any:
    """The public names, each loaded from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dse' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return [*__all__, "__version__"]
