"""Proofs of problems of two levels: by the solver that all cost models share, or by a floor."""

from __future__ import annotations

from collections.abc import Hashable
from importlib import import_module

from dse.core.certificate import Certificate, Incumbent
from dse.core.clock import Clock
from dse.core.listed import Listed, Wanted
from dse.core.names import dim_names
from dse.domains.clustered.mapping import Level, Mapping
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of, has_floor_only, refuse
from dse.domains.clustered.space.genes import MAPPED_DIMS
from dse.domains.clustered.tile_sets import one_tile_each


class ClusteredProver:
    """See `dse.core.proofs.Prover`; a cost model brings a `Certifier`."""

    line = (
        "outer loops / PEs of a cluster / inner loops, each from the outermost in with the size of its tile; "
        "|K4|: tiles of 4 along K, at once on clusters or PEs"
    )
    among = reach = ""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @property
    def groups(self) -> str:
        """See Prover."""
        return certifier_of(self._problem).GROUP

    @property
    def floor_only(self) -> bool:
        """See Prover."""
        return has_floor_only(self._problem)

    def refuse(self) -> None:
        """See Prover."""
        refuse(self._problem)

    def warm(self) -> None:
        """See Warmer."""
        if not self.floor_only:
            import_module("dse.domains.clustered.proof.warming").warm_early(self._problem)

    def solve(self, clock: Clock, known: Certificate | None) -> Certificate:
        """See Prover."""
        # Late: a check of a proof makes a prover, and loads nothing that made the proof.
        name = "floor" if self.floor_only else "solver"
        found: Certificate = import_module(f"dse.domains.clustered.proof.{name}").solve_problem(
            self._problem, clock, known
        )
        return found

    def divided(self) -> list[Problem]:
        """See Divider: one size of each tile."""
        return one_tile_each(self._problem)

    def refuse_list(self) -> None:
        """See Lister."""
        import_module("dse.domains.clustered.proof.listed").boxes_of_all(self._problem)

    def list_best(self, best: Incumbent, wanted: Wanted, clock: Clock) -> Listed:
        """See Lister."""
        found: Listed = import_module("dse.domains.clustered.proof.listed").list_best(
            self._problem, best, wanted, clock
        )
        return found

    def nest_of(self, mapping: Mapping) -> Hashable:
        """See Lister: loops that run once may stand anywhere, as may those whose tiles all run at once."""
        layer, cluster = self._problem.layer, mapping.cluster_size
        extents: dict[str, int] = dict(self._problem.space.layer.loops)
        found: list[int | str | None] = [cluster]
        clusters = self._problem.accelerator.num_pes // cluster
        for level, parts in ((mapping.outer, clusters), (mapping.inner, cluster)):
            parallel = "C" if layer.type == "DSCONV" and level.parallel == "K" else level.parallel
            tiles = {dim: level.tile[dim] for dim in MAPPED_DIMS}
            trips = {dim: -(-extents[dim] // tile) for dim, tile in tiles.items()}
            spread = parallel if parts > 1 and trips[parallel] > 1 else None
            trips[parallel] = -(-trips[parallel] // parts)
            found += [*tiles.values(), spread, *(dim for dim in level.order if trips.get(dim, 1) > 1)]
            extents = tiles
        return tuple(found)

    def in_a_line(self, mapping: Mapping) -> str:
        """See Lister: the tiles in the order of the loops, the parallel dim in bars; cluster size between."""
        outer, inner = (self._tiles(level) for level in (mapping.outer, mapping.inner))
        return f"{outer} / {mapping.cluster_size} / {inner}"

    def _tiles(self, level: Level) -> str:
        layer, found = self._problem.layer, []
        names = dim_names(layer)
        for dim in level.order:
            if dim in MAPPED_DIMS and self._problem.space.layer.loops[dim] > 1:
                text = f"{names.get(dim, dim)}{level.tile[dim]}"
                found.append(f"|{text}|" if dim == level.parallel else text)
        return " ".join(found)
