"""Line buffers of two convolutions: rows gone through one by one, every mapping, and a case by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.core.domains import make_problem
from dse.core.edges import Chain, Edge
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.residence import Phase
from dse.domains.levels.machine import TENSORS, Energy, Level, Machine
from dse.optimum.chains.check import check_chain
from dse.optimum.chains.line_buffers import Steps
from dse.optimum.chains.result import ChainProof
from dse.optimum.chains.solve import certify_chains
from tests.conftest import Dse
from tests.optimum.chains.small_chains import RESIDENCE, machine, prove


def conv(name: str, sizes: tuple[int, int, int, int], taps: tuple[int, int], **more: Any) -> Layer:
    """A convolution of K and C channels and Y x X inputs."""
    return Layer("CONV", *sizes, *taps, name=name, **more)


def pair(one: Layer, two: Layer) -> Chain:
    return Chain((one, two), (Edge(one.name, two.name),))


COLUMN = pair(conv("a", (4, 4, 50, 1), (3, 1)), conv("b", (4, 4, 48, 1), (3, 1)))
SMALL = pair(conv("a", (2, 1, 6, 3), (3, 2)), conv("b", (1, 2, 4, 2), (2, 2)))
PADDED = pair(
    conv("a", (1, 2, 4, 2), (3, 1), padding=(1, 0)),
    conv("b", (2, 1, 4, 2), (3, 2), padding=(1, 0), stride=(1, 1)),
)
STRIDED = pair(
    conv("a", (2, 1, 4, 2), (1, 1)), conv("b", (1, 2, 4, 2), (3, 1), padding=(1, 0), stride=(2, 1))
)
TALL = pair(conv("a", (1, 1, 10, 2), (3, 1)), conv("b", (1, 1, 8, 2), (3, 1)))
DEPTHWISE = pair(Layer("DSCONV", 1, 2, 6, 2, 3, 1, name="a", padding=(1, 0)), conv("b", (2, 2, 6, 2), (1, 1)))


def proven(chain: Chain, hardware: Machine, objective: str = "energy", *, lines: bool = True) -> ChainProof:
    def make(layer: Layer) -> AnyProblem:
        return make_problem(layer, hardware, objective, "timeloop")

    return certify_chains([chain], make, RESIDENCE, prove, lines=lines)


def column_machine(room: int) -> Machine:
    """A word of DRAM is a pJ, of the buffer nearly nothing."""
    dram = Level("DRAM", keeps=TENSORS, may_keep=(), energy=Energy.of_any(1.0))
    return Machine("two", (dram, Level("B", room, 1, TENSORS, (), energy=Energy.of_any(1e-6))), 0.0)


def words(found: ChainProof) -> int:
    assert found.best is not None
    assert found.status == "optimal"
    return round(found.best.joules * 1e12)


def test_each_word_of_two_columns_moves_once() -> None:
    """By hand: inputs 200, weights 48 and 48, outputs 184; weights and two windows of three rows take 120."""
    assert words(proven(COLUMN, column_machine(160), lines=False)) == 864
    found = proven(COLUMN, column_machine(122))
    assert words(found) == 200 + 48 + 48 + 184
    assert found.best is not None
    (shared,) = found.best.shared
    assert shared.tiling.rows == 46
    assert "O of a, 3 rows of it" in shared.tiling.held
    assert words(proven(COLUMN, column_machine(115))) > 480


def row_by_row(one: Layer, two: Layer, rows: int, most: int) -> tuple[Counter[int], int]:
    """How many rows of a layer are made at once how often, at most so many; and the most that are alive."""
    above, total, made, counts, alive = two.padding[0], one.output[0], set[int](), Counter[int](), 0
    for start in range(0, two.output[0], rows):
        reads = {
            row * two.stride[0] + tap - above for row in range(start, start + rows) for tap in range(two.R)
        }
        last = start + rows == two.output[0]
        new = sorted(row for row in range(total) if (last or row <= max(reads)) and row not in made)
        made |= set(new)
        alive = max(alive, sum(row >= min(reads) for row in made))
        counts.update(len(new[at : at + most]) for at in range(0, len(new), most))
    return counts, alive


@pytest.mark.parametrize("chain", [COLUMN, SMALL, PADDED, STRIDED])
def test_steps_make_every_row_once_and_keep_what_is_read_again(chain: Chain) -> None:
    one, two = chain.layers
    for rows in [rows for rows in (1, 2, 4) if two.output[0] % rows == 0]:
        for pieces in (False, True):
            found = Steps.of(one, two, rows, pieces=pieces)
            most = rows * two.stride[0] if pieces else one.output[0]
            assert (dict(found.made), found.alive) == row_by_row(one, two, rows, most)


def least_by_hand(chain: Chain, room: int, objective: str) -> float:
    """The least over steps, what is held, and every mapping of every part, one after another."""
    one, two = chain.layers
    base = make_problem(one, machine(room), objective, "timeloop")
    sizes = [dict(RESIDENCE.sizes(base.with_changes(layer=layer))) for layer in (one, two)]
    alone = sum(least_of(base, Phase(layer), 1, ()) for layer in (one, two))
    taken = sizes[0]["O"]
    whole = least_of(base, Phase(one, ("O",), taken), 1, ()) + least_of(
        base, Phase(two, ("I",), taken), 1, ()
    )
    return min([alone, whole, *with_lines(base, chain, sizes, room)])


def with_lines(base: AnyProblem, chain: Chain, sizes: list[dict[str, int]], room: int) -> Iterator[float]:
    """The least of each way to keep a window."""
    one, two = chain.layers
    for rows in [rows for rows in range(1, two.output[0]) if two.output[0] % rows == 0]:
        for most in (rows * two.stride[0], one.output[0]):
            counts, alive = row_by_row(one, two, rows, most)
            for held in product((False, True), repeat=3):
                if held[2] and one.stride[0] >= one.R:
                    continue
                parts = {made: cut(one, made) for made in counts}
                inputs = [RESIDENCE.sizes(base.with_changes(layer=part))["I"] for part in parts.values()]
                need = alive * sizes[0]["O"] // one.output[0] + held[0] * sizes[0]["W"]
                need += held[1] * sizes[1]["W"] + held[2] * max(inputs)
                if need > room:
                    continue
                inside = [tuple("I" * held[2] + "O" + "W" * held[0]), tuple("I" + "W" * held[1])]
                total, row = 0.0, sizes[0]["I"] // ((one.output[0] - 1) * one.stride[0] + one.R)
                for number, (made, count) in enumerate(counts.items()):
                    moves = [("W", sizes[0]["W"], 1)] if held[0] and not number else []
                    moves += [("I", made * one.stride[0] * row, count)] if held[2] else []
                    moves += [("I", (one.R - one.stride[0]) * row, 1)] if held[2] and not number else []
                    total += least_of(base, Phase(parts[made], inside[0], need), count, tuple(moves))
                moves = [("W", sizes[1]["W"], 1)] if held[1] else []
                phase = Phase(cut(two, rows), inside[1], need)
                yield total + least_of(base, phase, two.output[0] // rows, tuple(moves))


def cut(layer: Layer, rows: int) -> Layer:
    """So many rows of a layer's output."""
    tall = (rows - 1) * layer.stride[0] + layer.R
    return replace(layer, Y=tall, padding=(0, layer.padding[1]), name="")


def least_of(base: AnyProblem, phase: Phase, count: int, moves: tuple[tuple[str, int, int], ...]) -> float:
    """The least of a part's runs over all mappings, with what is held that comes meanwhile."""
    problem = RESIDENCE.problem(base, phase)
    if problem is None:
        return inf
    every = np.array(list(product(*map(range, problem.space.sizes.tolist()))))
    points = np.unique(problem.space.canonical(every), axis=0)
    prices = problem.price(points)
    fits = np.flatnonzero(prices.reason == 0)
    if not len(fits):
        return inf
    spent, cycles = count * prices.energy_nj[fits], count * prices.cycles[fits].astype(float)
    if moves:
        tiles, mappings = RESIDENCE.tiles, problem.space.decode(points[fits])
        ports = np.array([count * tiles.demands(problem, mappings[at]) for at in range(len(fits))])
        for name, moved, times in moves:
            more, demands = tiles.moved(problem, name, moved)
            spent, ports = spent + times * more, ports + times * demands
        cycles = np.maximum(cycles, np.ceil(ports.max(axis=1) - 1e-9))
    seconds = problem.accelerator.cycle_seconds
    return float((spent * 1e-9 if base.objective == "energy" else cycles * seconds).min())


def agrees(chain: Chain, room: int, objective: str) -> ChainProof:
    """The proof of a chain, if it is what everything gone through says and its check passes."""
    found = proven(chain, machine(room), objective)
    assert found.status == "optimal"
    assert found.lower_bound == pytest.approx(least_by_hand(chain, room, objective), rel=1e-9)
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []
    return found


@pytest.mark.parametrize("objective", ["energy", "latency"])
@pytest.mark.usefixtures("quick")
def test_every_step_and_mapping_gone_through_finds_no_less(objective: str) -> None:
    best = agrees(STRIDED, 18, objective).best
    assert best is not None
    assert best.shared


@pytest.mark.usefixtures("quick")
def test_the_check_sees_what_is_wrong_with_a_line_buffer() -> None:
    found = proven(STRIDED, machine(18))
    assert found.best is not None
    (shared,) = found.best.shared
    first, *others = shared.tiling.parts
    wrong = {
        "no choice of what stays is below the bound": replace(found, lower_bound=found.lower_bound * 1.0001),
        "what stays has its room": replace(
            found,
            best=replace(
                found.best,
                shared=(
                    replace(
                        shared,
                        tiling=replace(
                            shared.tiling,
                            parts=(replace(first, phase=replace(first.phase, taken=3)), *others),
                        ),
                    ),
                ),
            ),
        ),
    }
    for name, proof in wrong.items():
        assert name in [check.name for check in check_chain(proof, RESIDENCE) if not check.passed]


def test_without_the_option_convolutions_share_no_rows() -> None:
    found = proven(STRIDED, machine(18), lines=False)
    assert found.best is not None
    assert not found.best.shared
    assert found.lower_bound > proven(STRIDED, machine(18)).lower_bound


NETWORK = """
name = "columns"
[[layers]]
name = "one"
type = "CONV"
K = 4
C = 4
Y = 50
X = 1
R = 3
S = 1
[[layers]]
name = "two"
type = "CONV"
K = 4
C = 4
Y = 48
X = 1
R = 3
S = 1
reads = "one"
"""
CHIP = """
name = "small"
mac_pj = 1.0
[[levels]]
name = "DRAM"
access_pj = 100.0
[[levels]]
name = "Buffer"
size = 140
keeps = ["W", "I", "O"]
access_pj = 1.0
"""


@pytest.mark.usefixtures("quick")
def test_dse_certify_says_how_many_rows_are_kept(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "columns.toml").write_text(NETWORK)
    (tmp_path / "chip.toml").write_text(CHIP)
    asked = (
        "certify",
        "--network",
        str(tmp_path / "columns.toml"),
        "--accelerator",
        str(tmp_path / "chip.toml"),
    )
    asked = (*asked, "--cost-model", "timeloop", "--objective", "energy", "--line-buffers")
    assert "--line-buffers is of --chains" in dse(*asked).refused()
    said = dse(*asked, "--chains", "--verify").out
    assert "stays tile by tile: one" in said
    assert "one and two share: for rows in" in said
    assert "rows of it" in said
    assert "FAILED" not in said


@pytest.mark.usefixtures("quick")
def test_equal_pairs_have_their_own_names() -> None:
    one, two = STRIDED.layers
    layers = (one, two, replace(one, Y=2, name="c"), replace(one, name="d"), replace(two, name="e"))
    chain = Chain(layers, (*STRIDED.edges, Edge("d", "e")))
    found = proven(chain, machine(18))
    assert found.best is not None
    assert [[layer.name for layer in shared.group.layers] for shared in found.best.shared] == [
        ["a", "b"],
        ["d", "e"],
    ]
    assert "O of d, 3 rows of it" in found.best.shared[1].tiling.held
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []
