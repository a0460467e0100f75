"""The genes and blocks of a hierarchy's space, and the tables by which kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dse.core.chains import distinct_primes
from dse.core.space import Gene, Kind
from dse.domains.levels.layout import Layout, RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.space.chains import SPATIAL, FactorChain
from dse.domains.levels.space.layers import LevelChoices
from dse.domains.levels.space.tables import SpaceTables, edge_tables, padded_rows, slot_columns
from dse.support.arrays import IntArray

FACTORS, ORDER, KEEP = range(3)
"""Kinds of blocks, as the kernels have them."""


@dataclass(frozen=True)
class Packed:
    """`blocks` are names with positions of genes, `columns` by dim those of a row where its factors are."""

    genes: tuple[Gene, ...]
    blocks: tuple[tuple[str, tuple[int, ...]], ...]
    columns: tuple[list[int], ...]
    tables: SpaceTables

    @cached_property
    def places(self) -> dict[str, int]:
        """Where in a vector a gene is, by its name."""
        return {gene.name: place for place, gene in enumerate(self.genes)}


class _Maker:
    """Collects genes and blocks in their order."""

    def __init__(self) -> None:
        self.genes: list[Gene] = []
        self.blocks: list[tuple[str, tuple[int, ...]]] = []
        self.kinds: list[tuple[int, int]] = []

    def gene(self, gene: Gene) -> int:
        self.genes.append(gene)
        return len(self.genes) - 1

    def block(self, name: str, genes: Sequence[int], kind: int, of: int) -> None:
        if genes:
            self.blocks.append((name, tuple(genes)))
            self.kinds.append((kind, of))


def pack_space(
    machine: Machine, layout: Layout, chains: Sequence[FactorChain], levels: Sequence[LevelChoices]
) -> Packed:
    """The space's genes, blocks and tables. There is always a gene, if need be one of one value."""
    maker = _Maker()
    slots = _add_factors(maker, machine, chains)
    order_gene = _add_orders(maker, levels)
    keep_gene = _add_kept(maker, layout, levels)
    stacks = _add_stacks(maker, layout, levels)
    if not maker.genes:
        # Of a vector without genes nobody could make a choice.
        maker.block(
            "order", [maker.gene(Gene(levels[0].order_gene, 1, "categorical", levels[0].name))], KEEP, 0
        )
    columns = tuple(slot_columns(chain, dim, layout) for dim, chain in enumerate(chains))
    start, count, edges, edge_factors = edge_tables(chains)
    kinds = np.array(maker.kinds, dtype=np.int64).reshape(-1, 2)
    orders = [order for level in levels for order in level.orders]
    tables = SpaceTables(
        first_slot=np.cumsum([0, *(len(chain.slots) for chain in chains)]).astype(np.int64),
        gene=np.array([gene for gene, _ in slots], dtype=np.int64),
        size=np.array([size for _, size in slots], dtype=np.int64),
        column=np.array([column for dim in columns for column in dim], dtype=np.int64),
        position=np.array(
            [2 * slot.level + (slot.kind == SPATIAL) for chain in chains for slot in chain.slots],
            dtype=np.int64,
        ),
        tile_start=layout.even.columns if layout.sizes else 0,
        edge_start=start,
        edge_count=count,
        edges=edges,
        edge_factors=edge_factors,
        lengths=padded_rows([chain.lengths for chain in chains]),
        whole=np.array([len(chain.lengths) - 1 for chain in chains], dtype=np.int64),
        primes=padded_rows([distinct_primes(chain.size) for chain in chains]),
        template=_template(layout, levels),
        order_gene=order_gene,
        order_start=np.cumsum([0, *(len(level.orders) for level in levels[:-1])]).astype(np.int64),
        order_columns=np.array([layout.order(level.place).start for level in levels], dtype=np.int64),
        orders=np.array([[layout.dims.index(dim) for dim in order] for order in orders], dtype=np.int32),
        permuted=np.array([level.permuted for level in levels], dtype=np.bool_),
        keep_gene=keep_gene,
        **stacks,
        sizes=np.array([gene.size for gene in maker.genes], dtype=np.int64),
        block_kind=np.ascontiguousarray(kinds[:, 0]),
        block_of=np.ascontiguousarray(kinds[:, 1]),
        # -1 behind them.
        block_genes=padded_rows([[gene + 1 for gene in genes] for _, genes in maker.blocks]) - 1,
    )
    return Packed(tuple(maker.genes), tuple(maker.blocks), columns, tables)


def _add_factors(maker: _Maker, machine: Machine, chains: Sequence[FactorChain]) -> list[tuple[int, int]]:
    """The gene, or -1, and its size, of every slot."""
    found = []
    for dim, chain in enumerate(chains):
        mine = []
        for slot, size in zip(chain.slots, chain.gene_sizes(), strict=True):
            gene = -1
            if size > 1:
                level = machine.levels[slot.level].name
                gene = maker.gene(Gene(f"{level}.{slot.kind}.{chain.dim}", size, "ordinal", level, chain.dim))
                mine.append(gene)
            found.append((gene, size))
        maker.block(f"factors.{chain.dim}", mine, FACTORS, dim)
    return found


def _add_orders(maker: _Maker, levels: Sequence[LevelChoices]) -> IntArray:
    found = np.full(len(levels), -1, dtype=np.int64)
    for place, level in enumerate(levels):
        if len(level.orders) > 1:
            kind: Kind = "permutation" if level.permuted else "categorical"
            found[place] = maker.gene(Gene(level.order_gene, len(level.orders), kind, level.name))
            maker.block(level.order_gene, [int(found[place])], ORDER, place)
    return found


def _add_kept(maker: _Maker, layout: Layout, levels: Sequence[LevelChoices]) -> IntArray:
    pairs = []
    for number, tensor in enumerate(layout.tensors):
        mine = []
        for level in levels:
            if tensor in level.open:
                mine.append(maker.gene(Gene(level.keep_gene(tensor), 2, "categorical", level.name)))
                pairs.append((mine[-1], layout.keep(level.place).start + number))
        maker.block(f"keep.{tensor}", mine, KEEP, number)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _add_stacks(maker: _Maker, layout: Layout, levels: Sequence[LevelChoices]) -> dict[str, IntArray]:
    """The genes of what is stored above what, and the columns that are 1 for each of their values."""
    genes: list[int] = []
    starts: list[int] = []
    columns: list[list[int]] = []
    for level in levels:
        if len(level.stacks) > 1:
            genes.append(maker.gene(Gene(level.stack_gene, len(level.stacks), "categorical", level.name)))
            maker.block(level.stack_gene, genes[-1:], KEEP, level.place)
            starts.append(len(columns))
            columns += [_stack_columns(layout, level.place, stack) for stack in level.stacks]
    return {
        "stack_gene": np.array(genes, dtype=np.int64),
        "stack_start": np.array(starts, dtype=np.int64),
        "stack_columns": padded_rows(columns) if columns else np.zeros((0, 1), dtype=np.int64),
    }


def _stack_columns(layout: Layout, place: int, stack: Sequence[str]) -> list[int]:
    """Where a row says that each tensor of a stack is kept."""
    tensors = layout.tensors
    return [layout.keep(place + number).start + tensors.index(name) for number, name in enumerate(stack)]


def _template(layout: Layout, levels: Sequence[LevelChoices]) -> RowArray:
    """A row whose loops run once, with each level's first order and what it keeps in any case."""
    row = np.ones(layout.columns, dtype=np.int32)
    for level in levels:
        row[layout.order(level.place)] = [layout.dims.index(dim) for dim in level.orders[0]]
        row[layout.keep(level.place)] = [name in level.keeps for name in layout.tensors]
    for level in levels:
        if len(level.stacks) == 1:
            row[_stack_columns(layout, level.place, level.stacks[0])] = 1
    return row
