"""What every cost model is and may declare: each domain adds how its designs are priced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from dse.core.layer import Layer
from dse.core.model_settings import ModelSettings
from dse.core.roofline import Roofline
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.core.problem import AnyProblem, Designs


@dataclass(frozen=True)
class Detail:
    """What the figures of one design are made of, by name; what a model does not tell is empty.

    `energy_nj` (in nanojoule) adds up to the figure, and so do the `cycles`, unless they are `overlapping`:
    then each runs by itself, all at the same time, and the most of them is the figure, with those in which
    all else `waits`, for some store. `words` are those moved, by store and kind; `buffers` are the words that
    the stores must hold, by tensor, double buffering included; both count in the `unit`, which may be bits.
    `bound` says on what most cycles go. A model that tells more has `tensors`: the same of each tensor at
    each store that keeps it; and `leakage_nj`: what remains of a store's energy.
    """

    cycles: dict[str, int] = field(default_factory=dict)
    energy_nj: dict[str, float] = field(default_factory=dict)
    words: dict[str, dict[str, int]] = field(default_factory=dict)
    buffers: dict[str, dict[str, int]] = field(default_factory=dict)
    bound: str = ""
    tensors: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    leakage_nj: dict[str, float] = field(default_factory=dict)
    overlapping: bool = False
    unit: str = "words"
    waits: dict[str, int] = field(default_factory=dict)

    @property
    def shares(self) -> tuple[dict[str, int], int]:
        """The parts of the cycles, and what they are shares of."""
        waits = {f"waiting for {name}": count for name, count in self.waits.items()}
        beside = max(self.cycles.values()) if self.overlapping else sum(self.cycles.values())
        return self.cycles | waits, beside + sum(self.waits.values())

    def to_dict(self) -> dict[str, Any]:
        """The parts as plain data; of a model that says nothing of tensors without them."""
        parts = {name: value for name, value in asdict(self).items() if name != "overlapping"}
        if self.unit == "words":
            del parts["unit"]
        if not self.waits:
            del parts["waits"]
        if not self.tensors:
            del parts["tensors"], parts["leakage_nj"]
        return parts


class PricesNothing(InputError):
    """A cost model that asks something outside is wrong itself: what it asks fails, whatever the mapping."""


class AnyCostModel:
    """Prices designs: vectorised, pure, deterministic, never raising on a design.

    The base of what each domain's models are, such as `dse.CostModel` of mappings onto an accelerator. It is
    made without arguments, or with its settings as the only one, and then has them as `settings`. It declares
    what else it can do by setting the class variables below; nothing is guessed from the methods that it has.
    """

    name: ClassVar[str]
    """Under which it is registered in the entry-point group `dse.cost_models`."""
    domain: ClassVar[str]
    """The kind of designs that it prices: a name in the entry-point group `dse.domains`."""
    version: str = "1"
    """Part of what a record depends on, to be changed whenever a figure changes. A class that does not set it
    itself has its package's version there too: then every release makes its records others."""
    units: ClassVar[Mapping[str, str]] = {}
    """The units of `area` and `power`, where they are known ones."""
    prices_strides: ClassVar[bool] = False
    """Whether strides, paddings and dilations are priced as they are; if not, a Problem hands over
    `layer.lowered()`."""
    prices_widths: ClassVar[bool] = False
    """Whether words of a layer may have widths of their own."""
    prices_networks: ClassVar[bool] = False
    """Whether a design is of all layers of a network together: a problem's layer is a WholeNetwork then."""
    prices_cases: ClassVar[bool] = False
    """Whether it prices cases, each with a layer, a design and the hardware: `dse evaluate --cases`."""
    explains: ClassVar[bool] = False
    """Whether it says what cycles and energy of a design are made of, by `detail`."""
    proof_module: ClassVar[str] = ""
    """The module of what it brings to proofs, which its domain says: bounds, or a solver of its own. Empty
    where no optima can be proven under it."""
    check_module: ClassVar[str] = ""
    """The module with `checks`, a `dse.core.proofs.Claims`, in code that shares nothing with its proofs;
    empty where a certificate claims no more than that its best design costs what it does."""
    bench_module: ClassVar[str] = ""
    """The module with `others`, an `Others`, that `dse bench cost` compares speeds with."""
    residence_module: ClassVar[str] = ""
    """The module with `RESIDENCE`, a `dse.core.residence.Residence`: what tensors that stay on chip mean to
    its problems. Empty where chains are not known."""
    settings_type: ClassVar[type[ModelSettings] | None] = None
    """What a user may set of it, constants or other: it is made with one of these."""
    settings: ModelSettings | None = None
    """What the user has set, of a model that is made."""
    outside: ClassVar[bool] = False
    """Whether it prices by a program, a function or a library from elsewhere, which may be slow or absent.

    Reports then do not price a campaign's winners again by it, and nothing asks it that was not told to.
    """
    at_once: int = 1
    """How many designs it prices at the same time: fewer in a batch would leave some of it idle."""

    @property
    def spec(self) -> str:
        """The model in words that `cost_model` reads: its name, and its settings but the defaults."""
        return self.settings.words(self.name) if self.settings else self.name

    @property
    def identity(self) -> str:
        """The spec without what no figure depends on: part of what a problem is."""
        return self.settings.words(self.name, neutral=False) if self.settings else self.spec

    def roofline(self, layer: Layer, hardware: Any) -> Roofline | None:
        """What no design does better than, by the layer's compulsory traffic; None if the model knows no such
        bound."""
        return None

    def energy_sources(self, layer: Layer, hardware: Any) -> tuple[str, ...]:
        """What the energies of the hardware were made of, a sentence each; empty where nobody says."""
        return ()

    def trust(self) -> None:
        """It has priced some mappings of a search already: what fails from now on is the mappings' fault."""


@dataclass(frozen=True)
class Other:
    """Another implementation of a cost model's figures: `price` prices `count` designs, one at a time.

    There are so many that it takes seconds, not minutes.
    """

    count: int
    price: Callable[[], object]


@dataclass(frozen=True)
class Timed:
    """Designs that are ready to be priced: `price` does it on one of the `threads`, a number of them.

    `single` prices the design at a place alone. `others` are other implementations, by name.
    """

    price: Callable[[int], object]
    single: Callable[[int], object]
    threads: tuple[int, ...] = (1, 2)
    others: Mapping[str, Other] = field(default_factory=dict)


class Others(Protocol):
    """The `bench_module` of a cost model."""

    def others(self, problem: AnyProblem, designs: Designs) -> Mapping[str, Other]:
        """Other implementations, made ready to price the first of some designs."""
