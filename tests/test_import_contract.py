"""Imports point one way: a module knows what stands below its package, and nothing that stands above it.

All modules of the repository are read, never run: imports in functions and those for types alone count too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from dse.search.searcher import searchers
from tests import ROOT
from tests.import_graph import (
    CODE,
    Import,
    domain_of,
    imports,
    imports_of,
    module_of,
    of_a_domain,
    our_domains,
    room,
    trees,
)

TIERS: tuple[tuple[str, ...], ...] = (
    ("dse.support",),
    ("dse.core",),
    ("dse.proof",),
    ("dse.domains",),
    ("dse.models",),
    ("dse.search",),
    ("dse.optimum",),
    ("dse.campaign",),
    ("dse.analysis",),
    ("dse.report",),
    ("dse.suite",),
    ("dse.testing", "dse.bench"),
    ("dse.cli",),
)
"""The packages of `dse` from the lowest to the highest. Those of one tier do not know each other."""

BELOW = {
    room: {below for lower in TIERS[:place] for below in lower}
    for place, tier in enumerate(TIERS)
    for room in tier
}
BELOW["dse.plugins"] = {"dse.support", "dse.core", "dse.proof", "dse.domains", "dse.search"}
BELOW["dse.cli"] |= {"dse", "workloads"}
BELOW["dse.bench"] |= {"dse"}
BELOW["dse"] = BELOW["dse.testing"]
BELOW["dse.__main__"] = {"dse.cli"}
BELOW["workloads"] = {"dse.support", "dse.core"}
BELOW["learners"] = set()
BELOW["searchers"] = {"dse.support", "dse.core", "dse.domains", "dse.search", "learners"}
BELOW["searchers.commands"] = {*BELOW["dse.cli"], "dse.cli", "searchers", "learners"}
BELOW["experiments"] = {room for tier in TIERS for room in tier} | {
    "dse",
    "workloads",
    "searchers",
    "searchers.commands",
    "learners",
}

FOR_ALL = {"dse.__version__"}
"""What every module may import from the package that is the framework's front."""


@cache
def upward() -> list[Import]:
    """Imports that go where the module's package must not know anything."""
    found = []
    for item in imports():
        here, there = room(item.source), room(module_of(item.target))
        if there != here and there not in BELOW.get(here, set()) and item.target not in FOR_ALL:
            found.append(item)
    return found


def test_every_package_has_its_place_in_the_order() -> None:
    assert {room(module) for module in trees()} <= set(BELOW)


def test_no_import_points_upward() -> None:
    assert not upward(), "\n".join(map(str, upward()))


def runs_first(item: Import) -> Iterator[str]:
    """The modules that run before the import is done, but those that contain the importing one."""
    target = module_of(item.target)
    parts = target.split(".")
    for above in (".".join(parts[:count]) for count in range(1, len(parts) + 1)):
        if above == target or not f"{item.source}.".startswith(f"{above}."):
            yield above


def circles(*, types: bool = False) -> list[list[str]]:
    """Groups of modules that import each other, be it by imports that run in functions, or for `types`."""
    graph: dict[str, set[str]] = {module: set() for module in trees()}
    for item in imports():
        if types or not item.types:
            graph[item.source] |= set(runs_first(item)) - {item.source}
    return [sorted(group) for group in strongly_connected(graph) if len(group) > 1]


def strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """The groups of nodes that reach each other."""

    def reachable(start: str) -> set[str]:
        seen, waiting = {start}, [start]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting.extend(new)
        return seen

    reach = {node: reachable(node) for node in graph}
    groups: list[set[str]] = []
    for node in graph:
        if not any(node in group for group in groups):
            groups.append({other for other in reach[node] if node in reach[other]})
    return groups


def test_no_module_is_imported_by_what_it_imports() -> None:
    assert circles() == []
    with_types = [module for group in circles(types=True) for module in group]
    assert [module for module in with_types if room(module) in ("dse.proof", "dse.domains")] == []


def test_nobody_imports_an_experiment_and_only_commands_know_a_workload() -> None:
    known = {(room(item.source), room(module_of(item.target))) for item in imports()}
    assert {here for here, there in known if there == "experiments"} <= {"experiments"}
    assert {here for here, there in known if there == "workloads"} <= {
        "dse.cli",
        "searchers.commands",
        "experiments",
        "workloads",
    }


# Domains

HAND_ON = {"dse", "dse.plugins"}
"""What users and plug-ins import from hands on names of a domain; it asks nothing of them."""

OUR_ENTRY_POINTS = {"dse.core.domains", "dse.core.cost_models"}
"""The doors: where our own domains and cost models are found, as those of anybody are."""


def test_nobody_outside_the_domains_imports_one() -> None:
    """But the contract suites, which price mappings of layers on accelerators."""
    asking = [
        str(item)
        for item in imports()
        if room(item.source) not in ("dse.domains", "dse.models", "dse.testing", "searchers", "experiments")
        and item.source not in HAND_ON
        and of_a_domain(module_of(item.target))
    ]
    assert our_domains() >= {"clustered", "levels"}
    assert asking == []


def test_nobody_outside_the_domains_names_one() -> None:
    for module in trees():
        if room(module) not in ("dse.domains", "dse.models") and module.startswith(
            ("dse", "searchers", "workloads")
        ):
            named = [text for text in texts(module) if text in our_domains() or of_a_domain(text)]
            assert not named or module in HAND_ON | OUR_ENTRY_POINTS, (module, named)


AS_MACHINES_OF_LEVELS = {
    ("dse.models.timeloop.presets", "dse.domains.clustered.accelerator"),
    ("dse.models.timeloop.presets", "dse.models.loopnest.constants"),
}
"""The presets of accelerators with clusters are machines of levels too, and are stated once."""


def test_one_domain_knows_nothing_of_another() -> None:
    across = {
        (item.source, there)
        for item in imports()
        if of_a_domain(item.source) and of_a_domain(there := module_of(item.target))
        if domain_of(item.source) != domain_of(there)
    }
    assert across == AS_MACHINES_OF_LEVELS


# Spaces

USE_THE_STRUCTURE = {
    "searchers.gamma.operators",
    "searchers.common.mapping_genes",
    "searchers.generative.sequences",
    "searchers.gradient.relaxation",
    "searchers.team.feature_kernel",
    "searchers.team.features",
    "searchers.team.spatial",
    "searchers.team.initial_points",
}
"""What looks at the mappings behind the genes where a space has them, and does something else without."""


def test_searchers_know_of_a_space_what_every_space_has() -> None:
    for item in imports():
        if item.source.startswith("searchers."):
            there = module_of(item.target)
            secret = re.match(r"dse\.domains\.\w+\.(space|mapping)\b", there)
            assert secret is None or item.source in USE_THE_STRUCTURE, item


def test_nobody_else_knows_how_many_genes_a_mapping_has() -> None:
    secret = {
        "dse.domains.clustered.space.genes.GENE_NAMES",
        "dse.domains.clustered.space.mapping_space.NUM_GENES",
        "dse.domains.clustered.space.kernels.layout.GENES",
    }
    assert [
        str(item)
        for item in imports()
        if item.target in secret and not item.source.startswith("dse.domains.clustered.space.")
    ] == []
    for module, tree in trees().items():
        if room(module) in ("searchers", "dse.search", "dse.testing"):
            numbers = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
            assert 13 not in numbers, module
            assert ", 13)" not in ast.unparse(tree), module


# Names

COMMON_WORDS = {"random", "walk", "grid", "local", "policy", "team"}
"""Searchers that are called like something else: a text may contain the word, but not be it."""

OTHER_MEANINGS = {
    ("dse.search.start", "random"): "the points that searches begin with",
    ("dse.testing.surroundings", "random"): "the module of Python's own random states",
    (
        "dse.domains.clustered.accelerator",
        "paper",
    ): "an accelerator without limits, under which papers compare",
    ("dse.domains.clustered.space.parts", "paper"): "a space, by the name that users know it by",
    ("dse.cli.options", "paper"): "the same space, in the help of --space",
    (
        "dse.models.timeloop.yaml_schema",
        "transfer",
    ): "in a key of Timeloop's, no_link_transfer",
}

STILL_NAMED: set[tuple[str, str]] = set()
"""Names that are still to become data. This table only ever shrinks."""


@cache
def texts(module: str) -> tuple[str, ...]:
    """The texts in a module's code: all strings but docstrings."""
    found, docstrings = {}, set()
    for node in ast.walk(trees()[module]):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found[id(node)] = node.value
    return tuple(text for known, text in found.items() if known not in docstrings)


@cache
def named() -> set[tuple[str, str]]:
    """Modules of `dse`, and the searcher that each names in its code, or that it speaks of a paper."""
    names = set(searchers()) | {"paper"}
    found = set()
    for module in trees():
        if room(module).startswith("dse"):
            for text in texts(module):
                words = set(re.findall(r"[a-z][a-z-]*", text.lower())) - COMMON_WORDS
                found |= {(module, name) for name in names & (words | {text})}
    return found - set(OTHER_MEANINGS)


def test_the_framework_names_no_searcher_and_no_paper() -> None:
    assert named() - STILL_NAMED == set()


def test_the_framework_cites_no_study_and_no_document_that_is_not_here() -> None:
    """Searchers and learners cite what they implement; what `dse` repeats of a study, docs say where."""
    cited = re.compile(r"(?i:arxiv)|\b\d{4}\.\d{5}\b|\bSPEC\b")
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "dse").rglob("*.py")}
    assert [str(path) for path, text in sources.items() if cited.search(text)] == []


def test_a_name_that_is_gone_is_no_longer_excused() -> None:
    assert named() >= STILL_NAMED


# The reader itself


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (
            "from dse.domains.clustered.space.genes import Gene",
            {("dse.domains.clustered.space.genes.Gene", False)},
        ),
        ("import dse.domains.clustered.space.genes as g", {("dse.domains.clustered.space.genes", False)}),
        ("from ..space import genes", {("dse.space.genes", False)}),
        ("def f():\n    class A:\n        import dse.cli", {("dse.cli", False)}),
        ("try:\n    import dse.cli\nexcept ImportError:\n    pass", {("dse.cli", False)}),
        ("if TYPE_CHECKING:\n    import dse.cli", {("dse.cli", True)}),
    ],
)
def test_an_import_is_found_wherever_it_stands(source: str, found: set[tuple[str, bool]]) -> None:
    seen = imports_of(ast.parse(source), "dse.core.layer")
    assert {(target, types) for target, _, types in seen} == found


def test_modules_that_reach_each_other_are_a_circle() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert strongly_connected(graph) == [{"a", "b", "c"}, {"d"}]


# Files

LONGEST = 350
IN_ONE_FILE = {"tests/domains/blocking/dse_blocking.py"}
"""A kind of designs of another package, that docs show as a single file."""


def test_no_file_is_long() -> None:
    files = [path for top in (*CODE, "tests") for path in (ROOT / top).rglob("*.py")]
    lengths = {path.relative_to(ROOT).as_posix(): path.read_bytes().count(b"\n") for path in files}
    assert {name for name, length in lengths.items() if length > LONGEST} == IN_ONE_FILE
