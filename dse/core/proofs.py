"""What a domain brings to proofs: a solver of its problems, and checks that share nothing with the solver."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np

from dse.core.certificate import Certificate, Incumbent
from dse.core.clock import Clock
from dse.core.cost_model import AnyCostModel, Other, Others
from dse.core.cost_models import cost_model_class, models_with
from dse.core.listed import Listed, Wanted
from dse.core.problem import AnyProblem, Designs
from dse.support.errors import InputError, format_exception


@dataclass(frozen=True)
class Check:
    """One thing that was checked, whether it holds, and what was seen."""

    name: str
    passed: bool
    seen: str


class Claims(Protocol):
    """The `check_module` of a cost model."""

    def checks(
        self, problem: AnyProblem, certificate: Certificate, rng: np.random.Generator
    ) -> tuple[Check, ...]:
        """Check what only this model's certificates claim."""


class Prover(Protocol):
    """What proves the optimum of one problem, or a bound of it; its domain makes it."""

    @property
    def groups(self) -> str:
        """What the solver's groups are choices of, in words."""

    @property
    def floor_only(self) -> bool:
        """Whether a floor is all that can be said of the problem: found within seconds, and never kept."""

    def refuse(self) -> None:
        """InputError unless the optimum of the problem can be proven, or its floor is known."""

    def solve(self, clock: Clock, known: Certificate | None) -> Certificate:
        """Prove what can be proven in the time of `clock`, from what an earlier run left, if any."""


class Warmer(Prover, Protocol):
    """What compiles all that its proofs need, several kernels at a time; not every domain's prover does."""

    def warm(self) -> None:
        """Do so, where nothing is compiled yet."""


class Divider(Prover, Protocol):
    """What proves some problems as several; not every domain's prover does."""

    def divided(self) -> Sequence[AnyProblem]:
        """Problems that together have all mappings of this one, each once; or this one itself."""


class Lister(Prover, Protocol):
    """What lists the mappings near an optimum too; not every domain's prover does."""

    @property
    def line(self) -> str:
        """What `in_a_line` shows, in words."""

    @property
    def among(self) -> str:
        """Of which nests there are lists, in words after a comma; empty where these are all."""

    @property
    def reach(self) -> str:
        """Over which nests optima and lists are, and how to ask for others; empty if there is one kind."""

    def refuse_list(self) -> None:
        """InputError unless mappings near the optimum of the problem can be listed."""

    def list_best(self, best: Incumbent, wanted: Wanted, clock: Clock) -> Listed:
        """The mappings that are `wanted` near the proven optimum `best`."""

    def nest_of(self, mapping: Any) -> Hashable:
        """What makes the nest of loops of a mapping: equal for those that differ in words only."""

    def in_a_line(self, mapping: Any) -> str:
        """The mapping as a line of text."""


def proven_models() -> tuple[str, ...]:
    """The names of the installed cost models under which optima can be proven."""
    return tuple(name for name in models_with("proof_module") if _declared(name, "proof_module"))


def proof_module(model: AnyCostModel, needs: Iterable[str] = ()) -> ModuleType:
    """What a cost model brings to proofs, a module that has what it `needs`; InputError if it brings nothing.

    Bounds hold for the model that declares them alone: one of another name may have inherited them.
    """
    name = _declared(model.name, "proof_module") if model.proof_module else ""
    if not name:
        known = ", ".join(map(repr, proven_models()))
        raise InputError(f"cost model {model.name!r} has no proofs; these have: {known}")
    return _load(model, "proof_module", name, needs)


def claims_of(model: AnyCostModel) -> Claims | None:
    """What is checked of certificates under the model only; None where it brings nothing.

    That is its `check_module`, or else its `proof_module` if this has `checks` too.
    """
    if not model.proof_module:
        return None
    if name := _declared(model.name, "check_module"):
        return cast("Claims", _load(model, "check_module", name, ("checks",)))
    found = proof_module(model)
    return cast("Claims", found) if hasattr(found, "checks") else None


def others_of(model: AnyCostModel, problem: AnyProblem, designs: Designs) -> Mapping[str, Other]:
    """What `dse bench cost` compares the model with, ready to price the first of some designs."""
    name = _declared(model.name, "bench_module")
    if not name:
        return {}
    return cast("Others", _load(model, "bench_module", name, ("others",))).others(problem, designs)


def model_sources(name: str) -> list[Path]:
    """The files of a cost model and of what it brings to proofs: of their packages, or of single modules."""
    modules = (cost_model_class(name).__module__, _declared(name, "proof_module"))
    found: set[Path] = set()
    for module in filter(None, modules):
        loaded = import_module(module)
        path = Path(loaded.__file__ or "")
        alone = "." not in module
        found |= {path} if alone else set(path.parent.rglob("*.py"))
    return sorted(found)


def _load(model: AnyCostModel, member: str, name: str, needs: Iterable[str]) -> ModuleType:
    """The module that a model declares as `member`; InputError if it cannot be imported, or lacks a name."""
    where = f"cost model {model.name!r}: {member} {name!r}"
    try:
        # What a module prints as it is loaded goes to stderr: stdout has results.
        with redirect_stdout(sys.stderr):
            found = import_module(name)
    except (Exception, SystemExit) as error:
        raise InputError(f"{where} cannot be imported: {format_exception(error)}") from error
    lacking = [need for need in needs if not hasattr(found, need)]
    if lacking:
        raise InputError(f"{where} lacks {', '.join(lacking)}")
    return found


def _declared(name: str, member: str) -> str:
    """What the registered model of that name declares itself; empty if nothing, or if there is none."""
    try:
        return str(vars(cost_model_class(name)).get(member, ""))
    except InputError:
        return ""
