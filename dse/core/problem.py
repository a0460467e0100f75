"""What a problem is, whatever its designs are: everything outside of the domains uses problems by this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeGuard

from numpy.typing import NDArray

from dse.core.cost_model import AnyCostModel, Detail
from dse.core.evaluation import Evaluation, Explanation
from dse.core.evaluations import Criteria, Evaluations
from dse.core.layer import Layer
from dse.core.space import Space
from dse.support.arrays import IntArray
from dse.support.hashing import digest


class Hardware(Protocol):
    """What designs run on."""

    @property
    def name(self) -> str: ...

    @property
    def clock_ghz(self) -> float: ...

    @property
    def cycle_seconds(self) -> float:
        """How long a cycle takes."""

    @property
    def summary(self) -> str:
        """Its figures in a line."""

    def called(self, given: str) -> str:
        """How a heading calls it that was named so."""

    def to_dict(self) -> dict[str, Any]:
        """Its figures as plain data, from which its domain makes it again."""


class Design(Protocol):
    """What a point of a space stands for, such as a mapping."""

    def to_dict(self) -> dict[str, Any]:
        """The design as plain data."""

    def to_json(self) -> str:
        """The same as a line of JSON."""


class Designs(Protocol):
    """Many designs, as a space decodes them."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any:
        """The design at a place."""

    @property
    def designs(self) -> NDArray[Any]:
        """Each as a row of integers: rows are equal where designs are."""

    def named(self) -> dict[str, NDArray[Any]]:
        """What genes stand for, by their names: columns of length n, of sizes, names or orders."""


class DesignSpace(Space, Protocol):
    """The space of a problem: its points stand for designs that can be looked at."""

    @property
    def mappings(self) -> int:
        """How many distinct designs there are."""

    @property
    def fixed(self) -> Mapping[str, Any]:
        """What the user fixed, as plain data."""

    @property
    def estimates(self) -> Mapping[str, int]:
        """Estimates of the space's size that others made, by name."""

    def decode(self, genes: IntArray, /) -> Designs:
        """The designs of the vectors (n, genes). ValueError if one is not in the space."""


class AnyProblem(Protocol):
    """Designs to choose from, what is minimised, and under which cost model."""

    @property
    def layer(self) -> Layer: ...

    @property
    def accelerator(self) -> Hardware: ...

    @property
    def objective(self) -> str: ...

    @property
    def model(self) -> AnyCostModel:
        """The cost model."""

    @property
    def space(self) -> DesignSpace:
        """The designs to choose from, as vectors of genes."""

    @property
    def criteria(self) -> Criteria:
        """What figures are judged by."""

    @property
    def model_spec(self) -> str:
        """The cost model in words, with the settings that were replaced."""

    @property
    def options(self) -> dict[str, Any]:
        """What shapes the space, as plain data: `tiles`, `fixed`, and `parts`, `area_budget` and `limits` if
        given."""

    @property
    def opened(self) -> tuple[str | None, Mapping[str, Sequence[float]]]:
        """The name of the space, `default` where none was given and None of one of the user's own parts; and
        the figures of the hardware that are open besides, with their values."""

    @property
    def hardware_genes(self) -> tuple[str, ...]:
        """The figures of the hardware that are genes, by name."""

    @property
    def identity(self) -> dict[str, Any]:
        """All that defines the problem, as plain data: `layer`, `accelerator`, `objective`, `cost_model`, and
        the `space`, with the `layer`, `accelerator`, `tiles`, `fixed` and perhaps `parts` that make it."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the identity, in hex."""

    @property
    def templates(self) -> tuple[str, ...]:
        """The known designs that can be fitted to it."""

    @property
    def shows_detail(self) -> bool:
        """Whether what figures are made of is shown unasked."""

    @property
    def naming(self) -> str:
        """How mapping files, genes and --fix name the layer's dims, in a line; empty where as the layer."""

    def with_changes(self, **changes: Any) -> AnyProblem:
        """The problem with another `objective`, `cost_model` or `tiles`."""

    # Prices

    def price(self, genes: IntArray) -> Evaluations:
        """What the points in `genes`, int64 (n, genes) and inside the space, cost, and their losses."""

    def evaluate(self, mappings: Any) -> Evaluations:
        """What a design, or each of a batch, costs, whether or not it is in the space."""

    def judge(self, mapping: Any) -> Evaluation:
        """A design judged in full, by every objective."""

    def detail(self, mapping: Any) -> Detail | None:
        """What the design's figures are made of; None if it is not valid or the model does not say."""

    # Designs

    def vectors(self, mappings: Sequence[Any]) -> IntArray:
        """The gene vectors of designs: (n, genes). InputError for one that is none, or not in the space."""

    def on_machine_of(self, genes: Sequence[int] | IntArray) -> AnyProblem:
        """The problem on the hardware that one of its points (genes,) is for: itself, unless genes say."""

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        """The figures of the hardware that one point (genes,) says, `num_pes 64, l1_size 256`; or nothing."""

    def template(self, name: str) -> Any:
        """A known design, fitted to the layer and the hardware."""

    def read_mapping(self, data: object, where: str = "mapping") -> Any:
        """The design in parsed JSON; `where` names the place in messages."""

    def find_mapping(self, name: str) -> Any:
        """The template of that name, or the design in a file. InputError where there is none."""

    def export(self, kind: str, mapping: Any, folder: Path) -> tuple[list[Path], list[str]]:
        """Write a design in a format into the folder: the files, and what the format has no words for."""

    def refuse_format(self, kind: str) -> None:
        """InputError where that format can say no design of the problem."""

    # Words

    def explain(self, mapping: Any) -> str:
        """Why the design is not feasible, with figures ("L1 needs 4096 of 512 elements"), or "feasible"."""

    def explanation(self, mapping: Any | None) -> Explanation:
        """Why a design, or with None every design, is not feasible, and the smallest change that helps."""

    def nest(self, mapping: Any) -> str:
        """The design as a nest of loops, or however it is read best."""

    def needs(self, mapping: Any) -> str:
        """What the buffers have to hold, in words."""

    def limited(self, mapping: Any) -> dict[str, float]:
        """The figures that limits are on, by name, of a design that has a price; nothing without limits."""

    def case(self, mapping: Any) -> dict[str, Any]:
        """The design as a case that costs the same: layer, design and hardware."""

    def notations(self, mapping: Any) -> dict[str, str]:
        """The design in the notations of other programs, by their names."""


class SharedMembers:
    """Members that do not depend on what a design is, for the dataclasses that are problems."""

    def __reduce__(self: Any) -> tuple[Any, ...]:
        # What is derived (the space, compiled functions) is made again in the other process.
        return type(self), tuple(getattr(self, item.name) for item in fields(self))

    @property
    def model_spec(self: Any) -> str:
        """The cost model in words, with the settings that were replaced (see `cost_model`)."""
        return self.model.spec  # type: ignore[no-any-return]

    @property
    def fingerprint(self: Any) -> str:
        """SHA-256 of the identity, in hex."""
        return digest(self.identity)

    def limited(self: Any, mapping: Any) -> dict[str, float]:
        """The figures that limits are on: see `AnyProblem`."""
        return self.use.of(self, mapping) if self.options.get("limits") else {}

    def refuse_format(self, kind: str) -> None:
        """InputError for what a format cannot say: nothing that is known without a design."""

    def with_changes(self, **changes: Any) -> Self:
        """The problem with other fields: another objective, cost model or tiles."""
        return replace(self, **changes)  # type: ignore[type-var]


def is_problem(value: object) -> TypeGuard[AnyProblem]:
    """Whether a value that a user gave is a problem."""
    return all(hasattr(value, name) for name in ("price", "judge", "objective", "layer"))
