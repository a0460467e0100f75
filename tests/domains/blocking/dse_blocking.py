"""A kind of designs from another package: how a matrix product is cut into blocks that a cache holds.

It imports `dse.plugins` alone. A design is a tile of M, N and K and an order of the loops over the tiles; a
tensor's tile is fetched whenever a loop around it, from its own innermost on, goes on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from itertools import permutations
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dse.plugins import (
    AnyCostModel,
    Block,
    Criteria,
    Detail,
    Evaluation,
    Evaluations,
    Explanation,
    Gene,
    InputError,
    Layer,
    Reason,
    Timed,
    digest,
    parse_objectives,
)

DIMS = ("M", "N", "K")
ORDERS = tuple(permutations(DIMS))
TENSORS = {"A": ("M", "K"), "B": ("K", "N"), "C": ("M", "N")}
MAC_PJ, WORD_PJ = 1.0, 100.0


@dataclass(frozen=True)
class Cache:
    """A processor with a cache of so many words, and a memory of so many words a cycle."""

    words: int
    bandwidth: int = 4
    lanes: int = 8
    clock_ghz: float = 2.0
    name: str = field(default="", compare=False)

    @property
    def cycle_seconds(self) -> float:
        return 1e-9 / self.clock_ghz

    @property
    def summary(self) -> str:
        return f"{self.words:,} words of cache, {self.bandwidth} words a cycle, {self.lanes} lanes"

    def called(self, given: str) -> str:
        return given

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "name"}


CACHES = {"small-cache": Cache(4_096), "large-cache": Cache(65_536)}


def divisors(number: int) -> list[int]:
    return [size for size in range(1, number + 1) if number % size == 0]


def fetched(sizes: Mapping[str, int], tile: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    """The words of each tensor that come from memory. Tiles may be arrays."""
    words = {}
    for tensor, dims in TENSORS.items():
        last = max(order.index(dim) for dim in dims)
        # A loop of one step does not change what is held; the order still says it is around.
        rounds = prod(sizes[dim] // tile[dim] for dim in order[: last + 1])
        words[tensor] = rounds * prod(tile[dim] for dim in dims)
    return words


class Cached(AnyCostModel):
    """Words that a cache fetches, as many cycles as they or the MACs take."""

    name = "cached"
    domain = "blocking"
    version = "1"
    explains = True

    def price(self, sizes: Mapping[str, int], cache: Cache, tiles: Any, orders: Any) -> tuple[Any, Any, Any]:
        """Cycles, nanojoule and the words held of tiles (n, 3) in orders (n,)."""
        tile = {dim: tiles[:, place] for place, dim in enumerate(DIMS)}
        words = np.zeros(len(tiles), np.int64)
        for number, order in enumerate(ORDERS):
            rows = orders == number
            of_order = {dim: values[rows] for dim, values in tile.items()}
            words[rows] = sum(fetched(sizes, of_order, order).values())
        macs = prod(sizes.values())
        cycles = np.maximum(-(-macs // cache.lanes), -(-words // cache.bandwidth))
        held = sum(prod(tile[dim] for dim in dims) for dims in TENSORS.values())
        return cycles, (macs * MAC_PJ + words * WORD_PJ) * 1e-3, held


@dataclass(frozen=True)
class Blocking:
    """A design."""

    tile: dict[str, int]
    order: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"tile": self.tile, "order": list(self.order)}

    def to_json(self) -> str:
        return json.dumps(self.to_dict())


@dataclass(frozen=True)
class Blockings:
    """Many of them: a column for each tile, and one for the order."""

    designs: Any

    def __len__(self) -> int:
        return len(self.designs)

    def __getitem__(self, index: int) -> Blocking:
        *tile, order = self.designs[index].tolist()
        return Blocking(dict(zip(DIMS, tile, strict=True)), ORDERS[order])

    def named(self) -> dict[str, Any]:
        tiles = {f"tile.{dim}": self.designs[:, place] for place, dim in enumerate(DIMS)}
        return {**tiles, "order": np.array(["".join(order) for order in ORDERS])[self.designs[:, -1]]}


class BlockingSpace:
    """Tiles that divide, and all orders: every vector is a design of its own."""

    structure = None
    estimates: ClassVar[dict[str, int]] = {}

    def __init__(self, layer: Layer, sizes: Mapping[str, int], cache: Cache) -> None:
        self._layer = layer
        self._cache = cache
        self.choices = {dim: np.array(divisors(sizes[dim])) for dim in DIMS}
        self.fixed: dict[str, Any] = {}
        tiles = [Gene(f"tile.{dim}", len(self.choices[dim]), "ordinal", dim=dim) for dim in DIMS]
        self.genes = (*tiles, Gene("order", len(ORDERS), "permutation"))
        self.sizes = np.array([gene.size for gene in self.genes])
        self.blocks = (Block("tiles", (0, 1, 2), 0, self), Block("order", (3,), 1, self))
        self.vectors = self.designs = self.mappings = int(np.prod(self.sizes))
        self.feature_names = (*(f"log2 {dim}" for dim in DIMS), *map("".join, ORDERS))

    @property
    def identity(self) -> dict[str, Any]:
        made_of = {"layer": self._layer.to_dict(), "accelerator": self._cache.to_dict()}
        return {**made_of, "tiles": "factors", "fixed": {}}

    def sample(self, rng: Any, n: int, /) -> Any:
        return rng.integers(0, self.sizes, size=(n, len(self.sizes)), dtype=np.int64)

    def contains(self, genes: Any, /) -> Any:
        return ((genes >= 0) & (genes < self.sizes)).all(axis=1)

    def canonical(self, genes: Any, /) -> Any:
        return np.array(genes, np.int64)

    def neighbours(self, genes: Any, block: Block, /) -> Any:
        found = []
        for gene in block.genes:
            steps = (-1, 1) if gene < len(DIMS) else range(1, len(ORDERS))
            for step in steps:
                value = genes[gene] + step
                value = value % len(ORDERS) if gene == len(DIMS) else value
                if 0 <= value < self.sizes[gene]:
                    found.append(np.where(np.arange(len(genes)) == gene, value, genes))
        return np.array(found, np.int64).reshape(-1, len(genes))

    def neighbour(self, rng: Any, genes: Any, /) -> Any:
        near = [np.concatenate([block.neighbours(row) for block in self.blocks]) for row in genes]
        return np.array([one[rng.integers(len(one))] for one in near])

    def features(self, genes: Any, /) -> Any:
        return np.column_stack([np.log2(self.decode(genes).designs[:, :3]), np.eye(len(ORDERS))[genes[:, 3]]])

    def decode(self, genes: Any, /) -> Blockings:
        if not self.contains(genes).all():
            raise ValueError("a vector is not in the space")
        tiles = [self.choices[dim][genes[:, place]] for place, dim in enumerate(DIMS)]
        return Blockings(np.column_stack([*tiles, genes[:, 3]]))


@dataclass(frozen=True)
class BlockingProblem:
    """A matrix product on a processor with a cache."""

    layer: Layer
    accelerator: Cache
    objective: str = "latency"
    cost_model: str | Cached = "cached"

    templates: ClassVar[tuple[str, ...]] = ()
    shows_detail: ClassVar[bool] = False
    naming: ClassVar[str] = ""
    hardware_genes: ClassVar[tuple[str, ...]] = ()
    opened: ClassVar[tuple[str, dict[str, Any]]] = ("default", {})

    def __post_init__(self) -> None:
        if self.layer.product is None:
            raise InputError("blocks are of matrix products: give a layer of type GEMM")
        parse_objectives(self.objective)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockingProblem, tuple(getattr(self, item.name) for item in fields(self))

    @cached_property
    def model(self) -> Cached:
        return Cached() if isinstance(self.cost_model, str) else self.cost_model

    @cached_property
    def matrix(self) -> dict[str, int]:
        assert self.layer.product is not None
        return {dim: self.layer.product[dim] for dim in DIMS}

    @cached_property
    def space(self) -> BlockingSpace:
        return BlockingSpace(self.layer, self.matrix, self.accelerator)

    @property
    def criteria(self) -> Criteria:
        return Criteria(self.objective, self.accelerator.clock_ghz * 1e9, np.array([self.accelerator.words]))

    @property
    def model_spec(self) -> str:
        return self.model.spec

    @property
    def options(self) -> dict[str, Any]:
        return {"tiles": "factors", "fixed": {}}

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "layer": self.layer.to_dict(),
            "accelerator": self.accelerator.to_dict(),
            "space": self.space.identity,
            "objective": self.objective,
            "cost_model": self.model.identity,
        }

    @property
    def fingerprint(self) -> str:
        return digest(self.identity)

    def with_changes(self, **changes: Any) -> BlockingProblem:
        return replace(self, **changes)

    def price(self, genes: Any) -> Evaluations:
        return self._priced(self.space.decode(genes).designs)

    def evaluate(self, mappings: Blocking | Blockings) -> Evaluations:
        return self._priced(self._rows(mappings))

    def _rows(self, given: Blocking | Blockings) -> Any:
        if isinstance(given, Blockings):
            return given.designs
        return np.array([[*(given.tile[dim] for dim in DIMS), ORDERS.index(given.order)]])

    def _priced(self, rows: Any) -> Evaluations:
        cycles, energy, held = self.model.price(self.matrix, self.accelerator, rows[:, :3], rows[:, 3])
        nothing = np.zeros(len(rows))
        reason = np.where(held > self.accelerator.words, Reason.L1_TOO_SMALL, 0).astype(np.uint8)
        priced = Evaluations(
            cycles=cycles,
            energy_nj=energy,
            power=nothing,
            area=nothing.copy(),
            l1_size=held,
            l2_size=np.zeros(len(rows), np.int64),
            macs=np.full(len(rows), self.layer.macs),
            loss=nothing.copy(),
            reason=reason,
            criteria=self.criteria,
        )
        return replace(priced, loss=np.where(reason == 0, priced.objective_value, np.inf))

    def judge(self, mapping: Blocking) -> Evaluation:
        priced = self.evaluate(mapping)
        feasible = not priced.reason[0]
        figures = {name: column.tolist()[0] for name, column in priced.figures().items()}
        loss = {self.objective: float(priced.loss[0]) if feasible else None}
        status = {"status": "ok" if feasible else "invalid"}
        reason = None if feasible else self.explain(mapping)
        return Evaluation({**status, **figures}, feasible, reason, loss, None, self.detail(mapping))

    def detail(self, mapping: Blocking) -> Detail | None:
        words = fetched(self.matrix, mapping.tile, mapping.order)
        moved = sum(words.values())
        cycles = {"memory": moved // self.accelerator.bandwidth}
        energy = {"MACs": self.layer.macs * MAC_PJ * 1e-3, "memory": moved * WORD_PJ * 1e-3}
        return Detail(cycles, energy, {"memory": words}, {"cache": words}, "memory")

    def vectors(self, mappings: Any) -> Any:
        rows = np.concatenate([self._rows(mapping) for mapping in mappings])
        tiles = [np.searchsorted(self.space.choices[dim], rows[:, at]) for at, dim in enumerate(DIMS)]
        return np.column_stack([*tiles, rows[:, 3]])

    def on_machine_of(self, genes: Any) -> BlockingProblem:
        return self

    def hardware_of(self, genes: Any) -> str:
        return ""

    def template(self, name: str) -> Blocking:
        raise InputError(f"unknown template {name!r}; blocks have none")

    def read_mapping(self, data: Any, where: str = "mapping") -> Blocking:
        try:
            return Blocking({dim: data["tile"][dim] for dim in DIMS}, tuple(data["order"]))
        except (KeyError, TypeError):
            raise InputError(f"{where} must have a tile of M, N and K, and an order") from None

    def find_mapping(self, name: str) -> Blocking:
        return self.read_mapping(json.loads(Path(name).read_text(encoding="utf-8")))

    def export(self, kind: str, mapping: Blocking, folder: Path) -> tuple[list[Path], list[str]]:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "mapping.json"
        path.write_text(mapping.to_json(), encoding="utf-8")
        return [path], []

    def explain(self, mapping: Blocking) -> str:
        held = int(self.evaluate(mapping).l1_size[0])
        fits = held <= self.accelerator.words
        return "feasible" if fits else f"the cache needs {held} of {self.accelerator.words} words"

    def explanation(self, mapping: Blocking | None) -> Explanation:
        if mapping is None:
            return Explanation(True, "the smallest blocks fit", 1, {})
        reason = self.explain(mapping)
        return Explanation(reason == "feasible", reason, 1, {})

    def nest(self, mapping: Blocking) -> str:
        return "".join(f"for {dim} in blocks of {mapping.tile[dim]}\n" for dim in mapping.order)

    def needs(self, mapping: Blocking) -> str:
        return f"{int(self.evaluate(mapping).l1_size[0]):,} words of cache"

    def case(self, mapping: Blocking) -> dict[str, Any]:
        return {"layer": self.matrix, "mapping": mapping.to_dict(), "hardware": self.accelerator.to_dict()}

    def notations(self, mapping: Blocking) -> dict[str, str]:
        return {}


class BlockingDomain:
    """Blocks of matrix products for caches."""

    name = "blocking"
    hardware_kind = "caches"
    formats: ClassVar[dict[str, str]] = {"json": "the blocks and their order"}
    case_figures: ClassVar[dict[str, str]] = {"cycles": "cycles"}
    proof_seconds = None
    proves_any_tiles = True
    hardware_figures = None
    bench_hardware = ("small-cache",)

    def make_problem(
        self,
        layer: Layer,
        hardware: Any,
        objective: str,
        cost_model: Any,
        tiles: str,
        fixed: Mapping[str, Any],
        space: Any,
        area_budget: float | None,
    ) -> BlockingProblem:
        if tiles != "factors" or fixed or area_budget is not None:
            raise InputError("blocks divide their matrices, and nothing can be fixed")
        return BlockingProblem(layer, hardware, objective, cost_model)

    def load_hardware(self, name: str, cost_model: Any) -> Cache:
        if name not in CACHES:
            raise InputError(f"unknown cache {name!r}; expected one of {', '.join(CACHES)}")
        return CACHES[name]

    def hardware_from_dict(self, data: Any) -> Cache:
        return Cache(**data)

    def hardware(self) -> list[dict[str, Any]]:
        return [
            {"name": name, **cache.to_dict(), "sentence": cache.summary} for name, cache in CACHES.items()
        ]

    def read_space(self, given: Any, hardware: Mapping[str, Any], where: str) -> Any:
        if given != "default" or hardware:
            raise InputError(f"{where}: blocks have one space")
        return given

    def parse_fixed(self, texts: Any, space: Any) -> dict[str, Any]:
        if list(texts):
            raise InputError("no gene of blocks can be fixed")
        return {}

    def price_cases(self, model: str, path: str, *, detail: bool) -> list[dict[str, Any]]:
        raise InputError("there are no cases of blocks")

    def timed(self, problem: Any, genes: Any) -> Timed:
        return Timed(lambda threads: problem.price(genes), lambda at: problem.price(genes[at : at + 1]), (1,))

    def prover(self, problem: Any) -> Any:
        raise InputError("blocks are not certified")
