"""The rules: each looks at a candidate, and says what it tried or raises Broken with what went wrong."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np

from dse.search.abilities import misnamed_abilities
from dse.search.evaluator import SearchProblem
from dse.search.searcher import is_frozen_dataclass
from dse.testing import landscapes
from dse.testing.candidate import Candidate
from dse.testing.verdict import Broken

FORBIDDEN = re.compile(
    r"(dse\.core\.cost_models|dse\.models|dse\.domains\.\w+\.proof|dse\.optimum|results)\b"
)
"""What prices, what proves, and what is known of optima, whatever the domain."""
ODD, SCARCE = 37, 100
HOPELESS = 300
"""The most samples where nothing is feasible."""
EASY = 600
"""The most samples on the way to an easy optimum."""
TENFOLD = 10
"""A planted optimum must be approached as by a tenth of the samples at random; who does as well as ten times
the samples has gone downhill for sure, and may explore."""
CHANCE_POINTS = 40_960
LATE = 4
"""The last samples looked at, one in so many; for them not to be worse than POOR of random points."""
POOR = 0.75
SHOWN = 3


def configuration(candidate: Candidate) -> str:
    """It is a frozen dataclass of plain settings, equal to itself after pickling."""
    searcher = candidate.searcher
    if not is_frozen_dataclass(type(searcher)):
        raise Broken(f"expected @dataclass(frozen=True), {type(searcher).__qualname__} is none")
    settings = dataclasses.asdict(searcher)  # type: ignore[call-overload]
    for name, value in settings.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise Broken(
                f"expected settings that JSON can hold, for they name a cell; {name} is {value!r}: {error}"
            ) from None
    for name, meant in misnamed_abilities(searcher).items():
        raise Broken(f"expected a class variable that is known; {name} declares nothing: is it {meant}?")
    if candidate.pickled is None:
        raise Broken(
            f"expected to pickle, for campaigns send searchers to workers; {candidate.pickling_failure}"
        )
    if candidate.copy() != searcher:
        raise Broken(f"expected {searcher!r} again after pickling, got {candidate.copy()!r}")
    return f"settings: {', '.join(settings) or 'none'}"


def imports(candidate: Candidate) -> str:
    """Its source imports no cost model, no proofs and no results."""
    module = type(candidate.searcher).__module__
    found = forbidden_imports(module)
    if found:
        raise Broken(f"expected nothing but the evaluator to know costs; {'; '.join(found[:SHOWN])}")
    return f"read {module} and what it imports of its own package"


def inside(candidate: Candidate) -> str:
    """Every point that it asks for lies in the space."""
    runs = [candidate.reference]
    if candidate.reference.failure is None:
        runs.append(candidate.run(landscapes.any_tiles, ODD))
    for ended in runs:
        if ended.refused is not None:
            raise Broken(
                f"expected genes of 0 to size - 1, as whole numbers (n, genes); {ended.refused}; "
                "evaluate.space.sizes has the sizes"
            )
    return f"{sum(len(ended.record) for ended in runs):,} points"


def budget(candidate: Candidate) -> str:
    """It spends one, an odd number and many samples, all of them, and then ends."""
    if candidate.reference.failure is not None:
        raise Broken(
            f"expected {candidate.samples:,} samples on a convolution; {candidate.reference.failure}"
        )
    candidate.whole_run(landscapes.convolution, 1, "on a convolution")
    candidate.whole_run(landscapes.any_tiles, ODD, "where tiles may have any size")
    return f"1, {ODD} and {candidate.samples:,} samples"


def charged(candidate: Candidate) -> str:
    """No row reaches a cost model but through the gate."""
    for ended in candidate.runs:
        if ended.priced != ended.charged:
            raise Broken(
                f"expected {ended.charged:,} rows to be priced for as many samples, {ended.priced:,} were; "
                "price through evaluate(genes) only"
            )
    return f"{sum(ended.priced for ended in candidate.runs):,} rows priced, as many samples charged"


def one_choice(candidate: Candidate) -> str:
    """Genes of one choice do not trouble it."""
    candidate.whole_run(landscapes.depthwise, SCARCE, "on a depthwise layer, where two genes have one choice")
    candidate.whole_run(landscapes.one_choice, SCARCE, "where eight genes have one choice")
    return f"{SCARCE} samples where two genes have one choice, and where eight have"


def small_space(candidate: Candidate) -> str:
    """It spends its budget where there are fewer points than samples."""
    for make_problem in (landscapes.small, landscapes.single):
        where = f"in a space of {make_problem().space.vectors}: a point may be evaluated again"
        candidate.whole_run(make_problem, SCARCE, where)
    return f"{SCARCE} samples in spaces of 16 points and of 1"


def any_space(candidate: Candidate) -> str:
    """It depends on what every space has, and on no mapping."""
    candidate.whole_run(landscapes.crates, SCARCE, "over crates, where evaluate.space.structure is None")
    return f"{SCARCE} samples in a space that has nothing to do with mappings"


def start(candidate: Candidate) -> str:
    """It goes on from points that it did not ask for, be they few, more than it would begin with, or all."""
    given: dict[Callable[[], SearchProblem], int] = {
        landscapes.any_tiles: ODD // 9,
        landscapes.depthwise: ODD - 9,
        landscapes.convolution: ODD,
    }
    for make_problem, count in given.items():
        points = make_problem().space.sample(np.random.default_rng(2), count)
        where = f"of which {count} are known when the search begins (evaluate.known)"
        ended = candidate.whole_run(make_problem, ODD, where, start=points)
        if not np.array_equal(ended.genes[:count], points):
            raise Broken(f"expected {ODD} samples {where} to begin with those")
    return f"{ODD} samples of which {', '.join(map(str, given.values()))} were given"


def infeasible(candidate: Candidate) -> str:
    """It goes on where every loss is infinite."""
    samples = min(HOPELESS, candidate.samples)
    candidate.whole_run(landscapes.infeasible, samples, "where no mapping fits the buffers, all losses inf")
    candidate.whole_run(landscapes.refused, samples, "where the cost model refuses all, all losses inf")
    return f"{samples} samples where no mapping fits, and where the cost model refuses all"


def random_states_kept(candidate: Candidate) -> str:
    """The global random states are others': the same after a search as before it, and meanwhile theirs."""
    runs = [ended for ended in candidate.runs if not ended.imported]
    for ended in runs:
        if ended.touched:
            raise Broken(
                f"expected the global states to be left alone, those of {' and '.join(ended.touched)} were "
                "changed, be it for a moment; draw from `rng`, and pass libraries a generator of your own"
            )
    return f"random, numpy.random and torch's after {len(runs)} searches"


def settings_kept(candidate: Candidate) -> str:
    """Threads, and numpy's way with floating-point errors, are the same after a search as before it."""
    runs = [ended for ended in candidate.runs if not ended.imported]
    for ended in runs:
        if ended.changed:
            raise Broken(
                f"expected the process's settings to be put back, {'; '.join(ended.changed[:SHOWN])}; "
                "restore them in a `finally`"
            )
    return f"threads of BLAS, OpenMP, torch and numba, and numpy.geterr, after {len(runs)} searches"


def quiet(candidate: Candidate) -> str:
    """Nothing is printed, and no warning shown."""
    for ended in candidate.runs:
        if ended.noise:
            raise Broken(
                f"expected no output and no warnings in a search of {ended.budget:,} samples, got "
                + " | ".join(line[:200] for line in ended.noise[:SHOWN])
            )
    return f"{len(candidate.runs)} searches"


def easy_optimum(candidate: Candidate) -> str:
    """It finds what is easy to find, and goes downhill."""
    problem, samples = landscapes.planted(), min(EASY, candidate.samples)
    chance = problem.price(problem.space.sample(np.random.default_rng(1), CHANCE_POINTS)).loss
    lowest = problem.price((problem.space.sizes // 2)[np.newaxis]).loss[0]
    ended = candidate.whole_run(landscapes.planted, samples, "on a landscape with one optimum")
    best, reach = ended.losses.min(), _median_best(chance, samples // TENFOLD)
    if best > reach:
        raise Broken(
            f"expected the best of {samples} samples to be within {reach / lowest:.1f} times the optimum, "
            f"where {samples // TENFOLD} random ones get; it is {best / lowest:.1f} times"
        )
    late, poor = np.median(ended.losses[-samples // LATE :]), np.quantile(chance, POOR)
    if late > poor and best > _median_best(chance, samples * TENFOLD):
        raise Broken(
            f"expected the last {samples // LATE} samples not to be worse than most random points; half of "
            f"them are over {late / lowest:.1f} times the optimum, "
            f"as are {np.mean(chance > late):.0%} of all points: does it maximise?"
        )
    return f"{best / lowest:.2f} times the optimum after {samples} samples; {reach / lowest:.2f} would do"


def _median_best(losses: np.ndarray, samples: int) -> float:
    """The median, over random searches, of the best of so many samples."""
    return float(np.quantile(losses, 1 - 0.5 ** (1 / samples)))


def forbidden_imports(module: str) -> list[str]:
    """Imports of FORBIDDEN in `module` and in what it imports of its own top-level package, with their lines.

    Imports for type checking alone are allowed. What has no Python source is passed over.
    """
    found, seen, waiting = [], {module}, [module]
    while waiting:
        name = waiting.pop()
        spec = _spec(name)
        for target, line in _imports(spec) if spec else ():
            if FORBIDDEN.match(target):
                found.append(f"{name}, line {line}, imports {target}")
            elif target.partition(".")[0] == module.partition(".")[0] and target not in seen:
                seen.add(target)
                waiting.append(target)
    # "from ... import a, b" names two of them in one line; one is enough.
    return list({text.rpartition(" imports ")[0]: text for text in reversed(found)}.values())[::-1]


def _spec(name: str) -> ModuleSpec | None:
    """Where the module `name` is; None for what is no module, but a name that was imported from one."""
    parent = name.rpartition(".")[0]
    if parent:
        # Looked for in a module that is no package, it would be imported first, and that can take seconds.
        above = _spec(parent)
        if above is None or above.submodule_search_locations is None:
            return None
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _imports(spec: ModuleSpec) -> Iterator[tuple[str, int]]:
    """The modules, and names in modules, that a module imports when it runs, with the lines."""
    if not spec.origin or not spec.origin.endswith(".py"):
        return
    for node in _running(ast.parse(Path(spec.origin).read_bytes())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = spec.name if spec.submodule_search_locations else spec.parent
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            # "from dse import cost" imports a module too.
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
            yield from ((name, node.lineno) for name in names)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below `node` but those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield other
                yield from _running(other)
        else:
            yield child
            yield from _running(child)
